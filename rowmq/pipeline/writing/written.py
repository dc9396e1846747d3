"""The rows of a DataFrame as messages."""

import base64
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    IntegralType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from rowmq.core.chunk import Past
from rowmq.core.errors import InvalidInput, InvalidMessage, InvalidSetting
from rowmq.core.message import Message, check_json, encode
from rowmq.core.outcome import Reason, State
from rowmq.stores.fresh import new_id

if TYPE_CHECKING:
    import pyarrow as pa

Identify = Callable[[int], UUID]
"""The id of the message in this place, if its row has none."""
_PLAIN = (StringType, BooleanType, IntegralType, DoubleType, FloatType, NullType)
PAST = StructType(
    [
        StructField("created_at", TimestampType()),
        StructField("attempts", IntegerType()),
        StructField("state", StringType()),
        StructField("reason", StringType()),
        StructField("started_at", TimestampType()),
        StructField("finished_at", TimestampType()),
        StructField("error", StringType()),
    ]
)
"""What a message that comes from another system has behind it: the column that import adds."""
TAKEN: dict[str, tuple[str, tuple[type[DataType], ...]]] = {
    "binary": ("boolean", (BooleanType,)),
    "id": ("string", (StringType,)),
    "metadata": ("map<string,string>", (MapType,)),
    "at": ("timestamp", (TimestampType,)),
    "priority": ("int", (IntegralType,)),
    "deadline": ("timestamp", (TimestampType,)),
    "key": ("string", (StringType,)),
    "group": ("string", (StringType,)),
    "past": ("struct", (StructType,)),
}
"""What a column may be beside the payload, which is anything."""


class Written(NamedTuple):
    """A message to write, and what it has behind it if it comes from elsewhere."""

    message: Message
    past: Past | None


def check_columns(schema: StructType) -> None:
    """Raise InvalidSetting unless there is a payload, and beside it only columns that the sink has."""
    if "payload" not in schema.fieldNames():
        raise InvalidSetting(
            "a message needs a column payload, and there is none: for one with all columns in it use"
            ' df.select(struct("*").alias("payload"))'
        )
    for each in schema.fields:
        if each.name != "payload":
            _check_column(each)


def _check_column(field: StructField) -> None:
    if field.name not in TAKEN:
        raise InvalidSetting(
            f"the sink has no column {field.name!r}; there are payload, {', '.join(list(TAKEN)[:-1])}:"
            " put it into the payload or the metadata, or drop it"
        )
    name, kinds = TAKEN[field.name]
    fits = isinstance(field.dataType, kinds) and (field.name != "metadata" or _is_metadata(field.dataType))
    if not fits:
        raise InvalidSetting(
            f"the column {field.name} is a {name}, not {field.dataType.simpleString()}: cast it"
        )


def _is_metadata(kind: DataType) -> bool:
    return isinstance(kind, MapType) and kind.keyType == kind.valueType == StringType()


class Rows:
    """Makes messages of record batches, one after another, and knows in which row one was wrong."""

    def __init__(self, schema: StructType, *, json: bool, identify: Identify | None = None) -> None:
        self._names = schema.fieldNames()
        self._body = body_of(schema["payload"].dataType, json=json)
        self._identify = identify or (lambda _: new_id())
        self._place = 0

    def read(self, batch: "pa.RecordBatch") -> Iterator[Written]:
        """The messages of a batch; InvalidMessage names the row that cannot be one."""
        try:
            columns = [_values(name, batch.column(place)) for place, name in enumerate(self._names)]
            for row in zip(*columns, strict=True):
                yield self._written(dict(zip(self._names, row, strict=True)))
                self._place += 1
        except (InvalidInput, UnicodeDecodeError) as error:
            raise InvalidMessage(
                f"{error} (row {self._place} of its partition); nothing was written"
            ) from None

    def _written(self, row: dict[str, Any]) -> Written:
        payload = row.pop("payload")
        past = _past(row.pop("past")) if "past" in row else None
        if payload is None:
            raise InvalidMessage("a payload is null: leave such rows out, or give them one")
        body, binary = self._body(payload) if "binary" not in row else self._told(payload, row.pop("binary"))
        said = {name: value for name, value in row.items() if value is not None}
        id = _uuid(said.pop("id")) if "id" in said else self._identify(self._place)
        message = Message(id=id, body=body, binary=binary, **said)
        return Written(message, past)

    def _told(self, payload: Any, binary: bool | None) -> tuple[bytes, bool]:  # noqa: FBT001 - the row says so
        """A body where a column says whether it is binary, as it does in what is read from a queue."""
        if binary:
            return (payload if isinstance(payload, bytes) else _base64(payload)), True
        return _json_text(payload.decode()) if isinstance(payload, bytes) else self._body(payload)


def body_of(kind: DataType, *, json: bool) -> Callable[[Any], tuple[bytes, bool]]:
    """How a payload of this type becomes a body, and whether that is binary."""
    if isinstance(kind, BinaryType):
        return lambda value: (bytes(value), True)
    if isinstance(kind, StringType):
        return _json_text if json else encode
    plain = _converter(kind)
    return lambda value: encode(plain(value))


def _json_text(text: str) -> tuple[bytes, bool]:
    try:
        return check_json(text.encode()), False
    except InvalidMessage as error:
        raise InvalidMessage(f'{error}; for payloads that are any text say option("json", "false")') from None


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        raise InvalidMessage("a payload is said to be binary and is not base64") from None


def _converter(kind: DataType) -> Callable[[Any], Any]:
    """How a value from Arrow becomes one that JSON has a word for."""
    if isinstance(kind, StructType):
        return _struct_converter(kind)
    if isinstance(kind, ArrayType):
        element = _converter(kind.elementType)
        return lambda value: None if value is None else [element(each) for each in value]
    if isinstance(kind, MapType):
        inner = _converter(kind.valueType)
        return lambda value: None if value is None else {_key(key): inner(each) for key, each in value}
    return _same if isinstance(kind, _PLAIN) else _text


def _struct_converter(kind: StructType) -> Callable[[Any], Any]:
    parts = {each.name: _converter(each.dataType) for each in kind.fields}
    return lambda value: None if value is None else {name: make(value[name]) for name, make in parts.items()}


def _same(value: Any) -> Any:
    return value


def _text(value: Any) -> Any:
    """What JSON has no word for: bytes as base64, times as ISO 8601, decimals to the last digit as text."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else str(value)


def _key(value: Any) -> str:
    return value if isinstance(value, str) else str(_text(value))


def _values(name: str, column: "pa.Array") -> Sequence[Any]:
    values: list[Any] = column.to_pylist()
    if name == "metadata":
        return [None if value is None else dict(value) for value in values]
    return values


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise InvalidMessage(f"an id is a UUID, not {text!r}") from None


def _past(row: dict[str, Any] | None) -> Past:
    if row is None:
        raise InvalidMessage("a past is null: give one to every row, or to none")
    state, reason = row.pop("state"), row.pop("reason")
    return Past(
        **row,
        state=None if state is None else State(state),
        reason=None if reason is None else Reason(reason),
    )
