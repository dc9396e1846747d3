"""Daily partitions: made ahead, and dropped whole once everything in them may go."""

from rowmq.core.clock import span
from rowmq.core.store import IDS_KEPT
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.database import Database
from rowmq.stores.sql.deleting import note
from rowmq.stores.sql.lookup import clock
from rowmq.stores.sql.queries import resource

AHEAD = 3
"""How many days are made before they come."""
WIDTH = 33
"""A day has 2 ** 33 seqs."""
_DAY = 86_400_000_000


def is_partitioned(cursor: Cursor) -> bool:
    """Whether this database's tables are partitioned."""
    row = cursor.one("partitioned")
    return row is not None and bool(row[0])


def set_up_partitions(cursor: Cursor, package: str) -> None:
    """Make empty tables partitioned, with the partitions of today and the next days."""
    cursor.dialect.script(cursor.raw, resource(package, "partitions.sql").read_text())
    make_days(cursor, clock(cursor, None))


def make_days(cursor: Cursor, now: int) -> None:
    """Make today's and the next days' partitions, and let the seqs of today begin."""
    cursor.one("days_lock")
    today = now // _DAY
    there = {row[0] for row in cursor.all("days")}
    for day in range(today, today + AHEAD + 1):
        if day not in there:
            cursor.one("make_day", day=day)
    cursor.all("start_day", base=today << WIDTH)


def drop_days(database: Database, now: int) -> int:
    """Drop each past day that nobody needs; how many finished messages went with them."""
    days = database.read(lambda cursor: cursor.all("days"))
    past = [row[0] for row in days if row[0] < now // _DAY]
    return sum(database.run(lambda cursor, day=day: _drop_day(cursor, day, now)) for day in past)  # type: ignore[misc]


def _drop_day(cursor: Cursor, day: int, now: int) -> int:
    """Drop a day if everything in it is finished and past its retention, looking again under lock."""
    said = {"first": day << WIDTH, "last": (day + 1) << WIDTH, "now": now, "ids_kept": span(IDS_KEPT)}
    if (
        _is_needed(cursor, said)
        or not (cursor.one("lock_day", day=day) or (False,))[0]
        or _is_needed(cursor, said)
    ):
        return 0
    total = 0
    for queue, count, first, last in cursor.all("day_counts", first=said["first"], last=said["last"]):
        note(cursor, queue, "retention", count, first, last, now)
        total += count
    cursor.one("drop_day", day=day)
    return total


def _is_needed(cursor: Cursor, said: dict[str, int]) -> bool:
    row = cursor.one("day_is_needed", **said)
    return row is None or bool(row[0])
