"""Values of the engine as Arrow batches."""

import base64
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa
from pyspark.sql.types import BinaryType, DataType, StringType, StructType

from rowmq.core.history import FailedAttempt, Record
from rowmq.pipeline.reading.arrow_json import parse
from rowmq.pipeline.schema import PAYLOAD, arrow_schema

Getter = Callable[[Any], Any]


def record_batch(rows: Sequence[Any], getters: Mapping[str, Getter], schema: StructType) -> pa.RecordBatch:
    """The columns of a schema, each got from every row."""
    arrow = arrow_schema(schema)
    columns = [pa.array(map(getters[each.name], rows), each.type) for each in arrow]
    return pa.RecordBatch.from_arrays(columns, schema=arrow)


def message_getters(schema: StructType) -> Mapping[str, Getter]:
    """How each column is got from a Record, the payload as the schema wants it."""
    if PAYLOAD not in schema.fieldNames():
        return _OF_RECORD
    return _OF_RECORD | {PAYLOAD: payload_getter(schema[PAYLOAD].dataType)}


def payload_getter(kind: DataType) -> Getter:
    """How the payload is got from anything with a body and a binary flag, as text, bytes or parsed."""
    if isinstance(kind, BinaryType):
        return attrgetter("body")
    if isinstance(kind, StringType):
        return payload_text
    return lambda record: None if record.binary or record.body is None else parse(record.body, kind)


def payload_text(record: Any) -> str | None:
    """The payload's JSON text as it was pushed; base64 if it is binary, None once it is dropped."""
    if record.body is None:
        return None
    return base64.b64encode(record.body).decode() if record.binary else bytes(record.body).decode()


def _text(name: str) -> Getter:
    """Names and ids as text."""

    def get(record: Any) -> str | None:
        value = getattr(record, name)
        return None if value is None else str(value)

    return get


def _second(name: str) -> Getter:
    get = attrgetter(name)
    return lambda pair: get(pair[1])


def _nothing(_record: Any) -> None:
    """What a batch does not know."""


_OF_RECORD: dict[str, Getter] = {
    **{name: attrgetter(name) for name in Record._fields if name not in ("body", "result")},
    **{name: _text(name) for name in ("id", "state", "reason")},
    "metadata": lambda record: list(record.metadata.items()),
    "result": lambda record: None if record.result is None else record.result.decode(),
    "max_attempts": _nothing,
    "receipt": _nothing,
}
OF_FAILURE: Mapping[str, Getter] = {
    "seq": lambda pair: pair[0].seq,
    "id": lambda pair: str(pair[0].id),
    **{name: _second(name) for name in FailedAttempt._fields},
}
"""From a Record and one of its FailedAttempts."""
OF_ENTRY: Mapping[str, Getter] = {
    name: attrgetter(name) for name in ("at", "queue", "action", "count", "first_seq", "last_seq")
}
