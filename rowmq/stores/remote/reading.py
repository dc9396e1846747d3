"""From the wire to the engine: what a caller has sent, as core values. Raises InvalidInput."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from msgspec import UNSET

from rowmq.core.backoff import Backoff
from rowmq.core.delivery import Want
from rowmq.core.errors import InvalidSetting
from rowmq.core.history import Schedule
from rowmq.core.message import DEDUP_WINDOW, Message
from rowmq.core.outcome import ACK, Ack, Bury, Outcome, Release, Retry
from rowmq.core.queue import Queue, Rate
from rowmq.core.where import Condition, Where, where
from rowmq.stores.fresh import new_id
from rowmq.stores.remote.claim_shapes import (
    AckShape,
    BuryShape,
    Conditions,
    ReleaseShape,
    RetryShape,
    SettlementShape,
    Wanted,
)
from rowmq.stores.remote.payload import body_of
from rowmq.stores.remote.queue_shapes import BackoffShape, QueueChanges, QueueShape, RateShape
from rowmq.stores.remote.role_shapes import ScheduleGiven, ScheduleShape
from rowmq.stores.remote.shapes import NewMessage

WINDOW = DEDUP_WINDOW.total_seconds()
SPANS = ("lease", "delay", "retention", "max_age")


def span(seconds: float) -> timedelta:
    """A length of time."""
    return timedelta(seconds=seconds)


def maybe_span(seconds: float | None) -> timedelta | None:
    """A length of time, if there is one."""
    return None if seconds is None else timedelta(seconds=seconds)


def maybe_moment(said: datetime | None) -> datetime | None:
    """A moment in UTC, if there is one."""
    return None if said is None else moment(said)


def moment(said: datetime) -> datetime:
    """A moment in UTC."""
    try:
        return said.astimezone(UTC)
    except OverflowError:
        raise InvalidSetting(f"{said} is no time that a calendar has in UTC") from None


def message(shape: NewMessage, id: UUID | None = None) -> Message:
    """A message to push; without an id of its own it gets the given one, or a new one."""
    body, binary = body_of(shape.payload, shape.base64, binary=shape.binary)
    return Message(
        id=shape.id or id or new_id(),
        body=body,
        binary=binary,
        metadata=shape.metadata,
        delay=maybe_span(shape.delay),
        at=maybe_moment(shape.at),
        priority=shape.priority,
        deadline=maybe_moment(shape.deadline),
        key=shape.key,
        window=DEDUP_WINDOW if shape.window == WINDOW else timedelta(seconds=shape.window),
        group=shape.group,
    )


def messages(shapes: Sequence[NewMessage]) -> list[Message]:
    """Messages to push."""
    return [message(shape) for shape in shapes]


def conditions(said: Conditions) -> Where:
    """Conditions on metadata."""
    if isinstance(said, dict):
        return where(said)
    return tuple(Condition(each.key, each.operator, tuple(each.values)) for each in said)


def want(shape: Wanted) -> Want:
    """What a caller wants."""
    return Want(
        limit=shape.limit,
        lease=maybe_span(shape.lease),
        consumer=shape.consumer,
        where=conditions(shape.where) if shape.where else (),
        max_age=maybe_span(shape.max_age),
        per_group=shape.per_group,
        name=shape.name,
        again=shape.again,
        upto=shape.upto,
        since=shape.since,
        until=shape.until,
        share=shape.share,
    )


def outcome(shape: SettlementShape) -> Outcome:
    """What became of a message."""
    match shape:
        case AckShape():
            return _ack(shape)
        case RetryShape():
            return Retry(delay=span(shape.delay), error=shape.error)
        case ReleaseShape():
            return Release(delay=span(shape.delay))
        case BuryShape():
            return Bury(reason=shape.reason, error=shape.error)


def _ack(shape: AckShape) -> Ack:
    if shape.result is UNSET and shape.result_base64 is UNSET:
        return ACK
    return Ack(body_of(shape.result, shape.result_base64, binary=True, what="settlement")[0])


def changes(shape: QueueChanges) -> dict[str, Any]:
    """The settings of a queue that are to change."""
    said = {name: getattr(shape, name) for name in shape.__struct_fields__}
    return {name: _setting(name, value) for name, value in said.items() if value is not UNSET}


def queue(shape: QueueShape) -> Queue:
    """A queue."""
    said = {name: getattr(shape, name) for name in shape.__struct_fields__}
    return Queue(**{name: _setting(name, value) for name, value in said.items()})


def schedule(shape: ScheduleShape | ScheduleGiven) -> Schedule:
    """A schedule as it is stored."""
    return Schedule(
        name=shape.name,
        queue=shape.queue,
        spec=shape.spec,
        message=message(shape.message),
        next_at=moment(shape.next_at),
        paused=shape.paused,
    )


def _setting(name: str, value: Any) -> Any:
    if isinstance(value, BackoffShape):
        return Backoff(first=span(value.first), factor=value.factor, cap=span(value.cap), jitter=value.jitter)
    if isinstance(value, RateShape):
        return Rate(value.limit, span(value.period))
    return maybe_span(value) if name in SPANS else value
