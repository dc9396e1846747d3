"""Where claims start looking.

A claim moves its rows to a later time, and until vacuum comes the old index entries stay and are walked
over by every later claim. So each process remembers, per queue and priority, the last row it took, and
starts there. What turns up below that floor (a slow transaction's push, a claimer that rolled back) is
found by looking from the beginning: before a claim says that there is nothing, and otherwise now and
then, for a fixed small part of the time. Whoever found nothing waits, and what wakes him is above the
floor: so that claim is spared the walk, and the next one, which finds that there is no more, has it.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

from rowmq.core.message import HIGHEST_PRIORITY

PRIORITIES = range(HIGHEST_PRIORITY, -1, -1)


class Floor(NamedTuple):
    """A place in the line of one priority: a time at which messages are due, and one of those."""

    time: int
    seq: int

    def at(self, now: int) -> "Floor":
        """The floor by a clock moved by hand: what comes back may be due when others were taken."""
        return Floor(self.time, 0) if self.time <= now else NOTHING


NOTHING = Floor(0, 0)
BEGINNING = (NOTHING,) * len(PRIORITIES)
"""Floors that leave nothing out."""
SHARE = 20
"""A look from the beginning is allowed once this many times its own length has passed."""
LONGEST = 1.0
"""Seconds after which a busy queue is looked at from the beginning even though its claims are full."""


SHORT = (1, 2)
"""What a claim found of what it asked for, as long as nobody knows: neither nothing nor all."""


class Floors:
    """The floors of one process, and the ration of looks from the beginning.

    Without a lock, for which a child forked at that moment would wait for ever: each change is one step.
    """

    def __init__(self) -> None:
        self._floors: dict[tuple[int, int], Floor] = {}
        self._looked: dict[int, tuple[float, float]] = {}
        self._last: dict[int, tuple[int, int]] = {}
        self._ids: dict[str, int] = {}

    def of(self, queue: int, now: int | None) -> tuple[Floor, ...]:
        """The floor of each priority, highest first; none where the clock, if known, is set back behind it.

        None at all for a claim that comes after a long time without a look from the beginning, or that will
        most likely need one because the last one found less than its limit; if that is paid for. But after
        one that found nothing, and so looked from the beginning, it is this one's successor that looks.
        """
        if self._may_start_below(queue):
            return BEGINNING
        known = (self._floors.get((queue, priority), NOTHING) for priority in PRIORITIES)
        return tuple(floor if now is None else floor.at(now) for floor in known)

    def name(self, name: str, queue: int) -> None:
        """Remember the name of a queue, to be asked about it before it has been looked up."""
        self._ids[name] = queue

    def forget(self, name: str) -> None:
        """Know nothing of the queue of this name, until it has been looked up."""
        self._ids.pop(name, None)

    def named(self, name: str) -> int | None:
        """The queue that was last remembered by this name."""
        return self._ids.get(name)

    def is_busy(self, queue: int) -> bool:
        """Whether the last claim got all it asked for."""
        found, limit = self._last.get(queue, SHORT)
        return found == limit

    def may_look_below(self, queue: int, *, found: int, limit: int) -> bool:
        """Whether a claim may look from the beginning.

        One that found nothing always may: nothing is only said when there is nothing. One that found less
        than its limit may once the last look is paid for, unless the last claim found nothing.
        """
        return not found or (found < limit and self._is_paid(queue) and not self._was_in_vain(queue))

    def looked_below(self, queue: int, started: float) -> None:
        """Note a look from the beginning and what it cost."""
        ended = time.monotonic()
        self._looked[queue] = (ended, ended - started)

    def raise_to(self, queue: int, taken: Sequence[tuple[int, int, int]], *, limit: int) -> None:
        """Note the (priority, time, seq) of rows that were taken, in claim order."""
        last = {priority: (visible_at, seq) for priority, visible_at, seq in taken}
        self._floors.update({(queue, priority): Floor(*place) for priority, place in last.items()})
        self._last[queue] = len(taken), limit

    def _may_start_below(self, queue: int) -> bool:
        if self._was_in_vain(queue) or not self._is_paid(queue):
            return False
        return not self.is_busy(queue) or self._is_long_ago(queue)

    def _was_in_vain(self, queue: int) -> bool:
        found, _ = self._last.get(queue, SHORT)
        return not found

    def _is_long_ago(self, queue: int) -> bool:
        ended, _ = self._looked.get(queue, (0.0, 0.0))
        return time.monotonic() - ended >= LONGEST

    def _is_paid(self, queue: int) -> bool:
        ended, cost = self._looked.get(queue, (0.0, 0.0))
        return time.monotonic() - ended >= cost * SHARE
