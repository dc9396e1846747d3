"""A census of a store on executors: for each seq, whether it is owed, finished, both or neither."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

import pyarrow as pa

from rowmq.core.clock import micros
from rowmq.core.outcome import State
from rowmq.core.store import Store
from rowmq.pipeline.auditing.scope import Scope
from rowmq.pipeline.opening import store_at
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.store import SQLStore

COLUMNS = "seq long, id string, kind string, here boolean"
OWED, FINISHED, BOTH, NEITHER, STRAY = "owed", "finished", "both", "neither", "stray"
"""Stray is what is owed or finished and is no message."""
STEP = 20_000
_SCHEMA = pa.schema([("seq", pa.int64()), ("id", pa.string()), ("kind", pa.string()), ("here", pa.bool_())])
_MESSAGES = """
SELECT m.seq, m.id, p.seq, o.seq, COALESCE(p.queue, o.queue, m.queue), m.created_at FROM rowmq_messages m
LEFT JOIN rowmq_pending p ON p.seq = m.seq
LEFT JOIN rowmq_outcomes o ON o.seq = m.seq
WHERE m.seq BETWEEN :first AND :last
"""
_STRAYS = """
SELECT DISTINCT x.seq, x.queue FROM (
    SELECT seq, queue FROM rowmq_pending WHERE seq BETWEEN :first AND :last
    UNION SELECT seq, queue FROM rowmq_outcomes WHERE seq BETWEEN :first AND :last
) x LEFT JOIN rowmq_messages m ON m.seq = x.seq WHERE m.seq IS NULL
"""
_NAMES = "SELECT id, name FROM rowmq_queues"
Row = tuple[int, str | None, str, bool]


def is_exact(store: Store) -> bool:
    """Whether the tables themselves can be looked at, also for what no queue shows."""
    return isinstance(store, SQLStore)


def census(url: str, scope: Scope, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The messages of the ranges that a task is given; ids only where something is wrong.

    ``here`` says whether a message is in the scope.
    """
    store = store_at(url)
    for first, last in ((row["first"], row["last"]) for batch in given for row in batch.to_pylist()):
        for start in range(first, last + 1, STEP):
            rows = look(store, scope, start, min(last, start + STEP - 1))
            columns = list(zip(*rows, strict=True)) if rows else [()] * len(_SCHEMA)
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, each.type) for column, each in zip(columns, _SCHEMA, strict=True)],
                schema=_SCHEMA,
            )


def look(store: Store, scope: Scope, first: int, last: int) -> Sequence[Row]:
    """Each message of a range of seqs, and what it is."""
    if isinstance(store, SQLStore):
        return store.database.read(lambda cursor: _tables(cursor, scope, {"first": first, "last": last}))
    return [
        (
            each.seq,
            None,
            FINISHED if each.state in (State.DONE, State.DEAD) else OWED,
            scope.has(each.queue, micros(each.created_at)),
        )
        for each in store.history.scan(first, last)
    ]


def _tables(cursor: Cursor, scope: Scope, within: dict[str, int]) -> list[Row]:
    cursor.raw.execute(_NAMES)
    names = dict(cursor.raw.fetchall())
    cursor.raw.execute(cursor.dialect.style(_MESSAGES), within)
    rows = [
        (seq, *_kind(id, owed, finished), scope.whole or scope.has(names.get(queue), created))
        for seq, id, owed, finished, queue, created in cursor.raw.fetchall()
    ]
    cursor.raw.execute(cursor.dialect.style(_STRAYS), within)
    strays = dict(cursor.raw.fetchall())  # one that is owed in a queue and finished in another is one
    return rows + [(seq, None, STRAY, scope.has(names.get(queue), None)) for seq, queue in strays.items()]


def _kind(id: Any, owed: int | None, finished: int | None) -> tuple[str | None, str]:
    if owed is None and finished is None:
        return _text(id), NEITHER
    if owed is not None and finished is not None:
        return _text(id), BOTH
    return None, FINISHED if owed is None else OWED


def _text(id: Any) -> str:
    return str(id if isinstance(id, UUID) else UUID(bytes=bytes(id)))
