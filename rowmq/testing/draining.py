"""Handling what is due here and now: a worker's rules without its threads."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, NamedTuple
from uuid import UUID

from rowmq.core.backoff import Backoff
from rowmq.core.delivery import Delivery, Settlement, Want
from rowmq.core.errors import InvalidSetting, RowMQError
from rowmq.core.outcome import Outcome, Settled
from rowmq.core.queue import Queue
from rowmq.runtime.answers import Kill, Retry
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.client import Client
from rowmq.runtime.handle import QueueHandle
from rowmq.runtime.hooks import Hooks
from rowmq.runtime.log import LogEvents
from rowmq.runtime.registry import TASK, Unreadable
from rowmq.runtime.run import End, Runner
from rowmq.runtime.scheduler import Scheduler

MOST_RUNS = 1000
"""How often one message may run in one drain before that is taken for a loop without an end."""


class Ran(NamedTuple):
    """One run of a handler or task: the message, what became of it, and what was raised.

    >>> from rowmq import testing
    >>> mq = testing.connect()
    >>> @mq.task
    ... def divide(a, b):
    ...     return a / b
    >>> pushed = divide.push(1, 0)
    >>> [ran] = testing.drain(mq)
    >>> ran.message.attempt, type(ran.outcome).__name__, ran.error
    (1, 'Retry', ZeroDivisionError('division by zero'))
    """

    message: ClaimedMessage
    outcome: Outcome
    error: BaseException | None


def drain(target: Client | QueueHandle, *, reraise: bool = False) -> list[Ran]:
    """Handle everything that is due now in a queue, or in all of a client's, in order, and tell what ran.

    What handlers push runs too, if it is due. A failure is a retry or a dead message, as in life; with
    ``reraise`` it is also raised, unless it is Kill or Retry. Retries that fall due later wait for a
    clock that is moved, and for the next drain. Of a whole client the schedules are fired first. A
    timeout ends async functions only.

    >>> from rowmq import testing
    >>> mq = testing.connect()
    >>> emails = mq.queue("emails")
    >>> @emails.handler
    ... async def send(message):
    ...     print(message.payload)
    >>> ids = emails.push_many(["first", "second"])
    >>> len(testing.drain(emails))
    first
    second
    2
    """
    if isinstance(target, QueueHandle):
        bench = Bench(target.client, reraise=reraise)
        bench.check(target.name)
        return bench.drain([target.name])
    Scheduler(target.store).run_once()
    return Bench(target, reraise=reraise).drain(target.registry.queues)


class Bench:
    """Where one thread claims, runs and settles, one message after the other."""

    def __init__(self, client: Client, *, reraise: bool) -> None:
        self._client, self._store = client, client.store
        self._hooks = Hooks([LogEvents(), *client.middleware])
        self._runner = Runner(self._hooks, self._backoff, None)
        self._reraise = reraise
        self._runs: Counter[UUID] = Counter()

    def check(self, queue: str) -> None:
        """Refuse a queue whose messages nothing here handles."""
        if not self._client.registry.jobs(queue):
            raise InvalidSetting(f"queue {queue!r} has no handler and no task here")

    def drain(self, queues: Iterable[str]) -> list[Ran]:
        """Run what is due, queue by queue, until a look at all of them finds nothing."""
        known = list(queues)
        for queue in known:
            self._store.queues.put(queue)
        ran: list[Ran] = []
        while fresh := [each for queue in known for each in self._drain_one(queue)]:
            ran += fresh
        return ran

    def _drain_one(self, queue: str) -> list[Ran]:
        ran = []
        while found := self._store.claim(queue, [Want()])[0]:  # one by one: what a run pushes may come first
            ran.append(self._serve(found[0]))
        return ran

    def _serve(self, delivery: Delivery) -> Ran:
        message = ClaimedMessage(delivery, self._store)
        self._count(message)
        self._hooks.tell("on_claim", message.queue, [message])
        outcome, error = self._run(message)
        if not message.lost and not (message.settled and error is None):  # else its handler has settled it
            self._settle(message, outcome, error)
        self._raise(error)
        return Ran(message, outcome, error)

    def _run(self, message: ClaimedMessage) -> End:
        try:
            job = self._client.registry.job(message.queue, message.metadata.get(TASK))
        except Unreadable as error:
            return self._runner.invalid(message, error), error
        if job.is_async:
            return completed(self._runner.run_async(job, message))
        return self._runner.run(job, message)

    def _settle(self, message: ClaimedMessage, outcome: Outcome, error: BaseException | None) -> None:
        self._hooks.tell("after", message, outcome, error)
        (answer,) = self._store.settle([Settlement(message.receipt, outcome)])
        if answer == Settled.LOST and not message.settled:
            message.lost = True
            self._hooks.tell("on_lost", message)
        self._hooks.tell("on_settle", [(message, outcome, answer)])

    def _raise(self, error: BaseException | None) -> None:
        """Raise what the test wants to see, and always what is meant for the test's own runner."""
        if error is not None and not isinstance(error, Exception):
            raise error
        if error is not None and self._reraise and not isinstance(error, Kill | Retry):
            raise error

    def _count(self, message: ClaimedMessage) -> None:
        self._runs[message.id] += 1
        if self._runs[message.id] > MOST_RUNS:
            message.release()
            raise RowMQError(
                f"message {message.id} of queue {message.queue!r} has run {MOST_RUNS} times and is due"
                " again: answer with a time that is longer than 0"
            )

    def _backoff(self, queue: str) -> Backoff:
        return (self._store.queues.get(queue) or Queue(name=queue)).backoff


def completed(run: Coroutine[Any, Any, End]) -> End:
    """Run to its end what is async; where a loop runs already, in a thread beside it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run)
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(copy_context().run, asyncio.run, run).result()
