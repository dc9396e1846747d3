"""A message of another system, on its way here."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple, Protocol
from uuid import NAMESPACE_URL, UUID, uuid5

import pyarrow as pa
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from rowmq.core.errors import InvalidMessage
from rowmq.core.message import check_json
from rowmq.core.outcome import Reason, State
from rowmq.pipeline.schema import arrow_schema
from rowmq.pipeline.writing.written import PAST

ROWS = StructType(
    [
        StructField("payload", BinaryType()),
        StructField("binary", BooleanType()),
        StructField("id", StringType()),
        StructField("metadata", MapType(StringType(), StringType())),
        StructField("at", TimestampType()),
        StructField("deadline", TimestampType()),
        StructField("past", PAST),
        StructField("place", LongType()),
    ]
)
"""What is read from another system: the sink's columns, and a place among those of one moment."""
TOGETHER = 1_000
"""Rows in a record batch."""
_FRACTION = re.compile(r"(\.\d{6})\d+")
_ZONE = re.compile(r"\s+([A-Z]{1,5})$| [A-Z]{1,5}(?= m=|$)")


class Place(NamedTuple):
    """A queue of another system: its name, where it is, what the queue or topic here is to be."""

    name: str
    where: str
    """What the system needs to find it again: a table, a key of its own, lists."""
    target: str
    topic: bool = False
    settings: Mapping[str, Any] = {}
    """Of the queue here, if it must be made."""


class Part(NamedTuple):
    """What one task reads of a place: keys from the first to before the last; None is no end."""

    first: str | None = None
    last: str | None = None


@dataclass(frozen=True, kw_only=True)
class Old:
    """A message as it stands in the other system."""

    id: UUID
    body: bytes
    binary: bool
    created_at: datetime
    metadata: Mapping[str, str] = field(default_factory=dict)
    at: datetime | None = None
    deadline: datetime | None = None
    attempts: int = 0
    state: State | None = None
    reason: Reason | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    error: str | None = None
    place: int = 0


class System(Protocol):
    """Another system's way to keep messages. Its values go to executors, so it holds none that cannot."""

    def places(self, url: str) -> list[Place]:
        """The queues it has there."""

    def parts(self, url: str, place: Place) -> list[Part]:
        """A place cut into what tasks read."""

    def read(self, url: str, place: Place, part: Part, now: datetime) -> Iterator[Old]:
        """The messages of a part, as they stand at that moment."""


def batches(rows: Iterable[Old], *, parse: bool) -> Iterator[pa.RecordBatch]:
    """The rows as Arrow has them; with ``parse`` bytes that are JSON text become JSON."""
    schema, left = arrow_schema(ROWS), iter(rows)
    while some := [_row(row, parse=parse) for row in islice(left, TOGETHER)]:
        yield pa.RecordBatch.from_pylist(some, schema=schema)


def _row(old: Old, *, parse: bool) -> dict[str, Any]:
    names = ("created_at", "attempts", "state", "reason", "started_at", "finished_at", "error")
    return {
        "payload": old.body,
        "binary": old.binary and not (parse and _is_json(old.body)),
        "id": str(old.id),
        "metadata": list(old.metadata.items()),
        "at": old.at,
        "deadline": old.deadline,
        "past": {name: getattr(old, name) for name in names},
        "place": old.place,
    }


def _is_json(body: bytes) -> bool:
    try:
        check_json(body)
    except InvalidMessage:
        return False
    return True


def derived(system: str, *names: object) -> UUID:
    """The id of a message that has another kind of key, the same in every run."""
    return uuid5(NAMESPACE_URL, f"rowmq:{system}/" + "/".join(map(str, names)))


def texts(value: Any) -> dict[str, str]:
    """Metadata of any JSON values as text to text."""
    read = json.loads(value) if isinstance(value, str | bytes) else value
    if not isinstance(read, Mapping):
        return {}
    return {
        str(key): each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)
        for key, each in read.items()
    }


def moment(value: Any) -> datetime | None:
    """A time as any of the systems write it, in UTC where it names no other zone; None if there is none."""
    if value is None or isinstance(value, datetime):
        return value if value is None or value.tzinfo else value.replace(tzinfo=UTC)
    text = _FRACTION.sub(r"\1", _ZONE.sub("", str(value).strip()))
    read = datetime.fromisoformat(re.sub(r" ([+-]\d\d:?\d\d)$", r"\1", text))
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def later(moments: Sequence[datetime | None], now: datetime) -> datetime | None:
    """The last of these moments that is still to come; None if none is."""
    return max((each for each in moments if each is not None and each > now), default=None)
