"""Messages packed together, to be set down somewhere and pushed later, all of them or none."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, pairwise, repeat
from typing import Any
from uuid import UUID

from rowmq.core.clock import micros, moment, span
from rowmq.core.errors import InvalidMessage
from rowmq.core.message import DEDUP_WINDOW, Message
from rowmq.core.outcome import Reason, State

_LENGTH = 4
"""Bytes before the head that say how long it is."""
_ID = 16
_TIMES = ("at", "deadline")
_VALUES = ("binary", "priority", "key", "group", "metadata")
_DEFAULTS: Mapping[str, Any] = {"binary": False, "priority": 0, "metadata": {}, "window": span(DEDUP_WINDOW)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What a message has behind it when it comes from another system.

    With a ``state``, which is done or dead, it is over; without one it is still owed.
    """

    created_at: datetime
    attempts: int = 0
    state: State | None = None
    reason: Reason | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        if self.state not in (None, State.DONE, State.DEAD):
            raise InvalidMessage(f"a message's past ends done or dead, not {self.state}")
        if self.attempts < 0:
            raise InvalidMessage(f"a message has been tried 0 times or more, not {self.attempts}")


def pack(messages: Sequence[Message], pasts: Sequence[Past] | None = None) -> bytes:
    """The messages as bytes: a head with a list for each thing said about them, their ids, their bodies."""
    head: dict[str, Any] = {"sizes": [len(message.body) for message in messages]}
    for name in _VALUES:
        _keep(head, name, [getattr(message, name) for message in messages])
    for name in _TIMES:
        _keep(head, name, [_stamp(getattr(message, name)) for message in messages])
    _keep(head, "delay", [None if each.delay is None else span(each.delay) for each in messages])
    _keep(head, "window", [span(message.window) for message in messages])
    if pasts is not None:
        head["pasts"] = [_past_row(past) for past in pasts]
    text = json.dumps(head, separators=(",", ":"), default=dict).encode()
    ids = b"".join(message.id.bytes for message in messages)
    return b"".join([len(text).to_bytes(_LENGTH), text, ids, *(message.body for message in messages)])


def unpack(chunk: bytes) -> tuple[list[Message], list[Past] | None]:
    """The messages of a chunk, and their pasts if they have any."""
    start = _LENGTH + int.from_bytes(chunk[:_LENGTH])
    head = json.loads(chunk[_LENGTH:start])
    sizes = head["sizes"]
    bodies = start + _ID * len(sizes)
    ids = [UUID(bytes=chunk[at : at + _ID]) for at in range(start, bodies, _ID)]
    ends = pairwise(accumulate(sizes, initial=bodies))
    columns = zip(ids, (chunk[first:last] for first, last in ends), *_columns(head, len(sizes)), strict=True)
    pasts = head.get("pasts")
    return [_message(row) for row in columns], None if pasts is None else [_past(row) for row in pasts]


def _message(row: tuple[Any, ...]) -> Message:
    id, body, binary, priority, key, group, metadata, at, deadline, delay, window = row
    return Message(
        id=id,
        body=body,
        binary=binary,
        priority=priority,
        key=key,
        group=group,
        metadata=metadata,
        at=_moment(at),
        deadline=_moment(deadline),
        delay=None if delay is None else timedelta(microseconds=delay),
        window=DEDUP_WINDOW if window == _DEFAULTS["window"] else timedelta(microseconds=window),
    )


def _columns(head: Mapping[str, Any], count: int) -> list[Any]:
    return [
        head[name] if name in head else repeat(_DEFAULTS.get(name), count)
        for name in (*_VALUES, *_TIMES, "delay", "window")
    ]


def _keep(head: dict[str, Any], name: str, values: list[Any]) -> None:
    """Note a column, unless it says nothing."""
    default = _DEFAULTS.get(name)
    if any(value != default for value in values):
        head[name] = values


def _past_row(past: Past) -> list[Any]:
    times = [_stamp(past.created_at), _stamp(past.started_at), _stamp(past.finished_at)]
    return [past.attempts, past.state, past.reason, past.error, *times]


def _past(row: list[Any]) -> Past:
    attempts, state, reason, error, created, started, finished = row
    return Past(
        attempts=attempts,
        state=None if state is None else State(state),
        reason=None if reason is None else Reason(reason),
        error=error,
        created_at=moment(created),
        started_at=_moment(started),
        finished_at=_moment(finished),
    )


def _stamp(time: datetime | None) -> int | None:
    return None if time is None else micros(time)


def _moment(stamp: int | None) -> datetime | None:
    return None if stamp is None else moment(stamp)
