"""Columns as a database gives them, made the columns that Spark was promised."""

import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import BinaryType, DataType, StringType, StructType

from rowmq.core.where import Where, holds
from rowmq.pipeline.reading.arrow_json import parse
from rowmq.pipeline.schema import PAYLOAD, arrow_schema

_DIGITS = np.frombuffer(b"".join(f"{byte:02x}".encode() for byte in range(256)), np.uint8).reshape(256, 2)
_DASHES = (8, 13, 18, 23)
_INTRICATE = r'\\|^[^{]|^\{[^"]|[^"]\}$'
"""What keeps metadata from being cut at its quotes: escapes, and anything but a quote at its ends."""
_PLACES = [place for place in range(36) if place not in _DASHES]


def raw_columns(schema: StructType, where: Where) -> list[str]:
    """What to read for a schema: the payload is made of two columns, and conditions look at the metadata."""
    wanted = [name for name in schema.fieldNames() if name not in (PAYLOAD, "max_attempts", "receipt")]
    if PAYLOAD in schema.fieldNames():
        wanted += ["body", "binary"]
    if where:
        wanted.append("metadata")
    return list(dict.fromkeys(wanted))


class Decoder:
    """Turns raw batches into batches of one schema, of the rows that meet the conditions."""

    def __init__(self, schema: StructType, where: Where) -> None:
        self._schema, self._where = schema, where
        self._arrow = arrow_schema(schema)

    def decode(self, raw: pa.RecordBatch) -> pa.RecordBatch:
        """A batch as Spark wants it."""
        if self._where:
            raw = raw.filter(_meeting(raw.column("metadata"), self._where))
        columns = [self._column(raw, field) for field in self._arrow]
        return pa.RecordBatch.from_arrays(columns, schema=self._arrow)

    def _column(self, raw: pa.RecordBatch, field: pa.Field) -> pa.Array:
        if field.name == PAYLOAD:
            return _payload(
                raw.column("body"), raw.column("binary"), self._schema[PAYLOAD].dataType, field.type
            )
        if field.name not in raw.schema.names:
            return pa.nulls(raw.num_rows, field.type)
        return _decoder(field)(raw.column(field.name), field.type)


def _decoder(field: pa.Field) -> Callable[[pa.Array, pa.DataType], pa.Array]:
    if field.name == "id":
        return lambda ids, _: uuid_texts(ids)
    if field.name == "metadata":
        return maps
    return _moments if pa.types.is_timestamp(field.type) else _plain


def _plain(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_large_binary(column.type):
        column = column.cast(pa.binary())
    return column.cast(kind)


def _moments(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Whole microseconds are what a timestamp is inside."""
    return column.cast(pa.int64()).view(kind)


def uuid_texts(ids: pa.Array) -> pa.Array:
    """Ids of 16 bytes each as text, all at once."""
    if isinstance(ids, pa.ExtensionArray):
        ids = ids.storage
    fixed = ids.cast(pa.binary(16))
    count = len(fixed)
    raw = np.frombuffer(fixed.buffers()[1], np.uint8, count * 16, fixed.offset * 16).reshape(count, 16)
    text = np.full((count, 36), ord("-"), np.uint8)
    text[:, _PLACES] = _DIGITS[raw].reshape(count, 32)
    offsets = np.arange(0, (count + 1) * 36, 36, dtype=np.int32)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text))


def maps(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Metadata from JSON text. Many messages have the same, so each is read once."""
    quick = quick_maps(texts, kind)
    if quick is not None:
        return quick
    distinct = pc.dictionary_encode(pc.fill_null(texts, "{}"))
    maps = [list(json.loads(text).items()) for text in distinct.dictionary.to_pylist()]
    return pa.array(maps, kind).take(distinct.indices)


def quick_maps(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """The same by cutting the texts at their quotes, all at once; None if one of them is not so plain.

    Without a backslash no string has a quote inside. So if no piece between ``","`` and ``":"`` has one, each
    of these ended one string and began the next.
    """
    if pc.any(pc.match_substring_regex(texts, _INTRICATE)).as_py():
        return None
    members = pc.split_pattern(pc.utf8_slice_codeunits(texts, 2, -2), '","')
    pairs = pc.split_pattern(members.flatten(), '":"')
    if pc.any(pc.match_substring(pairs.flatten(), '"')).as_py():
        return None
    counts = pc.fill_null(pc.list_value_length(members), 0)
    offsets = np.concatenate([[0], np.cumsum(counts.to_numpy())]).astype(np.int32)
    return pa.MapArray.from_arrays(offsets, pc.list_element(pairs, 0), pc.list_element(pairs, 1), kind)


def _meeting(texts: pa.Array, where: Where) -> pa.Array:
    """Which rows' metadata meets the conditions."""
    distinct = pc.dictionary_encode(pc.fill_null(texts, "{}"))
    answers = [holds(where, json.loads(text)) for text in distinct.dictionary.to_pylist()]
    return pa.array(answers, pa.bool_()).take(distinct.indices)


def _payload(bodies: pa.Array, binary: pa.Array, kind: DataType, arrow: pa.DataType) -> pa.Array:
    """Payloads as text, bytes or parsed."""
    bodies, binary = bodies.cast(pa.binary()), binary.cast(pa.bool_())
    if isinstance(kind, BinaryType):
        return bodies
    if isinstance(kind, StringType) and not pc.any(binary).as_py():
        return bodies.cast(arrow)
    make = _text if isinstance(kind, StringType) else _parser(kind)
    pairs = zip(bodies.to_pylist(), binary.to_pylist(), strict=True)
    return pa.array([None if body is None else make(body, flag) for body, flag in pairs], arrow)


def _text(body: bytes, binary: bool) -> str:  # noqa: FBT001 - a column
    return base64.b64encode(body).decode() if binary else body.decode()


def _parser(kind: DataType) -> Callable[[bytes, bool], Any]:
    return lambda body, binary: None if binary else parse(body, kind)
