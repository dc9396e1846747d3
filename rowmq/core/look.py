"""Going through a long list for a page of it, without going through all of it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rowmq.core import monitor
from rowmq.core.monitor import Place

MOST_AT_ONCE = 5000
"""How many rows are asked for at a time."""


class Spot(NamedTuple):
    """A place in a list and the seq of the message there."""

    place: Place
    seq: int


Look = Callable[[Place | None, int], Sequence[Spot]]
"""The next so many spots behind a place, fewer only if there are no more."""
Choose = Callable[[Sequence[Spot]], Sequence[Spot]]
"""Those of some spots that are wanted, in the same order."""


def gather(look: Look, choose: Choose, place: Place | None, limit: int) -> tuple[list[Spot], Place | None]:
    """Up to ``limit`` spots that are wanted, and where to go on; None if there is no more to look at.

    What is looked at grows from a page to MOST_AT_ONCE at a time, and ends at MOST_LOOKED.
    """
    found: list[Spot] = []
    left, size = monitor.MOST_LOOKED, limit + 1
    while left:
        size = min(size, left)
        spots = look(place, size)
        found += choose(spots)
        if len(found) > limit:
            return found[:limit], found[limit - 1].place
        if len(spots) < size:
            return found, None
        place, left, size = spots[-1].place, left - size, min(4 * size, MOST_AT_ONCE)
    return found, place
