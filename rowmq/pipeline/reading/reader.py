"""Reading in bulk: ranges of seqs, one for each task, as Arrow batches of the columns asked for."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from rowmq.pipeline.opening import check_origin, store_at
from rowmq.pipeline.options import ReadOptions, given
from rowmq.pipeline.reading.scan import read_failures, read_ledger, read_messages
from rowmq.pipeline.reading.tables import read_tables
from rowmq.pipeline.schema import check_schema

if TYPE_CHECKING:
    import pyarrow as pa

SMALLEST = 1_000
"""Seqs below which a range is not worth a task."""
LARGEST = 250_000
"""Seqs above which a range is too much to do again if its task fails."""


@dataclass(frozen=True)
class SeqRange(InputPartition):
    """The messages that one task reads, and the moment at which their states are told."""

    first: int
    last: int
    now: datetime


class BatchReader(DataSourceReader):
    """Reads what is in the store now.

    The ranges are fixed once, with one moment for all of them, but each is read by itself: a message that is
    finished meanwhile is seen as it was or as it is, once, never twice.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._options = given(ReadOptions, options)
        self._schema = schema
        check_schema(schema, self._options.table)

    def partitions(self) -> Sequence[InputPartition]:
        """Ranges of seqs that together hold everything there is."""
        store = store_at(self._options.address())
        check_origin(store, self._options)
        now = store.now()
        if self._options.table == "ledger":
            return [SeqRange(0, 0, now)]
        first, last = store.history.bounds()
        first, last = max(first, self._options.first_seq or 1), min(last, self._options.last_seq or last)
        return [SeqRange(*each, now) for each in ranges(first, last, self._options.partitions)]

    def read(self, partition: Any) -> Iterator["pa.RecordBatch"]:
        """The rows of one range."""
        if not isinstance(partition, SeqRange):  # what Spark makes of no partitions at all
            return iter(())
        options, schema, what = self._options, self._schema, (partition.first, partition.last, partition.now)
        if options.table == "ledger":
            return read_ledger(store_at(options.address()), options, schema)
        batches = read_tables(options, schema, *what)
        if batches is not None:
            return batches
        read = read_messages if options.table == "messages" else read_failures
        return read(store_at(options.address()), options, schema, *what)


def ranges(first: int, last: int, count: int | None = None) -> list[tuple[int, int]]:
    """About so many equal ranges of seqs, or as many as keep the cores of this machine busy."""
    length = last - first + 1
    if length <= 0:
        return []
    fitting = max(2 * (os.cpu_count() or 1), -(-length // LARGEST))
    chosen = min(length, count) if count else max(1, min(fitting, length // SMALLEST))
    edges = [first + length * part // chosen for part in range(chosen + 1)]
    return [(low, high - 1) for low, high in pairwise(edges)]
