"""JSON payloads parsed into Spark's types."""

import base64
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def parse(body: bytes, kind: DataType) -> Any:
    """A JSON text as a value that Arrow takes for this type; what does not fit the type is None.

    Numbers, texts and the rest are not turned into each other, except that a text column takes any value, as
    JSON text, and a column of floating point takes whole numbers.
    """
    try:
        return fitted(json.loads(body), kind)
    except (ValueError, RecursionError):
        return None


def fitted(value: Any, kind: DataType) -> Any:
    """A decoded value as far as it fits the type, otherwise None."""
    if value is None:
        return None
    if isinstance(kind, StructType):
        return _struct(value, kind)
    if isinstance(kind, ArrayType):
        return [fitted(each, kind.elementType) for each in value] if isinstance(value, list) else None
    if isinstance(kind, MapType):
        return _map(value, kind)
    if isinstance(kind, StringType):
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if isinstance(kind, IntegralType):
        return _whole(value, _BITS[kind.simpleString()])
    convert = _SCALARS.get(type(kind))
    return None if convert is None else convert(value)


def _struct(value: Any, kind: StructType) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    return {each.name: fitted(value.get(each.name), each.dataType) for each in kind.fields}


def _map(value: Any, kind: MapType) -> list[tuple[str, Any]] | None:
    if not isinstance(value, dict) or not isinstance(kind.keyType, StringType):
        return None
    return [(key, fitted(each, kind.valueType)) for key, each in value.items()]


def _whole(value: Any, bits: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


def _float(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _tried(convert: Callable[[str], Any]) -> Callable[[Any], Any]:
    """A conversion of text that gives None for what it cannot read."""

    def convert_or_none(value: Any) -> Any:
        try:
            return convert(value) if isinstance(value, str) else None
        except ValueError:
            return None

    return convert_or_none


def _timestamp(value: str) -> datetime:
    read = datetime.fromisoformat(value)
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read


_SCALARS: dict[type[DataType], Callable[[Any], Any]] = {
    BooleanType: lambda value: value if isinstance(value, bool) else None,
    FloatType: _float,
    DoubleType: _float,
    TimestampType: _tried(_timestamp),
    DateType: _tried(date.fromisoformat),
    BinaryType: _tried(base64.b64decode),
}
