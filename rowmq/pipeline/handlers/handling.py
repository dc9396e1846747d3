"""Handlers on executors: each message by itself, and what becomes of those that fail settled at once."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from rowmq.core.delivery import Delivery, Settlement
from rowmq.core.outcome import Ack, Bury, Outcome, Release, Retry, group_of
from rowmq.core.queue import Queue
from rowmq.core.store import Store
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.hooks import Hooks
from rowmq.runtime.registry import Job, Unreadable
from rowmq.runtime.run import End, Runner

WORDS: dict[type[Outcome], str] = {Ack: "done", Retry: "retried", Bury: "dead", Release: "released"}
"""What is counted, by outcome."""


class Handled(NamedTuple):
    """A message that was handled, and what its handler returned as JSON text, if that is kept."""

    delivery: Delivery
    result: bytes | None


class Handling:
    """Runs the jobs of one task's messages, one after another.

    What a worker would ack is only reported: whoever holds the batch acks it. What failed is retried, buried
    or released here and now, so that it leaves the batch. Behind a message that comes back, the others of its
    group come back too, untried.
    """

    def __init__(self, store: Store, job: Callable[[Delivery], Job], hooks: Hooks | None = None) -> None:
        self._store, self._job = store, job
        self._hooks = hooks or Hooks([])
        self._queues: dict[str, Queue] = {}
        self._runner = Runner(self._hooks, lambda queue: self._settings(queue).backoff, None)
        self._blocked: set[tuple[str, str]] = set()
        self.counts: Counter[str] = Counter()
        """How many messages were done, retried, dead or released."""

    def run(self, deliveries: Iterable[Delivery]) -> list[Handled]:
        """Handle messages in order, settle those that did not succeed, and give those that did."""
        handled: list[Handled] = []
        failed: list[Settlement] = []
        for each in deliveries:
            outcome = self._outcome(each)
            self.counts[WORDS[type(outcome)]] += 1
            if isinstance(outcome, Ack):
                handled.append(Handled(each, outcome.result))
            else:
                failed.append(Settlement(each.receipt, outcome))
        if failed:
            self._store.settle(failed)
        return handled

    def _outcome(self, delivery: Delivery) -> Outcome:
        group = group_of(delivery.group, fifo=self._settings(delivery.queue).fifo)
        if group is not None and (delivery.queue, group) in self._blocked:
            return Release()
        message = ClaimedMessage(delivery, self._store)
        outcome, error = self._ended(message)
        if message.settled and error is None:
            return Ack()  # by its handler: there is nothing to settle any more
        self._hooks.tell("after", message, outcome, error)
        if group is not None and isinstance(outcome, Retry | Release):
            self._blocked.add((delivery.queue, group))
        return outcome

    def _ended(self, message: ClaimedMessage) -> End:
        try:
            job = self._job(message.delivery)
        except Unreadable as error:
            return self._runner.invalid(message, error), error
        if job.is_async:
            return asyncio.run(self._runner.run_async(job, message))
        began = time.monotonic()
        end = self._runner.run(job, message)
        late = job.timeout is not None and time.monotonic() - began > job.timeout
        return self._runner.timed_out(job, message) if late else end

    def _settings(self, queue: str) -> Queue:
        if queue not in self._queues:
            self._queues[queue] = self._store.queues.get(queue) or Queue(name=queue)
        return self._queues[queue]
