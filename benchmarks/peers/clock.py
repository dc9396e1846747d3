"""When workers had handled how much, read off their ticks: nobody is asked anything while they handle.

The clock is the same for every system. It starts when a tenth has been handled, so that nobody's start
counts and what was taken before counts no more than its share; with the start itself if so much came at once
that it was more than a quarter by then, and the rest would be too few to tell. It ends when as many are
acked as were to be handled. Whether they are is asked for the first time a moment after the last handler: if
so, the clock has ended with that handler, and the few acks after it are made up for by those of the first
tenth. Who is behind with acks pays for all the time until they are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

PART = 10
"""The clock starts when one message in so many has been handled."""
COARSE = 4
"""And with the start, if it was more than one message in so many by then."""
Tick = tuple[int, int]
"""A time in nanoseconds, and how many messages one worker had handled by then."""


class Span(NamedTuple):
    """How many messages were handled in how many seconds."""

    messages: int
    seconds: float

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.messages / max(self.seconds, 1e-6)


def reached(ticks: Sequence[Sequence[Tick]], count: int) -> Tick | None:
    """When workers had handled so many together, and how many it was then.

    >>> reached([[(10, 3), (30, 5)], [(20, 4)]], 6)
    (20, 7)
    """
    done = [0] * len(ticks)
    for time, worker, number in sorted((time, at, n) for at, each in enumerate(ticks) for time, n in each):
        done[worker] = number
        if sum(done) >= count:
            return time, sum(done)
    return None


def span(ticks: Sequence[Sequence[Tick]], count: int, started: int, acked: int = 0) -> Span:
    """From a tenth to all, or to their acks if those are later; from the start where ticks were coarse.

    >>> span([[(1_000_000_000, 10), (3_000_000_000, 100)]], 100, started=0)
    Span(messages=90, seconds=2.0)
    >>> span([[(1_000_000_000, 30), (3_000_000_000, 100)]], 100, started=0)
    Span(messages=100, seconds=3.0)
    >>> span([[(1_000_000_000, 10), (3_000_000_000, 100)]], 100, started=0, acked=9_000_000_000)
    Span(messages=90, seconds=8.0)
    """
    first, last = reached(ticks, max(1, count // PART)), reached(ticks, count)
    if first is None or last is None:
        raise ValueError(f"{count} messages have not been handled")
    if first[1] * COARSE > count:
        first = started, 0
    return Span(last[1] - first[1], (max(last[0], acked) - first[0]) / 1e9)
