"""One system in one empty place: the processes that fill it and work on it, and what they use meanwhile."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any, NamedTuple, Self

from benchmarks.peers.adapter import Adapter, AdapterFailed, Refused
from benchmarks.peers.catalogue import System
from benchmarks.peers.clock import PART, Span, span
from benchmarks.peers.place import Place
from benchmarks.peers.plan import Plan
from benchmarks.peers.process import cpu_seconds, shared_memory, tree, written

LOOK = 0.02
"""Seconds between two looks at how far the workers are; what is timed is timed by the workers themselves."""
STUCK = 60.0
"""Seconds without any progress after which a system is given up."""
LATE = 10.0
"""Seconds after a stop in which the last acks may still arrive."""
MOMENT = 0.05
"""Seconds after the last handler until its ack is asked for: the question comes after the work."""
SLOW = 600.0
"""Seconds for acks after which a system is given up."""


class Use(NamedTuple):
    """What was used up to a moment; None where there is no such thing."""

    client: float
    server: float | None
    written: float | None

    def since(self, before: Use) -> Use:
        """What was used from one moment to another."""
        return Use(
            self.client - before.client,
            _less(self.server, before.server),
            _less(self.written, before.written),
        )


class Worked(NamedTuple):
    """How workers got on: the clock's span, what was used for how many, and how long the stop took."""

    span: Span
    used_for: int
    use: Use
    memory: int
    stop: float

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.span.rate


class Session:
    """One system in one empty place: a process that fills it, and others that work."""

    def __init__(self, system: System, place: Place, plan: Plan) -> None:
        self.system, self.place, self.plan = system, place, plan
        self._stack = ExitStack()
        self.has_batches = True
        self.pushed = 0

    def __enter__(self) -> Self:
        try:
            self.control = self._stack.enter_context(Adapter(self.system))
            self.workers: list[Adapter] = []
            self._servers: list[int] = self.control.ask("open", url=self.place.url, make=True).get(
                "servers", []
            )
            self.said = self.control.ask("describe")
            self.workers += [self.another() for _ in range(self.system.processes)]
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def another(self) -> Adapter:
        """One more process, that works."""
        worker = self._stack.enter_context(Adapter(self.system))
        worker.ask("open", url=self.place.url, make=False)
        return worker

    # ---- what is used -----------------------------------------------------------------------------------

    def use(self) -> Use:
        """What was used so far, by clients and by the server, wherever it was started from."""
        clients, servers = self._clients(), self._servers or self.place.pids
        server = cpu_seconds(servers) if servers else None
        log = self.place.written()
        if log is None and not self._servers:
            log = written(clients)
        return Use(cpu_seconds(clients, without=self._servers), server, log)

    def memory(self) -> int:
        """The memory of the clients now."""
        return shared_memory(tree(self._clients()) - tree(self._servers))

    def server_memory(self) -> int | None:
        """The memory of the server now, where there is one."""
        servers = self._servers or self.place.pids
        return shared_memory(tree(servers)) if servers else None

    def _clients(self) -> list[int]:
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
        self.pushed += found["count"]
        return found["count"], found["seconds"]

    def work(self, count: int) -> Worked:
        """Let the workers handle and ack so many; then they stop, and nothing handled may be left."""
        self.place.look()  # else it may take full tables for empty, and some plans never end
        rest = self.pushed - self._handled() - count
        base, marks = self._done(), [(len(each.ticks), each.done) for each in self.workers]
        started = time.monotonic_ns()
        self._all("start", listen=False)
        self._reach(base + max(1, count // PART))
        seen, before = self._done(), self.use()
        self._reach(base + count)
        done, memory, acked = self._done(), self.memory(), self._acked(rest)
        use, stop = self.use().since(before), self._stop()
        self.check()
        ticks = [
            [(at, number - handled) for at, number in each.ticks[first:]]
            for each, (first, handled) in zip(self.workers, marks, strict=True)
        ]
        return Worked(span(ticks, count, started, acked), done - seen, use, memory, stop)

    def _all(self, action: str, **given: Any) -> None:
        for worker in self.workers:
            worker.tell(action, **given)
        for worker in self.workers:
            worker.answer()

    def _done(self) -> int:
        return sum(each.done for each in self.workers)

    def _reach(self, count: int) -> None:
        seen, moved = self._done(), time.monotonic()
        while (done := self._done()) < count:
            if done != seen:
                seen, moved = done, time.monotonic()
            if time.monotonic() > moved + STUCK:
                said = self.workers[0].printed()
                raise AdapterFailed(f"{self.system.name} handles nothing more, {done} of {count}: {said}")
            time.sleep(LOOK)

    def _acked(self, rest: int) -> int:
        """When no more than the rest was left: 0 if that was so at the first look, a moment later."""
        time.sleep(MOMENT)
        asked, end = 0, time.monotonic() + SLOW
        while (left := self.control.ask("left")["left"]) > rest:
            if time.monotonic() > end:
                raise AdapterFailed(f"{self.system.name} has handled but not finished {left - rest} messages")
            time.sleep(LOOK)
            asked = time.monotonic_ns()
        return asked

    def _handled(self) -> int:
        return self._done() + self.control.done

    def _stop(self) -> float:
        """Stop in good order: what was handled is acked when it has ended."""
        began = time.monotonic()
        self._all("stop")
        return time.monotonic() - began

    def check(self) -> None:
        """Make sure that what was handled is finished: no more is left than was pushed and not handled."""
        owed, end = self.pushed - self._handled(), time.monotonic() + LATE
        while (left := self.control.ask("left")["left"]) > owed:
            if time.monotonic() > end:
                raise AdapterFailed(f"{self.system.name} has handled but not finished {left - owed} messages")
            time.sleep(0.1)

    def roundtrip(self) -> float:
        """Messages a second when each waits for the one before it to be handled."""
        self.control.ask("start", listen=True)
        asked = {"size": self.plan.size, "seconds": self.plan.seconds}
        for count in (20, self.plan.messages):
            found = self.control.ask("roundtrip", count=count, **asked)
            self.pushed += found["count"]
        self.control.ask("stop")
        self.control.ask("began")
        return float(found["count"] / found["seconds"])

    def latency(self, count: int, gap: float) -> tuple[list[float], list[float]]:
        """Milliseconds from a push's call, and from its return, to the handler, in another process."""
        worker = self.workers[0]
        worker.ask("start", listen=True)
        self._paced(10, 0.05)
        pushed = self._paced(count, gap)
        worker.ask("stop")
        began = dict(worker.ask("began")["began"])
        if missed := [number for number, *_ in pushed if number not in began]:
            raise AdapterFailed(
                f"{self.system.name} did not handle {len(missed)} of {count}: {worker.printed()}"
            )
        called = [(began[number] - called) / 1e6 for number, called, _ in pushed]
        return called, [(began[number] - returned) / 1e6 for number, _, returned in pushed]

    def _paced(self, count: int, gap: float) -> list[tuple[int, int, int]]:
        base = self._done()
        pushed: list[tuple[int, int, int]] = self.control.ask(
            "pace", count=count, gap=gap, size=self.plan.size
        )["pushed"]
        self.pushed += len(pushed)
        self._reach(base + count)
        return pushed


def _less(now: float | None, then: float | None) -> float | None:
    return None if now is None or then is None else now - then
