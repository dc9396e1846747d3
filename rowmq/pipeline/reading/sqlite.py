"""Reading an SQLite file with Python's own driver.

ADBC would be faster, but brings another copy of SQLite, and when that closes the file, the system drops the
locks that the first copy has on it in the same process.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from rowmq.core.errors import StoreUnavailable
from rowmq.pipeline.reading.look import FULL, MOST_ROWS, Look

FIRST = 256
"""Rows of the first batch; payloads may be large."""
_TEXTS = ("queue", "state", "metadata", "group", "key", "consumer", "reason", "source", "error")
_BYTES = ("id", "body", "result")


def read_sqlite(look: Look) -> Iterator[pa.RecordBatch]:
    """The rows of a statement, in batches bounded by their bytes."""
    schema = pa.schema([(name, _kind(name)) for name in look.columns])
    with closing(_opened(Path(str(look.url.database)))) as connection:
        cursor, count = connection.execute(look.sql), FIRST
        while rows := cursor.fetchmany(count):
            columns = zip(*rows, strict=True)
            arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
            batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
            yield batch
            count = max(1, min(MOST_ROWS, count * 2, count * FULL // max(batch.nbytes, 1)))


def _kind(name: str) -> pa.DataType:
    if name in _TEXTS:
        return pa.string()
    return pa.binary() if name in _BYTES else pa.int64()


def _opened(path: Path) -> sqlite3.Connection:
    """A connection that writes nothing, and does not make a file where there is none."""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=30)
        connection.execute("PRAGMA query_only = 1")
    except sqlite3.OperationalError as error:
        raise StoreUnavailable(
            f"{path} cannot be opened on this machine ({error}): Spark reads SQLite where the file is, so use"
            " a local master, or a database server"
        ) from None
    return connection
