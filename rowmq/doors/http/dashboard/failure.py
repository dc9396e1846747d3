"""How a failed attempt is shown: its last word first, and the traceback where one asks for it."""

from datetime import timedelta
from typing import NamedTuple

from rowmq.core.excerpt import GAP
from rowmq.core.history import FailedAttempt
from rowmq.core.monitor import Excerpt
from rowmq.doors.http.dashboard.payload import lines
from rowmq.doors.http.dashboard.words import visible

LONGEST_HEADLINE = 300
TRACEBACK = "Traceback (most recent call last)"


class Failure(NamedTuple):
    """A failed attempt as it is shown."""

    attempt: FailedAttempt
    headline: str
    text: str | None
    """All of it, if the headline is not all."""
    size: int
    """Bytes of the error, all of it."""
    is_cut: bool

    @property
    def took(self) -> timedelta | None:
        """How long it ran, if that is known."""
        begun = self.attempt.started_at
        return None if begun is None else self.attempt.ended_at - begun


def failure(known: Excerpt) -> Failure:
    """A failed attempt as it is shown."""
    error = known.attempt.error
    first = headline(error)
    whole = first == error.strip()
    return Failure(known.attempt, first, None if whole else lines(error), known.size, known.is_cut)


def headline(error: str) -> str:
    r"""What went wrong, in a line: the last of a traceback, the first of anything else.

    >>> headline("Traceback (most recent call last):\n  File ...\nValueError: no address\n")
    'ValueError: no address'
    >>> headline("no route\nto host")
    'no route'
    """
    said = [line for line in error.splitlines() if line.strip() not in ("", GAP.strip())] or [""]
    if TRACEBACK not in error:
        return _short(said[0])
    # What an exception says may go on for lines, which are not indented like the frames before it.
    frames = [place for place, line in enumerate(said) if line.startswith("  ") or TRACEBACK in line]
    after = said[frames[-1] + 1 :]
    return _short(after[0] if after else said[-1])


def _short(line: str) -> str:
    text = line.strip()
    return visible(text if len(text) <= LONGEST_HEADLINE else f"{text[:LONGEST_HEADLINE]}…")
