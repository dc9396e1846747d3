"""A message as its sender says it, before any store has seen it."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from rowmq.core.errors import InvalidMessage
from rowmq.core.names import check_name

LARGEST_BODY = 8 * 2**20
LARGEST_METADATA = 64 * 2**10
HIGHEST_PRIORITY = 9
DEDUP_WINDOW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message to push. The body is kept byte for byte; ``binary`` tells bytes from JSON text.

    ``at`` hides it until then (a moment that has passed means at once) and ``delay`` for that long from
    the store's now; with neither, the queue's own delay holds. ``key`` deduplicates within ``window``.
    Messages of one ``group`` are delivered strictly in order.
    """

    id: UUID
    body: bytes
    binary: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
    delay: timedelta | None = None
    at: datetime | None = None
    priority: int = 0
    deadline: datetime | None = None
    key: str | None = None
    window: timedelta = DEDUP_WINDOW
    group: str | None = None

    def __post_init__(self) -> None:
        if len(self.body) > LARGEST_BODY:
            raise InvalidMessage(f"a payload has at most {LARGEST_BODY} bytes, this one has {len(self.body)}")
        if self.metadata:
            _check_metadata(self.metadata)
        if self.priority not in range(HIGHEST_PRIORITY + 1):
            raise InvalidMessage(
                f"a priority is a whole number from 0 to {HIGHEST_PRIORITY}, not {self.priority!r}"
            )
        if self.delay is not None or self.at is not None or self.deadline is not None:
            self._check_times()
        if self.window <= timedelta(0):
            raise InvalidMessage(f"a dedup window is longer than 0, not {self.window}")
        if self.key is not None:
            check_name(self.key, "dedup key")
        if self.group is not None:
            check_name(self.group, "group")

    def copied(self, id: UUID) -> "Message":
        """The same under another id: what has been checked once is not checked again for each copy.

        >>> first = Message(id=UUID(int=1), body=b"1", priority=5)
        >>> first.copied(UUID(int=2)) == Message(id=UUID(int=2), body=b"1", priority=5)
        True
        """
        made = _new(Message)
        for name in _FIELDS:
            _set(made, name, getattr(self, name))
        _set(made, "id", id)
        return made

    def _check_times(self) -> None:
        if self.delay is not None and self.at is not None:
            raise InvalidMessage("give a message a delay or a time, not both")
        if self.delay is not None and not timedelta(0) <= self.delay <= timedelta(days=3650):
            raise InvalidMessage(f"a delay is between 0 and 3650 days, not {self.delay}")
        for name, time in (("time", self.at), ("deadline", self.deadline)):
            if time is not None and time.tzinfo is None:
                raise InvalidMessage(f"a message's {name} needs a time zone, and {time} has none")


_new, _set = object.__new__, object.__setattr__
_FIELDS = tuple(each.name for each in fields(Message))


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages for one queue, pushed together or not at all."""

    queue: str
    messages: Sequence[Message]


@dataclass(frozen=True, slots=True)
class Pushed:
    """A batch that counts: an id and a seq for each message, and the positions that had been seen before.

    A message was seen before if its dedup key was (then the id is the earlier message's) or if the same
    message, id and all, was already stored.
    """

    ids: Sequence[UUID]
    seqs: Sequence[int]
    seen: frozenset[int] = frozenset()


def encode(payload: Any) -> tuple[bytes, bool]:
    """The body of a payload and whether it is binary: bytes as they are, all else as JSON text."""
    if isinstance(payload, bytes | bytearray | memoryview):
        return bytes(payload), True
    try:
        text = _ENCODER.encode(payload)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidMessage(
            f"a payload is bytes or a JSON value, and this one is neither: {error}"
        ) from None
    try:
        return text.encode(), False
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8 form, but JSON can escape it
        return json.dumps(payload, separators=(",", ":"), allow_nan=False).encode(), False


def check_json(body: bytes) -> bytes:
    """Return the body if it is JSON text as it stands, so that a door may store what it was sent."""
    try:
        _loads(body.decode(), _STRICT)
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(f"the payload is not JSON: {error}") from None
    return body


def decode(body: bytes, *, binary: bool) -> Any:
    """The payload of a body: what :func:`encode` was given."""
    return body if binary else _loads(body.decode(), _LENIENT)


def _loads(text: str, decoder: json.JSONDecoder) -> Any:
    """What the decoder makes of it; without space around it, as nearly all comes, at a third of the price."""
    scan: Callable[[str, int], tuple[Any, int]] = decoder.scan_once  # type: ignore[attr-defined]
    try:
        value, end = scan(text, 0)
    except StopIteration:
        return decoder.decode(text)  # it knows what is wrong, or skips the space before
    return value if end == len(text) else decoder.decode(text)


def derived_id(message: UUID, name: str) -> UUID:
    """The id of a message's copy for one bound queue or one tick: always the same for the same two."""
    return uuid5(message, name)


def collapse(messages: Iterable[Message]) -> tuple[list[Message], list[int]]:
    """The messages without repeated dedup keys, and for each given one its position among those kept."""
    kept: list[Message] = []
    first: dict[str, int] = {}
    positions = []
    for message in messages:
        position = first.get(message.key) if message.key is not None else None
        if position is None:
            position = len(kept)
            kept.append(message)
            if message.key is not None:
                first[message.key] = position
        positions.append(position)
    return kept, positions


def dump_metadata(metadata: Mapping[str, str]) -> str | None:
    """Metadata as the JSON text that stores keep, or None when there is none."""
    return json.dumps(dict(metadata), ensure_ascii=False, separators=(",", ":")) if metadata else None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_LENIENT = json.JSONDecoder()
_STRICT = json.JSONDecoder(parse_constant=_refuse_constant)


def _check_metadata(metadata: Mapping[str, str]) -> None:
    size = 0
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidMessage(f"metadata maps strings to strings, but {key!r} has {value!r}")
        if not key or "\0" in key or "\0" in value:
            raise InvalidMessage(f"metadata has no empty key and no NUL character, but {key!r} does")
        try:
            size += len(key.encode()) + len(value.encode())
        except UnicodeEncodeError:
            raise InvalidMessage(f"metadata has no lone surrogates, but {key!r} does") from None
    if size > LARGEST_METADATA:
        raise InvalidMessage(f"metadata has at most {LARGEST_METADATA} bytes, this one has {size}")
