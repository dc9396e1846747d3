"""A handler for each message of a stream."""

import base64
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from rowmq.core.delivery import Delivery
from rowmq.core.errors import InvalidSetting
from rowmq.pipeline.handlers.handling import Handled, Handling
from rowmq.pipeline.opening import absolute, store_at
from rowmq.pipeline.options import Place
from rowmq.pipeline.stream.receipt import receipt_from
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.registry import Job, is_async

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Handler = Callable[[ClaimedMessage], Any]
NEEDED = (
    "seq", "id", "queue", "payload", "binary", "metadata", "priority", "group", "created_at", "deadline",
    "visible_at", "attempts", "receives", "source", "max_attempts", "receipt",
)  # fmt: skip
"""The columns of a stream that make a message again."""
RESULTS = "seq bigint, id string, queue string, attempts int, result string"


def handled(
    messages: "DataFrame", handler: Handler, *, url: str | None = None, url_env: str | None = None
) -> "DataFrame":
    """Run a handler for each message of a stream, on the executors: the results of those that succeeded.

    The handler gets a ClaimedMessage and may do what a worker's may. One that raises does not stop the query:
    its message is retried after the queue's backoff or buried, at once and alone, and has no row here. The
    rows are ``seq, id, queue, attempts`` and ``result``, what the handler returned as JSON text.
    """
    place = Place(url=None if url is None else absolute(url), url_env=url_env)
    place.address()
    _check(messages.schema)
    run = partial(_run, place, handler)
    return messages.select(*NEEDED).mapInArrow(run, RESULTS)


def _check(schema: "StructType") -> None:
    missing = [name for name in NEEDED if name not in schema.fieldNames()]
    if missing:
        raise InvalidSetting(
            f"a handler needs all columns of a stream of rowmq, and {', '.join(missing)} are missing:"
            " select and filter its results instead"
        )
    if schema["payload"].dataType.typeName() not in ("string", "binary"):
        raise InvalidSetting(
            "a handler gets the payload as it was pushed: read the stream without payloadSchema"
        )


def _run(place: Place, handler: Handler, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    name = getattr(handler, "__qualname__", repr(handler))
    job = Job(name, handler, is_async(handler), results=True)
    handling = Handling(store_at(place.address()), lambda _: job)
    for batch in batches:
        yield _results(handling.run(map(_delivery, batch.to_pylist())))


def _delivery(row: dict[str, Any]) -> Delivery:
    """The message that a row of a stream was made of."""
    receipt = receipt_from(row["receipt"])
    return Delivery(
        seq=receipt.seq,
        token=receipt.token,
        queue=row["queue"],
        uid=UUID(row["id"]).bytes,
        body=_body(row["payload"], binary=row["binary"]),
        binary=row["binary"],
        metadata=dict(row["metadata"] or ()),
        attempt=row["attempts"],
        max_attempts=row["max_attempts"],
        receives=row["receives"],
        priority=row["priority"],
        group=row["group"],
        created_at=_moment(row["created_at"]),
        deadline=None if row["deadline"] is None else _moment(row["deadline"]),
        lease_until=_moment(row["visible_at"]),
        source=row["source"],
    )


def _body(payload: str | bytes, *, binary: bool) -> bytes:
    if isinstance(payload, bytes):
        return payload
    return base64.b64decode(payload) if binary else payload.encode()


def _moment(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _results(handled: list[Handled]) -> "pa.RecordBatch":
    import pyarrow as pa  # noqa: PLC0415 - on executors

    rows = [(each.delivery, each.result) for each in handled]
    return pa.RecordBatch.from_arrays(
        [
            pa.array([delivery.seq for delivery, _ in rows], pa.int64()),
            pa.array([str(delivery.id) for delivery, _ in rows], pa.string()),
            pa.array([delivery.queue for delivery, _ in rows], pa.string()),
            pa.array([delivery.attempt for delivery, _ in rows], pa.int32()),
            pa.array([None if result is None else result.decode() for _, result in rows], pa.string()),
        ],
        names=["seq", "id", "queue", "attempts", "result"],
    )
