"""Messages alike, inserted by one statement for each table, or for both.

With rows of parameters SQLite's module takes a statement for every few, and lets go of the interpreter at
each: a busy process's other threads then have it for a while.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.dialect import Due, Fresh, Stored
from rowmq.stores.sqlite.whole import LONGEST

FEWEST = 4
"""Messages for which it is worth it."""
EMPTY = ("metadata", "group_name", "dedup_key", "scheduled_for", "deadline", "parked_until", "group_id")
"""What such messages have not."""


def push_alike(cursor: Cursor, queue: str, rows: Sequence[Due], now: int | None) -> Stored | None:
    """Push messages that are due as they come in one step, which finds the queue and commits.

    None, and nothing done, if there is no such queue, or if it or one of them has more to say.
    """
    said: Any = Due._make(zip(*rows, strict=True))
    if not (_have_no(said, "metadata", "deadline") and _are_short(said)):
        return None
    cursor.at_once("insert_at_once", name=queue, now=now, **_parts(said))
    found = cursor.at_once("inserted_at_once").fetchone()
    return Stored(found[0], list(range(found[1], found[1] + len(rows)))) if found else None


def insert_alike(cursor: Cursor, rows: Sequence[Fresh], first: int) -> bool:
    """Insert messages of one queue that are due as they come; False, and nothing done, if some are not."""
    if len(rows) < FEWEST or not _are_alike(said := Fresh._make(zip(*rows, strict=True))):
        return False
    common = {"first": first, "queue": rows[0].queue, "now": rows[0].created_at}
    parts = _parts(said)
    cursor.run("insert_alike", **common, **parts)
    cursor.run("insert_alike_pending", **common, places=parts["places"])
    return True


def _are_alike(said: Any) -> bool:
    return (
        len(set(said.queue)) == len(set(said.created_at)) == 1
        and said.visible_at == said.created_at
        and _have_no(said, *EMPTY)
        and _are_short(said)
    )


def _have_no(said: Any, *names: str) -> bool:
    return all(set(getattr(said, name)) == {None} for name in names)


def _are_short(said: Any) -> bool:
    return max(map(len, said.body)) <= LONGEST


def _parts(said: Any) -> dict[str, Any]:
    """Ids and bodies one behind the other, and a number for each message.

    It says where its body starts, its length, its priority and whether it is binary.
    """
    lengths = list(map(len, said.body))
    each = zip(accumulate(lengths, initial=0), lengths, said.priority, said.binary, strict=False)
    return {
        "ids": b"".join(said.id),
        # A body may be empty, and SQLite makes NULL of any part of nothing.
        "bodies": b"".join([*said.body, b"."]),
        "places": [
            start << 29 | length << 5 | priority << 1 | binary for start, length, priority, binary in each
        ],
    }
