"""What type JSON payloads have, from some of them."""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    NullType,
    StringType,
    StructField,
    StructType,
)

from rowmq.core.errors import InvalidSetting
from rowmq.core.store import Store

SAMPLE = 1_000
"""Messages that are looked at."""
_SCALARS: Mapping[type, DataType] = {
    type(None): NullType(),
    bool: BooleanType(),
    float: DoubleType(),
    str: StringType(),
}


def payload_type(store: Store, queue: str | None) -> DataType:
    """The type of the first messages' payloads, those of a queue or all.

    Raises InvalidSetting if there is nothing to infer it from.
    """
    records = store.history.find(queue, limit=SAMPLE).records
    values = [_decoded(each) for each in records if not each.binary and each.body is not None]
    found = inferred(values)
    if isinstance(found, NullType):
        where = "the store" if queue is None else f"queue {queue!r}"
        raise InvalidSetting(
            f"no message in {where} shows what the payload looks like:"
            " give payloadSchema the columns, such as 'user string, amount double'"
        )
    return filled(found)


def inferred(values: Iterable[Any]) -> DataType:
    """The type that all values fit; NullType if there is none but null."""
    return reduce(merged, map(type_of, values), NullType())


def type_of(value: Any) -> DataType:
    """The type of one decoded JSON value."""
    if isinstance(value, dict):
        return StructType([StructField(name, type_of(each)) for name, each in value.items()])
    if isinstance(value, list):
        return ArrayType(inferred(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return LongType() if -(2**63) <= value < 2**63 else DoubleType()
    return _SCALARS[type(value)]


def merged(one: DataType, other: DataType) -> DataType:
    """The type that values of both types fit: text, if nothing better does."""
    if one == other or isinstance(other, NullType):
        return one
    if isinstance(one, NullType):
        return other
    if isinstance(one, StructType) and isinstance(other, StructType):
        return _both(one, other)
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return ArrayType(merged(one.elementType, other.elementType))
    numbers = (LongType, DoubleType)
    return DoubleType() if isinstance(one, numbers) and isinstance(other, numbers) else StringType()


def filled(kind: DataType) -> DataType:
    """The type with text wherever only null was seen."""
    if isinstance(kind, NullType):
        return StringType()
    if isinstance(kind, ArrayType):
        return ArrayType(filled(kind.elementType))
    if isinstance(kind, StructType):
        return StructType([StructField(each.name, filled(each.dataType)) for each in kind.fields])
    return kind


def _both(one: StructType, other: StructType) -> StructType:
    kinds = {each.name: each.dataType for each in one.fields}
    for each in other.fields:
        kinds[each.name] = merged(kinds.get(each.name, NullType()), each.dataType)
    return StructType([StructField(name, kind) for name, kind in kinds.items()])


def _decoded(record: Any) -> Any:
    try:
        return record.payload
    except (ValueError, RecursionError):
        return None
