"""Users say seconds; the engine says timedelta. Turned here, with a clear word where it cannot be."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, TypedDict
from uuid import UUID

from rowmq.core.backoff import Backoff
from rowmq.core.errors import InvalidMessage, InvalidSetting
from rowmq.core.message import Message, encode
from rowmq.core.queue import Archive, Guarantee, Rate
from rowmq.core.where import Where, where
from rowmq.runtime.answers import Seconds
from rowmq.stores.fresh import new_id, new_ids

SPANS = ("lease", "delay", "retention", "max_age")
"""The queue settings that are lengths of time."""
RATE_PARTS = 2
Filter = Mapping[str, str | Iterable[str]] | Where | None
"""Conditions on metadata: ``{"v": "1", "kind": ["a", "b"]}``, or a tuple of Condition."""


class PushOptions(TypedDict, total=False):
    """What can be said about a message besides its payload."""

    delay: Seconds | None
    at: datetime | None
    priority: int
    deadline: datetime | None
    key: str | None
    window: Seconds | None
    group: str | None
    metadata: Mapping[str, str] | None


class QueueSettings(TypedDict, total=False):
    """What can be said about a queue besides its name; the rest is as it was, or as Queue has it."""

    max_attempts: int | None
    lease: Seconds
    delay: Seconds
    backoff: Backoff | Mapping[str, Any]
    delivery: Guarantee | Literal["at_least_once", "at_most_once"]
    fifo: bool
    retention: Seconds | None
    max_age: Seconds | None
    dead_letter: str | None
    paused: bool
    max_length: int | None
    archive: Archive | Literal["optional", "required"]
    tags: Mapping[str, str]
    rate: Rate | tuple[int, Seconds] | None


def as_span(value: Seconds, name: str) -> timedelta:
    """A length of time from seconds or a timedelta."""
    if isinstance(value, timedelta):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidSetting(f"{name} is a number of seconds or a timedelta, not {value!r}")
    try:
        return timedelta(seconds=value)
    except OverflowError:
        raise InvalidSetting(f"{name} of {value!r} seconds is too long") from None


def as_span_or_none(value: Seconds | None, name: str) -> timedelta | None:
    """The same, where nothing may be said."""
    return None if value is None else as_span(value, name)


def as_where(conditions: Filter) -> Where:
    """Conditions from a mapping, or as they are."""
    if conditions is None:
        return ()
    return where(conditions) if isinstance(conditions, Mapping) else conditions


def as_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A queue's settings as the engine takes them."""
    return {name: _setting(name, value) for name, value in settings.items()}


def _setting(name: str, value: Any) -> Any:
    if name in SPANS and value is not None:
        return as_span(value, name)
    if name == "rate" and isinstance(value, tuple | list):
        return _rate(value)
    if name == "backoff" and isinstance(value, Mapping):
        return _backoff(value)
    return value


def _rate(value: tuple[Any, ...] | list[Any]) -> Rate:
    if len(value) != RATE_PARTS:
        raise InvalidSetting(f"rate is (messages, seconds), such as (100, 1), not {value!r}")
    return Rate(limit=value[0], period=as_span(value[1], "rate's period"))


def _backoff(value: Mapping[str, Any]) -> Backoff:
    unknown = set(value) - {"first", "factor", "cap", "jitter"}
    if unknown:
        raise InvalidSetting(
            f"a backoff has no {', '.join(sorted(unknown))}; it has first, factor, cap, jitter"
        )
    spans = {name: as_span(value[name], f"backoff's {name}") for name in ("first", "cap") if name in value}
    return Backoff(**{**value, **spans})


def new_message(payload: Any, options: Mapping[str, Any], *, id: UUID | None = None) -> Message:
    """A message with a new id, or the given one."""
    body, binary = encode(payload)
    return Message(id=id or new_id(), body=body, binary=binary, **_engine_options(options))


def new_messages(payloads: Iterable[Any], options: Mapping[str, Any]) -> list[Message]:
    """A message for each payload, with new ids and the same options."""
    said, bodies = _engine_options(options), list(map(encode, payloads))
    ids = new_ids(len(bodies))
    return [
        Message(id=id, body=body, binary=binary, **said)
        for id, (body, binary) in zip(ids, bodies, strict=True)
    ]


def _engine_options(options: Mapping[str, Any]) -> dict[str, Any]:
    said = {name: value for name, value in options.items() if value is not None}
    unknown = set(said) - set(PushOptions.__annotations__)
    if unknown:
        raise InvalidMessage(
            f"a message has no option {', '.join(sorted(unknown))};"
            f" there are {', '.join(PushOptions.__annotations__)}"
        )
    for name in ("delay", "window"):
        if name in said:
            said[name] = as_span(said[name], name)
    return said
