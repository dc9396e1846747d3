"""The worker: claims, runs handlers, settles, and keeps its leases alive meanwhile."""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from rowmq.core.delivery import Delivery
from rowmq.core.errors import InvalidSetting, StopTimeout, WorkerState
from rowmq.core.outcome import Outcome, Release, Settled
from rowmq.runtime.answers import Seconds
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.consumer import new_name
from rowmq.runtime.desk import Desk, Held, Lane
from rowmq.runtime.fetcher import Fetcher, Source, Terms
from rowmq.runtime.hands import Loop, Threads
from rowmq.runtime.keeper import Keeper
from rowmq.runtime.log import LogEvents, event, logger
from rowmq.runtime.middleware import Middleware, overriding
from rowmq.runtime.options import Filter, as_span, as_span_or_none, as_where
from rowmq.runtime.registry import Job, Unreadable
from rowmq.runtime.run import End, Runner
from rowmq.runtime.scheduler import Scheduler
from rowmq.runtime.settler import Answer, Settler
from rowmq.runtime.sweeper import Sweeper
from rowmq.runtime.upkeep import Upkeep

if TYPE_CHECKING:
    from rowmq.runtime.client import Client

FLUSH = 5.0
"""Seconds that finished messages have for being settled even if the time to stop is over."""


class WorkerOptions(TypedDict, total=False):
    """How a worker works. Spans are seconds or timedelta."""

    concurrency: int
    buffer: int
    batch: int
    poll: Seconds
    lease: Seconds | None
    where: Filter
    max_age: Seconds | None
    timeout: Seconds | None
    stop_when_empty: bool
    on_invalid: Callable[[ClaimedMessage, Exception], object] | None
    middleware: Sequence[Middleware]
    name: str | None
    sweep: bool
    schedules: bool
    sweep_every: Seconds


DEFAULTS: WorkerOptions = {
    "concurrency": 8,
    "buffer": 1000,
    "batch": 500,
    "poll": 1.0,
    "lease": None,
    "where": None,
    "max_age": None,
    "timeout": None,
    "stop_when_empty": False,
    "on_invalid": None,
    "middleware": (),
    "name": None,
    "sweep": True,
    "schedules": True,
    "sweep_every": 10.0,
}


class Worker:
    """Handles the messages of some queues until it is stopped.

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
        said = _checked({**DEFAULTS, **options})
        self._client, self._store = client, client.store
        self.name: str = said["name"] or new_name()
        self.queues = list(queues) or client.registry.queues
        self._middleware = [LogEvents(), *client.middleware, *said["middleware"]]
        self._said = said
        self._held: dict[int, Held] = {}
        self._sources = {queue: Source(self._store, queue) for queue in self._served()}
        self._lanes: dict[tuple[str, str], Lane] = {}
        self._assemble(said)
        self._life = ExitStack()
        self._started = self._stopped = False
        self._ended = threading.Event()

    def start(self) -> None:
        """Begin to work, in threads of its own. A worker can be started once."""
        if self._started:
            raise WorkerState("this worker has been started already; make a new one")
        self._started = True
        for queue in self.queues:
            self._store.queues.put(queue)
        for each in overriding(self._middleware, "around_worker"):
            self._life.enter_context(each.around_worker(self))
        for part in (self._settler, self._keeper, self._threads, self._loop, self._upkeep, self._fetcher):
            part.start()

    def stop(self, timeout: Seconds | None = None) -> None:
        """Stop: claim no more, give back what has not begun, let running handlers finish and count.

        Raises StopTimeout if they take longer than that; their messages come back when their leases end.
        """
        if not self._started or self._stopped:
            raise WorkerState("this worker is not running")
        self._stopped = True
        end = None if timeout is None else time.monotonic() + as_span(timeout, "timeout").total_seconds()
        self._fetcher.close()
        for held in self._desk.close():
            self._decide(held, Release())
        running = self._desk.wait_idle(_left(end))
        unsettled = self._settler.close(_left(end, at_least=FLUSH))
        self._over.set()
        self._loop.close()
        self._keeper.close()
        self._upkeep.join(FLUSH)
        self._life.close()
        self._ended.set()
        if running or unsettled:
            raise StopTimeout(
                f"{running} handlers were still running after {timeout} seconds and {unsettled} settlements"
                " could not be made; their messages come back when their leases end"
            )

    def run(self, until: threading.Event | None = None, stop_timeout: Seconds | None = None) -> None:
        """Work here until the event is set, or, with ``stop_when_empty``, until there is nothing left."""
        over = until or threading.Event()
        if self._said["stop_when_empty"]:
            self._fetcher.on_empty = partial(self._when_empty, over)
        self.start()
        over.wait()
        self.stop(stop_timeout)

    def held(self) -> Sequence[Held]:
        """Everything this worker has claimed and not settled."""
        return list(self._held.values())

    def lose(self, lost: Sequence[Held]) -> None:
        """Stop working on messages that went on without us."""
        for each in lost:
            each.message.lost = True
            self._held.pop(each.message.delivery.seq, None)
            if each.cancel is not None:
                each.cancel()
            self._tell("on_lost", each.message)
        self._desk.discard(lost)

    def time_out(self, late: Held) -> None:
        """Fail a message whose handler has used up its time. A plain function is only told: ``lost``."""
        if late.lane.job.is_async:
            return  # its own timeout stops it
        outcome, error = self._runner.timed_out(late.lane.job, late.message)
        if self._decide(late, outcome, error):
            late.message.lost = True

    def _served(self) -> list[str]:
        if not self.queues:
            raise InvalidSetting("there is nothing to work on: register a handler or a task, or name a queue")
        for queue in self.queues:
            if not self._client.registry.jobs(queue):
                raise InvalidSetting(f"queue {queue!r} has no handler and no task here")
        return self.queues

    def _assemble(self, said: Mapping[str, Any]) -> None:
        """Make the parts, and wire them."""
        store = self._store
        self._runner = Runner(
            self._middleware, lambda queue: self._sources[queue].settings.backoff, said["on_invalid"]
        )
        self._settler = Settler(store, self._on_settled, busy=lambda: len(self._held) > 1)
        self._loop = Loop(self._run_async)
        self._desk = Desk(said["concurrency"], said["buffer"], self._loop.wake)
        self._loop.desk = self._desk
        self._threads = Threads(self._desk, said["concurrency"], self._run_plain)
        terms = Terms(self.name, said["batch"], said["poll"], said["lease"], said["where"], said["max_age"])
        self._fetcher = Fetcher(store, self._desk, list(self._sources.values()), terms, self._deliver)
        self._keeper = Keeper(store, self, self.name, self.queues)
        self._over = threading.Event()
        self._upkeep = Upkeep(
            Scheduler(store) if said["schedules"] else None,
            Sweeper(store, self.name, every=said["sweep_every"]) if said["sweep"] else None,
            self._over,
        )
        for queue in self.queues:
            for job in self._client.registry.jobs(queue):
                self._lane(queue, job)
        if any(lane.job.timeout for lane in self._lanes.values()):
            self._keeper.mind(1.0)

    def _lane(self, queue: str, job: Job) -> Lane:
        key = (queue, job.name)
        if key not in self._lanes:
            if job.timeout is None and self._said["timeout"] is not None:
                job = Job(
                    job.name, job.call, job.is_async, job.concurrency, self._said["timeout"], job.results
                )
            self._lanes[key] = Lane(queue, job)
            self._desk.add_lane(self._lanes[key])
        return self._lanes[key]

    def _deliver(self, source: Source, deliveries: Sequence[Delivery], began: float) -> None:
        """Take what was claimed: everything counts as held from here on."""
        lease = (self._said["lease"] or source.settings.lease).total_seconds()
        self._keeper.mind(lease)
        given = [held for each in deliveries if (held := self._hold(each, lease, began)) is not None]
        self._tell("on_claim", source.queue, [held.message for held in given])
        if not self._desk.put(source.queue, given):
            for held in given:
                self._decide(held, Release())

    def _hold(self, delivery: Delivery, lease: float, began: float) -> Held | None:
        message = ClaimedMessage(delivery, self._store, timedelta(seconds=lease))
        try:
            job = self._client.registry.job(delivery.queue, delivery.metadata)
            lane = self._lane(delivery.queue, job)
        except Unreadable as error:
            self._refuse(message, error, lease, began)
            return None
        self._held[delivery.seq] = held = Held(message, lane, lease, began)
        return held

    def _refuse(self, message: ClaimedMessage, error: Unreadable, lease: float, began: float) -> None:
        """Bury a message that names no function here."""
        lane = next(iter(self._lanes.values()))
        held = Held(message, lane, lease, began)
        self._held[message.delivery.seq] = held
        self._decide(held, self._runner.invalid(message, error), error)

    def _run_plain(self, held: Held) -> None:
        self._end(held, self._runner.run(held.lane.job, held.message))

    async def _run_async(self, held: Held) -> None:
        try:
            end = await self._runner.run_async(held.lane.job, held.message)
        except asyncio.CancelledError:
            if held.message.lost:
                return
            raise
        self._end(held, end)

    def _end(self, held: Held, end: End) -> None:
        outcome, error = end
        message = held.message
        if message.lost or (message.settled and error is None):  # gone, or the handler has settled it himself
            held.finished = True
            self._held.pop(message.delivery.seq, None)
            return
        self._decide(held, outcome, error)

    def _decide(self, held: Held, outcome: Outcome, error: BaseException | None = None) -> bool:
        if not self._desk.decide(held):
            return False
        self._tell("after", held.message, outcome, error)
        self._settler.put(held, outcome)
        return True

    def _on_settled(self, answers: Sequence[Answer]) -> None:
        for held, _, answer in answers:
            self._held.pop(held.message.delivery.seq, None)
            if answer == Settled.LOST and not held.message.settled:
                held.message.lost = True
                self._tell("on_lost", held.message)
        self._desk.room.set()
        self._tell("on_settle", [(held.message, outcome, answer) for held, outcome, answer in answers])

    def _when_empty(self, over: threading.Event) -> None:
        if not self._held:
            over.set()
            self._fetcher.on_empty = lambda: over.wait(1.0)
        else:
            self._desk.room.wait(0.02)

    def _tell(self, hook: str, *args: Any) -> None:
        """Call a hook of everybody who has it; one that fails changes nothing."""
        for each in self._hooks(hook):
            try:
                getattr(each, hook)(*args)
            except Exception as error:  # noqa: BLE001 - a hook must not end a worker
                event(logger, "error", "middleware.failed", hook=hook, exc_info=error)

    def _hooks(self, hook: str) -> list[Middleware]:
        known: dict[str, list[Middleware]] = self.__dict__.setdefault("_hooks_known", {})
        if hook not in known:
            known[hook] = overriding(self._middleware, hook)
        return known[hook]


def _left(end: float | None, at_least: float = 0.0) -> float | None:
    return None if end is None else max(end - time.monotonic(), at_least)


def _checked(said: Mapping[str, Any]) -> dict[str, Any]:
    """Options in the engine's terms, each one that cannot be refused with a clear word."""
    unknown = set(said) - set(DEFAULTS)
    if unknown:
        raise InvalidSetting(
            f"a worker has no option {', '.join(sorted(unknown))}; it has {', '.join(DEFAULTS)}"
        )
    for name in ("concurrency", "buffer", "batch"):
        if not isinstance(said[name], int) or said[name] < 1:
            raise InvalidSetting(f"a worker's {name} is a whole number of at least 1, not {said[name]!r}")
    spans = {name: as_span_or_none(said[name], name) for name in ("lease", "max_age")}
    counted = {name: _seconds(said[name], name) for name in ("poll", "timeout", "sweep_every")}
    return {**said, **spans, **counted, "where": as_where(said["where"])}


def _seconds(value: Seconds | None, name: str) -> float | None:
    if value is None:
        return None
    length = as_span(value, name).total_seconds()
    if length <= 0:
        raise InvalidSetting(f"a worker's {name} is longer than 0, not {value}")
    return length
