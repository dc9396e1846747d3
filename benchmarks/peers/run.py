"""One run: every system in turn, round by round, on the same servers; results are kept after each step."""

from __future__ import annotations

import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peers.adapter import Adapter, AdapterFailed, Refused
from benchmarks.peers.catalogue import BARE, OURS, System
from benchmarks.peers.figures import Book
from benchmarks.peers.install import CannotBeHad, install
from benchmarks.peers.measure import WARM, Figures, bulk, limits, whole
from benchmarks.peers.place import Places, places
from benchmarks.peers.scenes import Crowd, scenes
from benchmarks.peers.session import Plan, Session

SIZES = {"200 B": 200, "2 KB": 2000, "20 KB": 20_000}
FIFO = 100_000


class Options(NamedTuple):
    """What is asked of a run."""

    systems: Sequence[System]
    plan: Plan
    rounds: int
    sizes: Sequence[str]
    crowd: Crowd | None
    fifo: int = FIFO


class Progress:
    """A line for each step: which, how far, and since when."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._step = 0

    def say(self, text: str) -> None:
        """Begin a step."""
        self._step += 1
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        print(f"# {minutes:3}:{seconds:02} step {self._step}: {text}", file=sys.stderr, flush=True)


class Run:
    """A run and all that it found."""

    def __init__(self, options: Options, keep: Callable[[dict[str, Any]], None]) -> None:
        self.options, self._keep = options, keep
        self.book = Book()
        self.about: dict[str, Any] = {
            **machine(),
            "servers": {},
            "systems": [],
            "missing": [],
            "troubles": [],
        }
        self.about["plan"] = options.plan._asdict() | {"rounds": options.rounds}
        self._progress = Progress()

    def all(self) -> None:
        """Install, then measure store by store."""
        ready = [system for system in self.options.systems if self._installed(system)]
        for store in dict.fromkeys(system.store for system in ready):
            with places(store) as spots:
                self.about["servers"][store] = spots.settings()
                self._store(spots, [system for system in ready if system.store == store])

    def _installed(self, system: System) -> bool:
        self._progress.say(f"{system.store}, {system.name}: installing, asking for its settings")
        try:
            install(system)
            with Adapter(system) as adapter:
                said = adapter.ask("describe")
        except (CannotBeHad, AdapterFailed) as error:
            self.about["missing"].append(
                {"store": system.store, "system": system.name, "reason": str(error)[:600]}
            )
            return False
        self.about["systems"].append({"store": system.store, "system": system.name, **said})
        return True

    def _store(self, spots: Places, systems: Sequence[System]) -> None:
        for case in self.options.sizes:
            for number in range(self.options.rounds):
                # Another one first each time, so that nobody always runs after the same.
                turned = [*systems[number % len(systems) :], *systems[: number % len(systems)]]
                for system in turned:
                    self._progress.say(f"{spots.kind}, {case}, round {number + 1}: {system.name}")
                    self._tried(spots, system, case, partial(self._round, spots, system, case))
        if self.options.crowd and spots.kind != "sqs":
            without = {OURS, BARE}
            best = self.book.best(spots.kind, self.options.sizes[0], "work", 2, without)
            for system in systems:
                if system.name in (OURS, *best):
                    self._tried(spots, system, "long matrix", partial(self._matrix, spots, system))

    def _tried(self, spots: Places, system: System, case: str, step: Callable[[], None]) -> None:
        """Whatever goes wrong with one system is written down, and the run goes on."""
        try:
            step()
        except Exception:  # noqa: BLE001 - a peer may fail in any way
            told = traceback.format_exc(limit=-2)[-800:]
            self._progress.say(f"{spots.kind}, {system.name} failed: {told}")
            self.about["troubles"].append(
                {"store": spots.kind, "system": system.name, "case": case, "what": told}
            )
        self._keep(self.about | {"records": [each._asdict() for each in self.book.all()]})

    def _round(self, spots: Places, system: System, case: str) -> None:
        """One system at one size in one round; a failed one leaves a gap: rounds stay side by side."""
        found: Figures = {"work": None}
        try:
            found = self._figures(spots, system, case)
        finally:
            for measure, value in found.items():
                self.book.add(spots.kind, system.name, case, measure, value)

    def _figures(self, spots: Places, system: System, case: str) -> Figures:
        plan = self.options.plan.of_size(SIZES[case])
        with spots.fresh() as place:
            if system.name == BARE:
                return limits(system, place, plan)
            with Session(system, place, plan) as session:
                if case == self.options.sizes[0]:
                    return whole(session) | self._cycles(session)
                session.enqueue(WARM, plan.batch)
                return bulk(session, session.work(WARM).rate)

    def _cycles(self, session: Session) -> Figures:
        """What SQS has: send, receive, delete, in a standard queue and in a crowded FIFO queue."""
        found: Figures = {}
        plan = session.plan
        asked = {"count": plan.messages, "seconds": plan.seconds, "size": plan.size}
        with suppress(Refused):
            for name, waiting in (("cycle", 0), ("cycle, FIFO", self.options.fifo)):
                said = session.control.ask("cycle", waiting=waiting, **asked)
                found[name] = said["count"] / said["seconds"]
                found[f"{name}, waiting"] = said["waiting"]
        return found

    def _matrix(self, spots: Places, system: System) -> None:
        if self.options.crowd is None:
            return
        self._progress.say(f"{spots.kind}, long matrix: filling for {system.name}")
        with scenes(system, spots, self.options.plan, self.options.crowd) as made:
            for number in range(self.options.rounds):
                for case, scene in made.items():
                    self._progress.say(f"{spots.kind}, {case}, round {number + 1}: {system.name}")
                    self.book.add(spots.kind, system.name, case, "work", scene.work())
            for case, scene in made.items():
                dead = scene.session.place.dead()
                self.book.add(spots.kind, system.name, case, "dead tuples", dead)


def machine() -> dict[str, Any]:
    """Where and with what the run was made."""
    root = Path(__file__).parents[2]
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],  # noqa: S607 - the one on the PATH
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit,
        "machine": f"{_cpu()}, {_memory()} GB, {platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": " ".join(Path("/proc/loadavg").read_text().split()[:3]),
    }


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} cores of {names[0] if names else platform.machine()}"


def _memory() -> int:
    kilobytes = int(Path("/proc/meminfo").read_text().split()[1])
    return round(kilobytes / 1024**2)
