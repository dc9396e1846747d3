"""Finding queues by name and by key, with the store's now."""

from collections.abc import Collection

from rowmq.core.errors import QueueNotFound
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.rows import Kept, kept_queue


def queues_by_name(cursor: Cursor, names: Collection[str], now: int | None) -> dict[str, Kept]:
    """The queues that exist among these names; one with NUL is none, and no parameter for PostgreSQL."""
    possible = [name for name in names if "\0" not in name]
    rows = cursor.all("queues_by_name", names=possible, now=now) if possible else []
    return {kept.name: kept for kept in map(kept_queue, rows)}


def queue_named(cursor: Cursor, name: str, now: int | None) -> Kept:
    """The queue of this name; QueueNotFound if there is none."""
    kept = queues_by_name(cursor, [name], now).get(name)
    if kept is None:
        raise QueueNotFound(name)
    return kept


def queues_by_id(cursor: Cursor, ids: Collection[int], now: int | None) -> dict[int, Kept]:
    """The queues that exist among these keys."""
    rows = cursor.all("queues_by_id", ids=list(ids), now=now) if ids else []
    return {kept.id: kept for kept in map(kept_queue, rows)}


def clock(cursor: Cursor, now: int | None) -> int:
    """The moment given, or the database's own."""
    now = cursor.dialect.clock() if now is None else now
    if now is not None:
        return now
    row = cursor.one("clock")
    assert row is not None  # noqa: S101 - a SELECT without FROM has one row
    result: int = row[0]
    return result
