"""The worker: claims, runs handlers, settles, and keeps its leases alive meanwhile."""

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from rowmq.core.delivery import Delivery
from rowmq.core.errors import InvalidSetting, StopTimeout, WorkerState
from rowmq.core.outcome import ACK, Ack, Bury, Outcome, Reason, Release, Settled
from rowmq.core.queue import Guarantee
from rowmq.runtime.answers import Seconds
from rowmq.runtime.calm import calm
from rowmq.runtime.desk import Desk, Handful, Held, Lane, Limit
from rowmq.runtime.fetcher import NAP, Fetcher, Source
from rowmq.runtime.hands import Loop, Threads
from rowmq.runtime.hooks import Hooks
from rowmq.runtime.keeper import Keeper
from rowmq.runtime.log import LogEvents
from rowmq.runtime.options import as_span
from rowmq.runtime.registry import TASK, Job, Unreadable
from rowmq.runtime.run import DONE, End, Runner
from rowmq.runtime.scheduler import Scheduler
from rowmq.runtime.settler import Settler
from rowmq.runtime.sweeper import Sweeper
from rowmq.runtime.terms import WorkerOptions, terms_of
from rowmq.runtime.upkeep import Upkeep

if TYPE_CHECKING:
    from rowmq.runtime.client import Client

FLUSH = 5.0
"""Seconds that finished messages have for being settled even if the time to stop is over."""


class Worker:
    """Handles the messages of some queues until it is stopped.

    The fetcher claims, the desk hands out, the hands (threads, a loop) run, the settler settles; the
    keeper extends leases and the upkeep fires schedules and sweeps. Here they are put together.

    >>> import rowmq
    >>> mq = rowmq.connect("memory://")
    >>> emails = mq.queue("emails")
    >>> @emails.handler
    ... def send(message):
    ...     print("to", message.payload["to"])
    >>> id = emails.push({"to": "ada@example.com"})
    >>> mq.worker(stop_when_empty=True).run()
    to ada@example.com
    >>> emails.stats().done
    1
    """

    def __init__(self, client: "Client", queues: Sequence[str], options: WorkerOptions) -> None:
        self._terms = terms = terms_of(options)
        self.name = terms.name
        self._registry, self._store = client.registry, client.store
        self.queues = _served(client, queues)
        self._log = LogEvents(terms.logger)
        self._verbose = terms.logger.isEnabledFor(logging.DEBUG)
        self._hooks = Hooks([*client.middleware, *terms.middleware])
        self._after = self._hooks.of("after")
        self._sources = {queue: Source(self._store, queue) for queue in self.queues}
        self._lanes: dict[tuple[str, str | None], Lane] = {}
        self._limits: dict[object, Limit] = {}
        self._nobody = Lane("", Job("nobody", print, is_async=False), Limit(None))
        self._held: dict[int, Held] = {}
        self._life = ExitStack()
        self._started = self._stopped = False
        self._over = threading.Event()
        self._assemble()

    def start(self) -> None:
        """Begin to work, in threads of its own. A worker can be started once."""
        if self._started:
            raise WorkerState("this worker has been started already; make a new one")
        self._started = self._stopped = True  # a start that fails leaves nothing to stop
        with ExitStack() as life:
            life.enter_context(calm())
            for queue in self.queues:
                self._store.queues.put(queue)
            for each in [self._log, *self._hooks.of("around_worker")]:
                life.enter_context(each.around_worker(self))
            self._life = life.pop_all()
        for lane in self._lanes.values():
            self._hands(lane).need()
        for part in (self._settler, self._keeper, self._upkeep, self._fetcher):
            part.start()
        self._stopped = False

    def stop(self, timeout: Seconds | None = None) -> None:
        """Stop: claim no more, give back what has not begun, let running handlers finish and count.

        Raises StopTimeout if they take longer than that; their messages come back when their leases end.
        """
        if not self._started or self._stopped:
            raise WorkerState("this worker is not running")
        self._stopped = True
        end = None if timeout is None else time.monotonic() + as_span(timeout, "timeout").total_seconds()
        self._fetcher.close()
        self._give_back(self._desk.close())
        running = self._desk.wait_idle(_left(end))
        unsettled = self._settler.close(_left(end, at_least=FLUSH))
        self._over.set()
        self._loop.close()
        self._keeper.close()
        self._fetcher.join()
        self._upkeep.join(FLUSH)
        self._life.close()
        if running or unsettled:
            raise StopTimeout(
                f"{running} handlers were still running after {timeout} seconds and {unsettled} settlements"
                " could not be made; their messages come back when their leases end"
            )

    def run(self, until: threading.Event | None = None, stop_timeout: Seconds | None = None) -> None:
        """Work here until the event is set, or, with ``stop_when_empty``, until there is nothing left."""
        over = until or threading.Event()
        if self._terms.stop_when_empty:
            self._fetcher.on_empty = over.set
        self.start()
        try:
            while not over.wait(NAP):
                pass  # a signal that came to another thread is heard when this one wakes
        finally:
            self.stop(stop_timeout)

    def held(self) -> Sequence[Held]:
        """Everything this worker has claimed and not settled."""
        return list(self._held.values())

    def lose(self, lost: Sequence[Held]) -> None:
        """Stop working on messages that went on without us."""
        self._forget(lost)
        for each in lost:
            each.lost = True
            self._tell_lost(each)
        self.doubt(lost)
        self._desk.discard(lost)

    def doubt(self, doubtful: Sequence[Held]) -> None:
        """Tell handlers that their leases are over as far as we know; what they do may still count."""
        for each in doubtful:
            if not each.in_doubt and each.cancel is not None:
                each.cancel()
            each.in_doubt = True

    def time_out(self, late: Held) -> None:
        """Fail a message whose handler has used up its time. A plain function is only told: ``lost``."""
        if late.lane.job.is_async:
            return  # its own timeout stops it
        outcome, error = self._runner.timed_out(late.lane.job, late)
        if self._sources[late.queue].settings.delivery == Guarantee.AT_MOST_ONCE:
            outcome = Bury(reason=Reason.LOST, error=str(error))  # it still runs, and must not run twice
        if self._decide(late, outcome, error):
            late.lost = True

    def _assemble(self) -> None:
        """Make the parts, and wire them."""
        store, terms = self._store, self._terms
        self._runner = Runner(
            self._hooks, lambda queue: self._sources[queue].settings.backoff, terms.on_invalid
        )
        self._settler = Settler(store, self._on_settled, lambda: len(self._held) > 1, terms.logger)
        self._loop = Loop(self._run_async)
        self._desk = self._loop.desk = Desk(terms.concurrency, terms.buffer, self._loop.wake)
        self._threads = Threads(self._desk, terms.concurrency, self._run_handful)
        self._fetcher = Fetcher(
            store,
            self._desk,
            list(self._sources.values()),
            terms,
            self._deliver,
            idle=lambda: not self._held,
            behind=self._settler.is_behind,
            abreast=min(store.abreast, self._fewest_hands()),
        )
        self._keeper = Keeper(store, self, self.name, self.queues, terms.logger)
        self._upkeep = Upkeep(
            Scheduler(store, logger=terms.logger) if terms.schedules else None,
            Sweeper(store, self.name, every=terms.sweep_every) if terms.sweep else None,
            self._over,
            logger=terms.logger,
        )
        for queue in self.queues:
            for task, job in self._registry.jobs(queue).items():
                self._lane(queue, job, task)

    def _fewest_hands(self) -> int:
        """How many hands the narrowest job has: a single one should get its messages in order."""
        jobs = [job for queue in self.queues for job in self._registry.jobs(queue).values()]
        return min([self._terms.concurrency, *(job.concurrency for job in jobs if job.concurrency)])

    def _lane(self, queue: str, job: Job, task: str | None) -> Lane:
        """Make the lane of a queue's handler, or of a task, which may turn up in any queue, at any time."""
        limit = self._limits.setdefault(task or (queue,), Limit(job.concurrency))
        lane = Lane(queue, replace(job, timeout=job.timeout or self._terms.timeout), limit)
        self._lanes[queue, task] = lane
        self._desk.add_lane(lane)
        if lane.job.timeout is not None:
            self._keeper.mind(timedelta(seconds=lane.job.timeout))
        if self._started:
            self._hands(lane).need()
        return lane

    def _hands(self, lane: Lane) -> Threads | Loop:
        return self._loop if lane.job.is_async else self._threads

    def _lane_of(self, delivery: Delivery) -> Lane:
        task = delivery.metadata.get(TASK) if delivery.metadata else None
        lane = self._lanes.get((delivery.queue, task))
        return lane or self._lane(delivery.queue, self._registry.job(delivery.queue, task), task)

    def _deliver(
        self, source: Source, deliveries: Sequence[Delivery], lease: timedelta, began: float
    ) -> None:
        """Take what was claimed: everything counts as held from here on."""
        self._keeper.mind(lease)
        until = began + lease.total_seconds()
        held = self._hold_all(deliveries, lease, until)
        self._hooks.tell("on_claim", source.queue, held)
        given = [each for each in held if not each.finished]
        if not self._desk.put(source.queue, given):
            self._give_back(given)

    def _hold_all(self, deliveries: Sequence[Delivery], lease: timedelta, until: float) -> list[Held]:
        """Hold what was claimed; together, if one job handles all of it and nothing of it is held yet."""
        new = {each.seq: each for each in deliveries}
        lane = self._lanes.get((deliveries[0].queue, None))
        if lane is None or any(each.metadata for each in deliveries) or not self._held.keys().isdisjoint(new):
            return [self._hold(each, lease, until) for each in deliveries]
        held = [Held(each, self._store, lane, lease, until) for each in deliveries]
        self._held.update(zip(new, held, strict=True))
        return held

    def _hold(self, delivery: Delivery, lease: timedelta, until: float) -> Held:
        try:
            lane = self._lane_of(delivery)
        except Unreadable as error:
            return self._refuse(Held(delivery, self._store, self._nobody, lease, until), error)
        if delivery.seq in self._held:
            self._lose_former(self._held[delivery.seq])
        self._held[delivery.seq] = held = Held(delivery, self._store, lane, lease, until)
        return held

    def _lose_former(self, former: Held) -> None:
        """Let go of a message whose lease ended unnoticed, and which came back to this very worker."""
        if not former.finished and not former.settled:
            self.lose([former])

    def _refuse(self, held: Held, error: Unreadable) -> Held:
        """Bury a message that no function here can be given."""
        self._held[held.delivery.seq] = held
        self._decide(held, self._runner.invalid(held, error), error)
        return held

    def _give_back(self, given: Sequence[Held]) -> None:
        """Release what no handler has seen; the attempt does not count."""
        for held in given:
            if self._desk.decide(held):
                held.outcome = Release()
                self._settler.put(held)

    def _run_handful(self, handful: Handful) -> None:
        run, put, job, now = self._runner.run, self._settler.put, handful.lane.job, self._held
        quiet = job.timeout is None and not self._after and not self._verbose
        for held in handful:
            end = run(job, held)
            if (
                end is DONE
                and quiet
                and not (held.finished or held.settled or held.told)
                and now.get(held.delivery.seq) is held
            ):
                held.finished = True  # what _end would find, without asking for each
                put(held)
            else:
                self._end(held, end)

    async def _run_async(self, held: Held) -> None:
        try:
            end = await self._runner.run_async(held.lane.job, held)
        except asyncio.CancelledError as error:
            if self._over.is_set() and not held.lost:
                raise  # the worker has been stopped, and nobody waits for this handler any more
            end = self._runner.cancelled(held, error)
        self._end(held, end)

    def _end(self, held: Held, end: End) -> None:
        outcome, error = end
        lost = self._held.get(held.delivery.seq) is not held
        gave_up = held.told and isinstance(outcome, Ack)  # it may not have done what it was to do
        if lost or gave_up or (held.settled and error is None):  # nothing to settle, or the handler has
            held.finished = True
            self._forget([held])
        else:
            self._decide(held, outcome, error)

    def _decide(self, held: Held, outcome: Outcome, error: BaseException | None) -> bool:
        if not self._desk.decide(held):
            return False
        if outcome is not ACK or self._verbose:
            self._log.after(held, outcome, error)
        if self._after:
            self._hooks.tell("after", held, outcome, error)
        held.outcome = outcome
        self._settler.put(held)
        return True

    def _on_settled(self, batch: Sequence[Held], answers: Sequence[Settled]) -> None:
        self._forget(batch)
        for held, answer in zip(batch, answers, strict=True) if Settled.LOST in answers else ():
            if answer is Settled.LOST and not held.settled:
                held.lost = True
                self._tell_lost(held)
        self._desk.room.set()
        if self._hooks.of("on_settle"):
            outcomes = [held.outcome for held in batch]
            self._hooks.tell("on_settle", list(zip(batch, outcomes, answers, strict=True)))

    def _tell_lost(self, held: Held) -> None:
        self._log.on_lost(held)
        self._hooks.tell("on_lost", held)

    def _forget(self, former: Sequence[Held]) -> None:
        """Hold these no more; by now this worker may have claimed the same messages anew."""
        now = self._held
        for each in former:
            if now.get(seq := each.delivery.seq) is each:
                del now[seq]


def _served(client: "Client", queues: Sequence[str]) -> list[str]:
    """The queues a worker is to serve: those named, or all that something handles."""
    served = list(queues) or client.registry.queues
    if not served:
        raise InvalidSetting("there is nothing to work on: register a handler or a task first")
    for queue in served:
        if not client.registry.jobs(queue):
            raise InvalidSetting(f"queue {queue!r} has no handler and no task here")
    return served


def _left(end: float | None, at_least: float = 0.0) -> float | None:
    return None if end is None else max(end - time.monotonic(), at_least)
