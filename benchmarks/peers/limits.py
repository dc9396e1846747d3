"""What is measured of the bare loop: the limit that every system of its store is compared with.

It is one process with one connection, which pushes, claims and settles in turn. A message's round trip, and
its latency, end where a handler would begin: when its claim has returned. It listens for nothing and wakes
nobody. Its own memory is left out: it holds everything that it is about to send.
"""

from __future__ import annotations

import time

from benchmarks.peers.adapter import Adapter
from benchmarks.peers.catalogue import System
from benchmarks.peers.measure import PAUSE, Figures, spread
from benchmarks.peers.place import Place
from benchmarks.peers.plan import Plan
from benchmarks.peers.process import cpu_seconds, shared_memory, tree, written

SINGLES = 200
"""Messages that it takes one by one, at most."""


def limits(system: System, place: Place, plan: Plan, *, brief: bool = False) -> Figures:
    """The bare loop's figures; brief ones have nothing that goes message by message."""
    with Adapter(system) as adapter:
        adapter.ask("open", url=place.url, make=True)
        bare = Bare(adapter, place, plan)
        return bare.bulk() if brief else bare.singles() | bare.bulk()


class Bare:
    """A bare loop in its process."""

    def __init__(self, adapter: Adapter, place: Place, plan: Plan) -> None:
        self._adapter, self._place, self._plan = adapter, place, plan

    def singles(self) -> Figures:
        """Messages one by one: as fast as they go, at idle, and at half of what went."""
        count = min(SINGLES, self._plan.messages)
        took = self._ran(count, 1)
        half = count / sum(took.values()) / 2
        idle = self._paced(self._plan.paced, PAUSE)
        loaded = self._paced(min(self._plan.messages, max(10, int(half * self._plan.seconds))), 1 / half)
        return {
            "enqueue, single": count / took["push"],
            "round trips": count / (took["push"] + took["claim"]),
            "half load": half,
            **spread("idle", *idle),
            **spread("half load", *loaded),
        }

    def bulk(self) -> Figures:
        """Many messages in batches, and what each of them cost."""
        tried = min(5 * self._plan.batch, self._plan.messages)
        count = self._plan.scaled(tried / sum(self._ran(tried, self._plan.batch).values()))
        self._ready(count, self._plan.batch)
        server, log = self._server(), self._written()
        took = self._adapter.ask("limit")
        cpu = took.pop("cpu")
        return {
            "enqueue, batch": count / took["push"],
            "work": count / (took["claim"] + took["settle"]),
            "client CPU": cpu / count * 10_000,
            "server CPU": (self._server() - server) / count * 10_000 if self._place.pids else None,
            "bytes": (self._written() - log) / count,
            **self._leftovers(),
        }

    def _ran(self, count: int, batch: int) -> dict[str, float]:
        self._ready(count, batch)
        took = self._adapter.ask("limit")
        return {phase: seconds for phase, seconds in took.items() if phase != "cpu"}

    def _paced(self, count: int, gap: float) -> tuple[list[float], list[float]]:
        """Milliseconds from a push's call, and from its return, to the return of its claim."""
        self._ready(count, 1, paced=True)
        found = self._adapter.ask("pace", gap=gap)["paced"]
        called = [(claimed - called) / 1e6 for called, _, claimed in found]
        return called, [(claimed - returned) / 1e6 for _, returned, claimed in found]

    def _ready(self, count: int, batch: int, *, paced: bool = False) -> None:
        self._adapter.ask("ready", messages=count, batch=batch, size=self._plan.size, paced=paced)

    def _server(self) -> float:
        return cpu_seconds(self._place.pids)

    def _written(self) -> int:
        log = self._place.written()
        return written([self._adapter.pid]) if log is None else log

    def _leftovers(self) -> Figures:
        pids = self._place.pids
        time.sleep(1.1 if pids else 0)  # PostgreSQL tells its statistics once a second
        memory = shared_memory(tree(pids)) / 1e6 if pids else None
        return {"dead tuples": self._place.dead(), "server memory": memory}
