"""The columns of what is read, as Spark's and Arrow's types."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    IntegralType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from rowmq.core.errors import InvalidSetting

_LONG, _INT, _TEXT, _FLAG, _TIME = LongType(), IntegerType(), StringType(), BooleanType(), TimestampType()
_PARSED = (StringType, BinaryType, BooleanType, IntegralType, FloatType, DoubleType, TimestampType, DateType)
_MAP = MapType(StringType(), StringType())


def _struct(columns: Sequence[tuple[str, DataType]]) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns])


MESSAGES = _struct(
    [
        ("seq", _LONG),
        ("id", _TEXT),
        ("queue", _TEXT),
        ("state", _TEXT),
        ("payload", _TEXT),
        ("binary", _FLAG),
        ("metadata", _MAP),
        ("priority", _INT),
        ("group", _TEXT),
        ("key", _TEXT),
        ("created_at", _TIME),
        ("scheduled_for", _TIME),
        ("deadline", _TIME),
        ("visible_at", _TIME),
        ("attempts", _INT),
        ("receives", _INT),
        ("consumer", _TEXT),
        ("started_at", _TIME),
        ("finished_at", _TIME),
        ("reason", _TEXT),
        ("source", _TEXT),
        ("result", _TEXT),
    ]
)
"""A message in whatever state it is; times are UTC. These are the archive's columns too."""
HELD = _struct([("max_attempts", _INT), ("receipt", _TEXT)])
"""What only a stream knows of a message, because it holds it; null in a batch. Spark asks a source for its
columns before it says whether they are for a batch or a stream, so both have the same."""
FAILURES = _struct(
    [
        ("seq", _LONG),
        ("id", _TEXT),
        ("attempt", _INT),
        ("queue", _TEXT),
        ("consumer", _TEXT),
        ("started_at", _TIME),
        ("ended_at", _TIME),
        ("error", _TEXT),
    ]
)
"""An attempt that went wrong."""
LEDGER = _struct(
    [
        ("at", _TIME),
        ("queue", _TEXT),
        ("action", _TEXT),
        ("count", _LONG),
        ("first_seq", _LONG),
        ("last_seq", _LONG),
    ]
)
"""A deletion: what went, when and why."""
READ = _struct([(each.name, each.dataType) for each in (*MESSAGES.fields, *HELD.fields)])
"""The columns of a read of messages, batch or stream."""
TABLES: Mapping[str, StructType] = {"messages": READ, "failures": FAILURES, "ledger": LEDGER}
PAYLOAD = "payload"
"""The column whose type is the reader's choice: text, the bytes, or whatever its JSON is to be parsed as."""


def read_columns(payload: DataType) -> StructType:
    """The columns of a read of messages with a payload of this type."""
    return _struct([(each.name, payload if each.name == PAYLOAD else each.dataType) for each in READ.fields])


def check_schema(asked: StructType, table: str) -> None:
    """Raise InvalidSetting unless each column asked for is one of the table's, with its type."""
    there = {each.name: each.dataType for each in TABLES[table].fields}
    for each in asked.fields:
        if each.name not in there:
            raise InvalidSetting(f"{table} have no column {each.name!r}; there are {', '.join(there)}")
        wanted = there[each.name]
        if each.name == PAYLOAD:
            check_payload(each.dataType)
        elif each.dataType != wanted:
            raise InvalidSetting(
                f"the column {each.name} is {wanted.simpleString()}, not {each.dataType.simpleString()};"
                " ask for that type, and cast it afterwards"
            )


def check_payload(kind: DataType) -> None:
    """Raise InvalidSetting if JSON cannot be parsed into this type."""
    if isinstance(kind, StructType):
        inner = [each.dataType for each in kind.fields]
    elif isinstance(kind, ArrayType):
        inner = [kind.elementType]
    elif isinstance(kind, MapType) and isinstance(kind.keyType, StringType):
        inner = [kind.valueType]
    elif isinstance(kind, _PARSED):
        inner = []
    else:
        raise InvalidSetting(
            f"a payload cannot be parsed into {kind.simpleString()}: ask for string or double, and cast it"
        )
    for each in inner:
        check_payload(each)


def arrow_schema(schema: StructType) -> pa.Schema:
    """The schema that record batches must have, to the letter."""
    return to_arrow_schema(schema, timezone="UTC")
