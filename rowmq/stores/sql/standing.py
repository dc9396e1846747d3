"""How queues stand, without counting more than MOST_COUNTED messages of a state in all of them."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import NamedTuple

from rowmq.core import monitor
from rowmq.core.monitor import Counts
from rowmq.stores.sql.cursor import Cursor, Row
from rowmq.stores.sql.rows import Kept


class Waiting(NamedTuple):
    """Pending messages that were counted, and when the first ready one became so."""

    ready: int = 0
    scheduled: int = 0
    leased: int = 0
    oldest: int | None = None

    @property
    def seen(self) -> int:
        """How many there are in all states."""
        return self.ready + self.scheduled + self.leased

    def plus(self, other: "Waiting") -> "Waiting":
        """Both."""
        times = [time for time in (self.oldest, other.oldest) if time is not None]
        return Waiting(
            self.ready + other.ready,
            self.scheduled + other.scheduled,
            self.leased + other.leased,
            min(times, default=None),
        )


def standing(cursor: Cursor, queues: Sequence[Kept]) -> dict[str, Counts]:
    """How these queues stand, by name."""
    if not queues:
        return {}
    by_id = {kept.id: kept.name for kept in queues}
    most, now = max(1, monitor.MOST_COUNTED // len(by_id)), queues[0].now
    rows = {row[0]: row for row in _counted(cursor, list(by_id), now, most)}
    # What those with little have left over is for those with much: together they share what one may count.
    full = [id for id, row in rows.items() if _waiting(row[1:-1]).seen >= most or row[-1] >= most]
    more = most + (most * len(rows) - sum(map(_seen, rows.values()))) // len(full) if full else most
    rows |= {row[0]: row for row in (_counted(cursor, full, now, more) if more > most else ())}
    shares = dict.fromkeys(full, more)
    return {by_id[id]: _counts(cursor, row, now, shares.get(id, most)) for id, row in rows.items()}


def _counted(cursor: Cursor, queues: Sequence[int], now: int, most: int) -> list[Row]:
    return cursor.dialect.for_each(cursor, "count_some", queues, now=now, limit=most)


def _seen(row: Row) -> int:
    """How many of the messages that may be counted a queue has needed."""
    return max(_waiting(row[1:-1]).seen, int(row[-1]))


def _counts(cursor: Cursor, row: Row, now: int, most: int) -> Counts:
    queue, *counted, dead = row
    parts = [_waiting(counted)]
    if parts[0].seen >= most:
        parts = _one_by_one(cursor, queue, now, most)
    total = Waiting()
    for part in parts:
        total = total.plus(part)
    age = None if total.oldest is None else timedelta(microseconds=now - total.oldest)
    more = dead >= most or any(part.seen >= most for part in parts)
    ready, scheduled, leased, died = (min(count, most) for count in (*total[:3], dead))
    return Counts(ready, scheduled, leased, died, age, more)


def _one_by_one(cursor: Cursor, queue: int, now: int, most: int) -> list[Waiting]:
    """Count what is due, what comes later and what is parked each for itself, so that none hides another."""
    parts = {name: Waiting() for name in ("count_due", "count_later", "count_parked")}
    for (priority,) in cursor.all("priorities", queue=queue):
        for name, part in parts.items():
            said = {"queue": queue, "priority": priority, "now": now, "limit": most - part.seen}
            row = cursor.one(name, **said) if part.seen < most else None
            parts[name] = part if row is None else part.plus(_waiting(row))
    return list(parts.values())


def _waiting(row: Iterable[int | None]) -> Waiting:
    """A row of counts: of no rows a sum is NULL, and MySQL's are decimals."""
    *counts, oldest = row
    ready, scheduled, leased = (int(count or 0) for count in counts)
    return Waiting(ready, scheduled, leased, oldest)
