"""A queue as a stream: its messages in micro-batches, each acked once Spark has committed it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from rowmq.core.delivery import Delivery
from rowmq.core.errors import InvalidSetting
from rowmq.core.outcome import State
from rowmq.pipeline.opening import store_at
from rowmq.pipeline.options import given
from rowmq.pipeline.reading.arrow_records import Getter, payload_getter, record_batch
from rowmq.pipeline.schema import PAYLOAD, READ, check_schema
from rowmq.pipeline.stream.options import StreamOptions
from rowmq.pipeline.stream.parcel import Parcel, is_repeated, parcels, slices, still_held
from rowmq.pipeline.stream.receipt import receipt_text
from rowmq.pipeline.stream.run import Offset, StreamRun

if TYPE_CHECKING:
    import pyarrow as pa


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """What Spark asks of a stream; the driver keeps one for a query, and executors only read."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._options = given(StreamOptions, options)
        self._schema = schema
        check_schema(schema, "messages")

    @cached_property
    def _run(self) -> StreamRun:
        """Opened when it is first used, in the process that keeps it."""
        return StreamRun(store_at(self._options.address()), self._options)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_run"}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where a query without a checkpoint begins."""
        return dict(self._run.first())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """How many messages a batch has at most."""
        return ReadMaxRows(self._options.max_rows)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """End with what is there now."""
        self._run.stop_at_present()

    def latestOffset(self, start: Any, limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Ack what ends at ``start``, and claim what comes next."""
        if isinstance(limit, ReadAllAvailable):
            raise InvalidSetting(
                "trigger(once=True) ends before its batch can be acked: use trigger(availableNow=True)"
            )
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else self._options.max_rows
        return dict(self._run.advance(_offset(start), rows))

    def partitions(self, start: Any, end: Any) -> Sequence[InputPartition]:
        """The messages of a batch, a part for each task."""
        batch = None if start == end else self._run.plan(_offset(end))
        return [] if batch is None else parcels(batch, self._options.partitions)

    def read(self, partition: Any) -> "Iterator[pa.RecordBatch]":
        """The messages of one part, those that are still ours if the task has run before."""
        if not isinstance(partition, Parcel):  # what Spark makes of no partitions at all
            return
        deliveries = partition.open()
        if is_repeated():
            deliveries = still_held(store_at(self._options.address()), deliveries, partition.lease)
        getters = delivery_getters(self._schema)
        for piece in slices(deliveries):
            yield record_batch(piece, getters, self._schema)

    def commit(self, end: Any) -> None:
        """Nothing: it comes too late, and for the last batch never."""

    def stop(self) -> None:
        """Nothing: it is not always called, and leases end by themselves."""


def delivery_getters(schema: StructType) -> Mapping[str, Getter]:
    """How each column is got from a Delivery, the payload as the schema wants it."""
    if PAYLOAD not in schema.fieldNames():
        return _OF_DELIVERY
    return {**_OF_DELIVERY, PAYLOAD: payload_getter(schema[PAYLOAD].dataType)}


def _offset(said: Any) -> Offset:
    return {"q": str(said["q"]), "n": int(said["n"])}


def _nothing(_delivery: Delivery) -> None:
    """What a holder does not know."""


_OF_DELIVERY: dict[str, Getter] = {
    **dict.fromkeys(READ.fieldNames(), _nothing),
    **{name: attrgetter(name) for name in Delivery._fields if name in READ.fieldNames()},
    "id": lambda delivery: str(delivery.id),
    "state": lambda _: State.LEASED.value,
    "metadata": lambda delivery: list(delivery.metadata.items()),
    "attempts": attrgetter("attempt"),
    "visible_at": attrgetter("lease_until"),
    "receipt": lambda delivery: receipt_text(delivery.receipt),
}
