"""Forks: a child finds no lock held by a thread that it does not have, and no SQLite file open.

SQLite keeps its file locks for the whole process, and a child has none of them though its copy of SQLite
believes so: connections opened beside inherited ones write without locks. So there is none to inherit.
"""

import os
import threading
import weakref
from types import TracebackType
from typing import Protocol

PATIENCE = 5.0
"""Seconds a fork waits for the transactions that are under way."""


class Still(Protocol):
    """Something that can be in a state that a child can go on from."""

    def hold_still(self) -> None:
        """Come to rest, and stay there until let go."""

    def begin_anew(self) -> None:
        """In the child: leave alone what belongs to the parent."""

    def let_go(self) -> None:
        """Go on, in the parent and in the child."""


class Gate:
    """Lets transactions in, and while a fork takes place, nobody."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._inside = 0

    def __enter__(self) -> None:
        with self._changed:
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def close(self) -> None:
        """Wait until nobody is inside, and let nobody in."""
        self._changed.acquire()
        self._changed.wait_for(lambda: not self._inside, PATIENCE)

    def open(self) -> None:
        """Let them in again."""
        self._changed.release()


_OPEN: "weakref.WeakSet[Still]" = weakref.WeakSet()
_held: list[Still] = []


def stand_still_at_forks(what: Still) -> None:
    """Have it hold still whenever this process forks."""
    _OPEN.add(what)


def _before() -> None:
    for each in list(_OPEN):
        each.hold_still()
        _held.append(each)


def _after_in_parent() -> None:
    while _held:
        _held.pop().let_go()


def _after_in_child() -> None:
    for each in _held:
        each.begin_anew()
    _after_in_parent()


os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
