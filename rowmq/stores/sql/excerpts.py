"""Beginnings and ends of what may be long: read no further than it is shown."""

import base64

from rowmq.core import monitor
from rowmq.core.clock import moment
from rowmq.core.excerpt import GAP, half_of
from rowmq.core.history import FailedAttempt
from rowmq.core.monitor import LONGEST_EXCERPT, Excerpt, Failures, Plan
from rowmq.stores.sql.cursor import Cursor, Row

IN_BASE64 = (LONGEST_EXCERPT + 2) // 3 * 4
"""How many characters have an excerpt in them."""


def excerpts(cursor: Cursor, ids: list[int], longest: int) -> list[tuple[int, Excerpt]]:
    """Failures by their numbers, oldest first, each with the seq of its message."""
    if not ids:
        return []
    cutting = {"longest": longest, "half": half_of(longest), "gap": GAP}
    return [(row[0], _excerpt(row)) for row in cursor.all("failures_shown", ids=ids, **cutting)]


def last_of(cursor: Cursor, seq: int, limit: int, longest: int) -> Failures:
    """The last failures of a message, and how many there are."""
    ids = [row[0] for row in cursor.all("failures_last", seq=seq, limit=limit)]
    counted = cursor.one("failures_count", seq=seq, most=monitor.MOST_LOOKED) or (0,)
    return Failures([each for _, each in excerpts(cursor, ids, longest)], counted[0])


def plans(cursor: Cursor, queue: str | None) -> list[Plan]:
    """Schedules by name."""
    rows = cursor.all("plans", queue=queue, excerpt=IN_BASE64, limit=monitor.MOST_SCHEDULES)
    return sorted(map(_plan, rows))


def _excerpt(row: Row) -> Excerpt:
    _, attempt, queue, consumer, started, ended, error, size, is_cut = row
    begun = None if started is None else moment(started)
    known = FailedAttempt(attempt, queue, consumer, begun, moment(ended), error)
    return Excerpt(known, size, is_cut=bool(is_cut))


def _plan(row: Row) -> Plan:
    name, queue, spec, next_at, paused, body, binary, length = row
    begin = base64.b64decode(body)[:LONGEST_EXCERPT]
    return Plan(name, queue, spec, moment(next_at), bool(paused), begin, bool(binary), length * 3 // 4)
