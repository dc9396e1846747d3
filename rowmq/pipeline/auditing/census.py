"""A census of a store on executors: for each seq, whether it is owed, finished, both or neither."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

import pyarrow as pa

from rowmq.core.outcome import State
from rowmq.core.store import Store
from rowmq.pipeline.opening import store_at
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.store import SQLStore

COLUMNS = "seq long, id string, kind string"
OWED, FINISHED, BOTH, NEITHER, STRAY = "owed", "finished", "both", "neither", "stray"
"""Stray is what is owed or finished and is no message."""
STEP = 20_000
_SCHEMA = pa.schema([("seq", pa.int64()), ("id", pa.string()), ("kind", pa.string())])
_MESSAGES = """
SELECT m.seq, m.id, p.seq, o.seq FROM rowmq_messages m
LEFT JOIN rowmq_pending p ON p.seq = m.seq
LEFT JOIN rowmq_outcomes o ON o.seq = m.seq
WHERE m.seq BETWEEN :first AND :last
"""
_STRAYS = """
SELECT x.seq FROM (
    SELECT seq FROM rowmq_pending WHERE seq BETWEEN :first AND :last
    UNION SELECT seq FROM rowmq_outcomes WHERE seq BETWEEN :first AND :last
) x LEFT JOIN rowmq_messages m ON m.seq = x.seq WHERE m.seq IS NULL
"""
Row = tuple[int, str | None, str]


def is_exact(store: Store) -> bool:
    """Whether the tables themselves can be looked at, also for what no queue shows."""
    return isinstance(store, SQLStore)


def census(url: str, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The messages of the ranges that a task is given; ids only where something is wrong."""
    store = store_at(url)
    for first, last in ((row["first"], row["last"]) for batch in given for row in batch.to_pylist()):
        for start in range(first, last + 1, STEP):
            rows = look(store, start, min(last, start + STEP - 1))
            columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, each.type) for column, each in zip(columns, _SCHEMA, strict=True)],
                schema=_SCHEMA,
            )


def look(store: Store, first: int, last: int) -> Sequence[Row]:
    """Each message of a range of seqs, and what it is."""
    if isinstance(store, SQLStore):
        return store.database.read(lambda cursor: _tables(cursor, {"first": first, "last": last}))
    return [
        (each.seq, None, FINISHED if each.state in (State.DONE, State.DEAD) else OWED)
        for each in store.history.scan(first, last)
    ]


def _tables(cursor: Cursor, within: dict[str, int]) -> list[Row]:
    cursor.raw.execute(cursor.dialect.style(_MESSAGES), within)
    rows = [_row(*row) for row in cursor.raw.fetchall()]
    cursor.raw.execute(cursor.dialect.style(_STRAYS), within)
    return rows + [(seq, None, STRAY) for (seq,) in cursor.raw.fetchall()]


def _row(seq: int, id: Any, owed: int | None, finished: int | None) -> Row:
    if owed is None and finished is None:
        return seq, _text(id), NEITHER
    if owed is not None and finished is not None:
        return seq, _text(id), BOTH
    return seq, None, FINISHED if owed is None else OWED


def _text(id: Any) -> str:
    return str(id if isinstance(id, UUID) else UUID(bytes=bytes(id)))
