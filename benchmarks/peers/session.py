"""One system in one empty place: the processes that fill it and work on it, and what they use meanwhile."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import NamedTuple, Self

from benchmarks.peers.adapter import Adapter, AdapterFailed, Refused
from benchmarks.peers.catalogue import System
from benchmarks.peers.place import Place
from benchmarks.peers.process import cpu_seconds, peak_memory, written

BATCH = 1000
LOOK = 0.002
"""Seconds between two looks at how far the workers are."""
MOST = 200_000_000
"""Bytes that all messages of a step may have."""
STUCK = 60.0
"""Seconds without any progress after which a system is given up."""


class Plan(NamedTuple):
    """How much of everything."""

    messages: int
    seconds: float
    """What a step may take: a slow system does less, and is not waited for."""
    paced: int
    """Messages that are pushed to an idle system to see how soon they are handled."""
    size: int = 200
    batch: int = BATCH

    def of_size(self, size: int) -> Plan:
        """The same with messages of another size, and so many that they fit into memory several times.

        >>> Plan(100_000, 5.0, 100).of_size(20_000).messages
        10000
        """
        return self._replace(size=size, messages=min(self.messages, MOST // size))


class Use(NamedTuple):
    """What was used up to a moment."""

    client: float
    server: float
    written: float

    def since(self, before: Use) -> Use:
        """What was used from one moment to another."""
        return Use(*(now - then for now, then in zip(self, before, strict=True)))


class Worked(NamedTuple):
    """How workers got on: messages, seconds and use from the first handler on."""

    messages: int
    seconds: float
    use: Use
    memory: int

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.messages / max(self.seconds, 1e-6)


class Session:
    """One system in one empty place: a process that fills it, and others that work."""

    def __init__(self, system: System, place: Place, plan: Plan) -> None:
        self.system, self.place, self.plan = system, place, plan
        self._stack = ExitStack()
        self.has_batches = True

    def __enter__(self) -> Self:
        self.control = self._stack.enter_context(Adapter(self.system))
        self.said = self.control.ask("describe")
        self.control.ask("open", url=self.place.url, make=True)
        self.workers = [self.another()]
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def another(self) -> Adapter:
        """One more process, that works."""
        worker = self._stack.enter_context(Adapter(self.system))
        worker.ask("open", url=self.place.url, make=False)
        return worker

    def use(self) -> Use:
        """What was used so far."""
        pids, log = self._pids(), self.place.written()
        return Use(cpu_seconds(pids), self.place.cpu(), written(pids) if log is None else log)

    def _pids(self) -> list[int]:
        return [self.control.pid, *(each.pid for each in self.workers)]

    # ---- steps ------------------------------------------------------------------------------------------

    def enqueue(self, count: int, batch: int, seconds: float | None = None) -> tuple[int, float]:
        """Push; how many, and in how many seconds. One by one where there is nothing else."""
        asked = {"count": count, "size": self.plan.size, "seconds": seconds or self.plan.seconds}
        try:
            found = self.control.ask("enqueue", batch=batch, **asked)
        except Refused:
            self.has_batches = False
            found = self.control.ask("enqueue", batch=1, **asked)
        return found["count"], found["seconds"]

    def work(self, count: int, *, seconds: float | None = None, rest: int | None = 0) -> Worked:
        """Let the workers handle so many, or for so long, until no more than the rest is left.

        The clock starts with the first message handled, to a few milliseconds, so that nobody's start counts.
        """
        base, limit = self._done(), seconds or self.plan.seconds
        for worker in self.workers:
            worker.tell("start", listen=False)
        for worker in self.workers:
            worker.answer()
        self._reach(base + 1, until=None)
        began, before = time.monotonic(), self.use()
        self._reach(base + count, until=began + limit)
        done = self._done()
        if done >= base + count and rest is not None:
            self._settled(rest)
        took, use, memory = time.monotonic() - began, self.use().since(before), peak_memory(self._pids())
        self._stop()
        return Worked(done - base, took, use, memory)

    def _done(self) -> int:
        return sum(each.done for each in self.workers)

    def _reach(self, count: int, until: float | None) -> None:
        seen, moved = self._done(), time.monotonic()
        while (done := self._done()) < count and (until is None or time.monotonic() < until):
            if done != seen:
                seen, moved = done, time.monotonic()
            if time.monotonic() > moved + STUCK:
                said = self.workers[0].printed()
                raise AdapterFailed(f"{self.system.name} handles nothing more, {done} of {count}: {said}")
            time.sleep(LOOK)

    def _settled(self, rest: int) -> None:
        """Wait until what was handled is finished too: an ack may come later."""
        end = time.monotonic() + STUCK
        while (left := self.control.ask("left")["left"]) > rest:
            if time.monotonic() > end:
                raise AdapterFailed(f"{self.system.name} leaves {left} messages unfinished")
            time.sleep(LOOK)

    def _stop(self) -> None:
        for worker in self.workers:
            worker.tell("stop")
        for worker in self.workers:
            worker.answer()

    def roundtrip(self) -> float:
        """Messages a second when each waits for the one before it to be handled."""
        self.control.ask("start", listen=True)
        asked = {"size": self.plan.size}
        self.control.ask("roundtrip", count=20, seconds=self.plan.seconds, **asked)
        found = self.control.ask("roundtrip", count=self.plan.messages, seconds=self.plan.seconds, **asked)
        self.control.ask("stop")
        return float(found["count"] / found["seconds"])

    def latency(self, count: int, gap: float) -> tuple[list[float], list[float]]:
        """Milliseconds from a push's call, and from its return, to the handler, in another process."""
        worker, base = self.workers[0], self._done()
        worker.ask("start", listen=True)
        self.control.ask("pace", count=10, gap=0.05, size=self.plan.size)
        self._reach(base + 10, until=time.monotonic() + STUCK)
        pushed = self.control.ask("pace", count=count, gap=gap, size=self.plan.size)["pushed"]
        self._reach(base + 10 + count, until=time.monotonic() + STUCK)
        worker.ask("stop")
        began = dict(worker.ask("began")["began"])
        known = [each for each in pushed if each[0] in began]
        if not known:
            raise AdapterFailed(f"{self.system.name} handled none of {count} messages: {worker.printed()}")
        called = [(began[number] - called) / 1e6 for number, called, _ in known]
        return called, [(began[number] - returned) / 1e6 for number, _, returned in known]
