"""Messages alike, inserted by one statement for each table.

With rows of parameters SQLite's module takes a statement for every few, and lets go of the interpreter at
each: a busy process's other threads then have it for a while.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.dialect import Fresh
from rowmq.stores.sqlite.whole import LONGEST

FEWEST = 4
"""Messages for which it is worth it."""
EMPTY = ("metadata", "group_name", "dedup_key", "scheduled_for", "deadline", "parked_until", "group_id")
"""What such messages have not."""


def insert_alike(cursor: Cursor, rows: Sequence[Fresh], first: int) -> bool:
    """Insert messages of one queue that are due as they come; False, and nothing done, if some are not."""
    if len(rows) < FEWEST or not _are_alike(said := _columns(rows)):
        return False
    common = {"first": first, "queue": rows[0].queue, "places": _places(said), "now": rows[0].created_at}
    # A body may be empty, and SQLite makes NULL of any part of nothing.
    bodies = b"".join([*said.body, b"."])
    cursor.run("insert_alike", ids=b"".join(said.id), bodies=bodies, **common)
    cursor.run("insert_alike_pending", **common)
    return True


def _columns(rows: Sequence[Fresh]) -> Any:
    return Fresh._make(zip(*rows, strict=True))


def _are_alike(said: Any) -> bool:
    return (
        len(set(said.queue)) == len(set(said.created_at)) == 1
        and said.visible_at == said.created_at
        and all(set(getattr(said, name)) == {None} for name in EMPTY)
        and max(map(len, said.body)) <= LONGEST
    )


def _places(said: Any) -> list[int]:
    """A number for each message: where its body starts, its length, its priority, whether it is binary."""
    lengths = list(map(len, said.body))
    parts = zip(accumulate(lengths, initial=0), lengths, said.priority, said.binary, strict=False)
    return [start << 29 | length << 5 | priority << 1 | binary for start, length, priority, binary in parts]
