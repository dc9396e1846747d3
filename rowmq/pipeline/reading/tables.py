"""Reading from the tables of an SQL store, with the driver that is fastest there."""

import importlib
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import chain

import pyarrow as pa
from pyspark.sql.types import StructType
from sqlalchemy.engine import make_url

from rowmq.core.errors import InvalidURL
from rowmq.pipeline.options import ReadOptions
from rowmq.pipeline.reading.arrow_columns import Decoder, raw_columns
from rowmq.pipeline.reading.look import Look, Unreadable
from rowmq.pipeline.reading.statement import known_columns, statement
from rowmq.stores.opening import dialect_of

_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgres", "mysql": "mysql"}


def read_tables(
    options: ReadOptions, schema: StructType, first: int, last: int, now: datetime
) -> Iterator[pa.RecordBatch] | None:
    """What the options ask for of a range of seqs; None if the store has no tables, or no driver for them."""
    kind = _kind(options.address())
    if kind is None:
        return None
    columns = known_columns(raw_columns(schema, options.where), options)
    sql = statement(kind, columns, options, first, last, now)
    look = Look(make_url(options.address()), sql, columns, first, last)
    try:
        raw = _begun(_driver(kind)(look))
    except Unreadable:
        return None
    return map(Decoder(schema, options.where).decode, raw)


def _kind(url: str) -> str | None:
    try:
        return dialect_of(url)
    except InvalidURL:
        return None


def _driver(kind: str) -> Callable[[Look], Iterator[pa.RecordBatch]]:
    """Imported for its own database alone: another's packages may not be installed."""
    name = _DRIVERS[kind]
    found: Callable[[Look], Iterator[pa.RecordBatch]] = getattr(
        importlib.import_module(f"rowmq.pipeline.reading.{name}"), f"read_{name}"
    )
    return found


def _begun(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same, with the first one read, so that a driver that cannot do it has said so."""
    first = next(batches, None)
    return iter(()) if first is None else chain([first], batches)
