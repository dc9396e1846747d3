"""Reading through the store protocol: works with every store, a few thousand messages at a time."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from rowmq.core.history import FailedAttempt, Record
from rowmq.core.outcome import State
from rowmq.core.store import Store
from rowmq.core.where import holds
from rowmq.pipeline.options import ReadOptions
from rowmq.pipeline.reading.arrow_records import OF_ENTRY, OF_FAILURE, message_getters, record_batch

if TYPE_CHECKING:
    import pyarrow as pa

STEP = 256
"""Seqs of the first look; payloads may be large."""
LONGEST_STEP = 8_192
FULL = 8 * 2**20
"""Bytes of payloads that one look should bring."""


def read_messages(
    store: Store, options: ReadOptions, schema: StructType, first: int, last: int, now: datetime
) -> Iterator["pa.RecordBatch"]:
    """The messages of a range of seqs that the options ask for."""
    getters = message_getters(schema)
    for records in _looks(store, options, first, last, now):
        yield record_batch(records, getters, schema)


def read_failures(
    store: Store, options: ReadOptions, schema: StructType, first: int, last: int, now: datetime
) -> Iterator["pa.RecordBatch"]:
    """The failed attempts of those messages."""
    for records in _looks(store, options, first, last, now):
        pairs = list(_failures(store, records))
        if pairs:
            yield record_batch(pairs, OF_FAILURE, schema)


def read_ledger(store: Store, options: ReadOptions, schema: StructType) -> Iterator["pa.RecordBatch"]:
    """The ledger, which is short."""
    yield record_batch(store.history.ledger(options.source), OF_ENTRY, schema)


def _looks(
    store: Store, options: ReadOptions, first: int, last: int, now: datetime
) -> Iterator[list[Record]]:
    """Records by seq, as many at once as their size allows."""
    state = next(iter(options.state)) if len(options.state) == 1 else None
    step = STEP
    while first <= last:
        end = min(last, first + step - 1)
        found = store.history.scan(first, end, queue=options.source, state=state, now=now)
        size = sum(len(each.body or b"") for each in found)
        first, step = end + 1, max(1, min(LONGEST_STEP, step * 2, step * FULL // max(size, 1)))
        chosen = [each for each in found if _is_wanted(each, options, now)]
        if chosen:
            yield chosen


def _is_wanted(record: Record, options: ReadOptions, now: datetime) -> bool:
    """What the protocol's scan is not asked for."""
    since, until = options.created(now)
    return (
        record.state in options.state
        and (since is None or record.created_at >= since)
        and (until is None or record.created_at < until)
        and holds(options.where, record.metadata)
    )


def _failures(store: Store, records: Iterable[Record]) -> Iterator[tuple[Record, FailedAttempt]]:
    """Each record with each of its failures; not asked for where there can be none."""
    for record in records:
        if record.receives > 1 or (record.receives == 1 and record.state != State.DONE):
            for failure in store.history.failures(record.id):
                yield record, failure
