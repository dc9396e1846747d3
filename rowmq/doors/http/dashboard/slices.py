"""Work on any number of messages, as much of it as one request has time for."""

import time
from collections.abc import Callable
from typing import NamedTuple

SLICE = 5000
"""How many messages are changed at a time."""
PATIENCE = 10.0
"""Seconds after which what is left is left for the next request."""
SHARE = 3
"""The part of the time a request may take that this is, at most."""


class Slices(NamedTuple):
    """How many messages were changed, and whether there may be more."""

    done: int
    more: bool


def in_time(change: Callable[[int], int], limit: int | None = None, within: float | None = None) -> Slices:
    """Change up to so many, or all, for as long as there is time; ``change`` is told how many at most.

    A change of fewer than that was the last.
    """
    end = time.monotonic() + (PATIENCE if within is None else min(PATIENCE, within / SHARE))
    count = 0
    while limit is None or count < limit:
        most = SLICE if limit is None else min(SLICE, limit - count)
        done = change(most)
        count += done
        if done < most:
            return Slices(count, more=False)
        if time.monotonic() >= end:
            return Slices(count, more=limit is None or count < limit)
    return Slices(count, more=False)
