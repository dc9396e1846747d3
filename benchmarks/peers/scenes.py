"""The long matrix: one system in several places at once, crowded or with more workers, measured in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from benchmarks.peers.catalogue import System
from benchmarks.peers.measure import Figures, pilot
from benchmarks.peers.place import Places
from benchmarks.peers.plan import Plan
from benchmarks.peers.session import Session

WAITING, FINISHED, BOTH, WORKERS, HELD = "waiting", "finished", "both", "workers", "held"
SCENES = (WAITING, FINISHED, BOTH, WORKERS, HELD)
EMPTY = "empty"
"""Not a scene: what an empty place with one worker reached in the same round, beside each scene's figure."""
LONGER = 4
"""Steps with several workers are so many times as long: a worker holds thousands of messages that the others
wait for at the end, and sixteen would have had two claims each."""
FILLING = 300.0
"""Seconds for which a place is filled at most: a system without batches may not get to the full number."""


def workers(count: int) -> str:
    """The name of the case with so many workers, each a process."""
    return f"{count} worker{'s' if count > 1 else ''}"


class Crowd(NamedTuple):
    """Which scenes, how full their places, and how long a transaction is held before it counts."""

    waiting: int = 1_000_000
    finished: int = 5_000_000
    held: float = 300.0
    workers: tuple[int, ...] = (1, 4, 16)
    scenes: tuple[str, ...] = SCENES

    def cases(self, system: System, kind: str) -> list[str]:
        """The cases that a system can be put in: held comes last, for it takes its time before it counts."""
        left_out = {WORKERS} if system.alone else set()
        left_out |= {HELD} if kind == "redis" else set()  # no transaction stays open there
        wanted = [each for each in SCENES if each in self.scenes and each not in left_out]
        return [case for each in wanted for case in self._named(each)]

    def _named(self, scene: str) -> list[str]:
        return [workers(count) for count in self.workers] if scene == WORKERS else [scene]


class Scene(NamedTuple):
    """A session, how many messages a round has, and what the place is full of."""

    session: Session
    messages: int
    crowd: Figures

    def work(self) -> float:
        """Messages a second: as many as there are pushed again, so that the crowd stays as it is."""
        self.session.place.begin()
        return self._step()

    def age(self, seconds: float) -> None:
        """Work on for so long; what counts comes afterwards."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._step()
        self.crowd["held"] = seconds

    def _step(self) -> float:
        count, _ = self.session.enqueue(self.messages, self.session.plan.batch, FILLING)
        return self.session.work(count).rate


class Stage:
    """Builds the scenes of one system, all in places of their own that are there until the end."""

    def __init__(self, system: System, spots: Places, plan: Plan, crowd: Crowd, stack: ExitStack) -> None:
        self._system, self._spots, self._plan, self._crowd, self._stack = system, spots, plan, crowd, stack
        session = self._opened(system.processes)
        self._rate = pilot(session)
        self.empty = Scene(session, plan.scaled(self._rate), {})
        self._long = plan.longer(LONGER).scaled(self._rate)

    def scene(self, case: str) -> Scene:
        """One scene; Refused if the system has no such thing."""
        builders: dict[str, Callable[[Session], Figures]] = {
            WAITING: self._fill,
            FINISHED: self._seed,
            BOTH: lambda session: self._seed(session) | self._fill(session),
            HELD: self._hold,
        }
        build = builders.get(case)
        session = self._opened(self._system.processes if build else int(case.partition(" ")[0]))
        pilot(session, self._rate)
        if build is None:
            return Scene(session, self._long, {})
        return Scene(session, self.empty.messages, build(session))

    def _opened(self, processes: int) -> Session:
        system = self._system._replace(processes=processes)
        place = self._stack.enter_context(self._spots.fresh())
        return self._stack.enter_context(Session(system, place, self._plan))

    def _fill(self, session: Session) -> Figures:
        filled, _ = session.enqueue(self._crowd.waiting, session.plan.batch, FILLING)
        session.place.rest()
        return {"waiting": filled}

    def _seed(self, session: Session) -> Figures:
        made = session.control.ask("seed", finished=self._crowd.finished, size=session.plan.size)
        session.place.rest()
        return {"finished": made["finished"]}

    def _hold(self, session: Session) -> Figures:
        self._stack.enter_context(session.place.held())
        return {}


@contextmanager
def stage(system: System, spots: Places, plan: Plan, crowd: Crowd) -> Iterator[Stage]:
    """Where a system's scenes are built, and which leaves nothing behind."""
    with ExitStack() as stack:
        yield Stage(system, spots, plan, crowd, stack)
