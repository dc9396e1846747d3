"""The long matrix: one system in several places at once, crowded or with more workers, measured in turn."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from benchmarks.peers.adapter import Refused
from benchmarks.peers.catalogue import System
from benchmarks.peers.measure import WARM
from benchmarks.peers.place import Places
from benchmarks.peers.session import Plan, Session

EMPTY, WAITING, FINISHED, HELD = "empty", "waiting", "finished", "held"
FILLING = 300.0
"""Seconds for which a place is filled at most: a system without batches may not get to the full number."""


def workers(count: int) -> str:
    """The name of the case with so many workers, each a process."""
    return f"{count} worker{'s' if count > 1 else ''}"


class Crowd(NamedTuple):
    """How full the places are, and for how long a transaction is held before it counts."""

    waiting: int
    finished: int
    held: float
    workers: tuple[int, ...]


class Scene(NamedTuple):
    """A session, and whether what it holds already stays behind."""

    session: Session
    waiting: int = 0

    def work(self) -> float:
        """Messages a second: as many as there are pushed again, so that the crowd stays as it is."""
        count, _ = self.session.enqueue(self.session.plan.messages, self.session.plan.batch)
        return self.session.work(count, rest=None if self.waiting else 0).rate


@contextmanager
def scenes(system: System, spots: Places, plan: Plan, crowd: Crowd) -> Iterator[dict[str, Scene]]:
    """Every case that the system can be put in, by its name."""
    with ExitStack() as stack:
        made = {EMPTY: Scene(_opened(stack, system, spots, plan))}
        if crowd.waiting:
            made[WAITING] = _waiting(_opened(stack, system, spots, plan), crowd.waiting)
        if crowd.finished:
            _finished(made, _opened(stack, system, spots, plan), crowd.finished)
        for count in () if system.alone else crowd.workers:
            session = _opened(stack, system, spots, plan)
            session.workers += [session.another() for _ in range(count - 1)]
            made[workers(count)] = Scene(session)
        if crowd.held and spots.kind != "redis":
            session = _opened(stack, system, spots, plan)
            stack.enter_context(session.place.held())
            made[HELD] = Scene(session)
            _hold(made, crowd.held)
        yield made


def _opened(stack: ExitStack, system: System, spots: Places, plan: Plan) -> Session:
    place = stack.enter_context(spots.fresh())
    session = stack.enter_context(Session(system, place, plan))
    session.enqueue(WARM, plan.batch)
    session.work(WARM)
    return session


def _waiting(session: Session, count: int) -> Scene:
    filled, _ = session.enqueue(count, session.plan.batch, FILLING)
    session.place.rest()
    return Scene(session, filled)


def _finished(made: dict[str, Scene], session: Session, count: int) -> None:
    """Where the system keeps what is finished."""
    try:
        session.control.ask("seed", finished=count)
    except Refused:
        return
    session.place.rest()
    made[FINISHED] = Scene(session)


def _hold(made: dict[str, Scene], seconds: float) -> None:
    """Work on for that long while the transaction is open; what counts comes afterwards."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        made[HELD].work()
