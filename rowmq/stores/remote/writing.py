"""From the engine to the wire: core values as the shapes that go over it."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from msgspec import UNSET, Raw, UnsetType

from rowmq.core.backoff import Backoff
from rowmq.core.delivery import Delivery, Want
from rowmq.core.history import Record, Schedule
from rowmq.core.message import Message, Pushed
from rowmq.core.outcome import Ack, Bury, Outcome, Release, Retry
from rowmq.core.queue import Queue, Rate
from rowmq.core.where import Where
from rowmq.stores.remote.claim_shapes import (
    AckShape,
    BuryShape,
    Claimed,
    Held,
    Meets,
    ReleaseShape,
    RetryShape,
    SettlementShape,
    Wanted,
)
from rowmq.stores.remote.history_shapes import RecordShape
from rowmq.stores.remote.payload import carried
from rowmq.stores.remote.queue_shapes import BackoffShape, QueueChanges, QueueShape, RateShape
from rowmq.stores.remote.role_shapes import ScheduleShape
from rowmq.stores.remote.shapes import NewMessage, Stored


def seconds(span: timedelta | None) -> float | None:
    """A length of time in seconds."""
    return None if span is None else span.total_seconds()


def message(said: Message) -> NewMessage:
    """A message to push."""
    payload, base64 = carried(said.body, binary=said.binary)
    return NewMessage(
        payload=payload,
        base64=base64,
        binary=said.binary or base64 is UNSET,
        id=said.id,
        metadata=dict(said.metadata),
        delay=seconds(said.delay),
        at=said.at,
        priority=said.priority,
        deadline=said.deadline,
        key=said.key,
        window=said.window.total_seconds(),
        group=said.group,
    )


def stored(pushed: Pushed) -> Stored:
    """A batch that counts."""
    return Stored(list(pushed.ids), list(pushed.seqs), sorted(pushed.seen))


def conditions(where: Where) -> list[Meets]:
    """Conditions on metadata."""
    return [Meets(key=each.key, operator=each.operator, values=list(each.values)) for each in where]


def want(said: Want) -> Wanted:
    """What a caller wants."""
    return Wanted(
        limit=said.limit,
        lease=seconds(said.lease),
        consumer=said.consumer,
        where=conditions(said.where),
        max_age=seconds(said.max_age),
        per_group=said.per_group,
        name=said.name,
        again=said.again,
        upto=said.upto,
        since=said.since,
        until=said.until,
        share=said.share,
    )


def claimed(delivery: Delivery, receipt: str) -> Claimed:
    """A claimed message, with its receipt as the server writes it."""
    payload, base64 = carried(delivery.body, binary=delivery.binary)
    return Claimed(
        receipt,
        id_text(delivery.uid),
        delivery.queue,
        delivery.metadata,  # type: ignore[arg-type] # any mapping of strings is written alike
        delivery.attempt,
        delivery.max_attempts,
        delivery.receives,
        delivery.priority,
        delivery.group,
        delivery.created_at,
        delivery.deadline,
        delivery.lease_until,
        delivery.source,
        payload,
        base64,
        UNSET if base64 is UNSET else delivery.binary,
    )


def id_text(uid: bytes) -> str:
    """An id's bytes as text: a third of what it takes to make a UUID of them."""
    digits = uid.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def settlement(receipt: Held, outcome: Outcome) -> SettlementShape:
    """What became of a message."""
    match outcome:
        case Ack():
            result, base64 = _result(outcome.result)
            return AckShape(receipt=receipt, result=result, result_base64=base64)
        case Retry():
            return RetryShape(receipt=receipt, delay=outcome.delay.total_seconds(), error=outcome.error)
        case Release():
            return ReleaseShape(receipt=receipt, delay=outcome.delay.total_seconds())
        case Bury():
            return BuryShape(receipt=receipt, reason=outcome.reason, error=outcome.error)


def _result(result: bytes | None) -> tuple[Raw | UnsetType, bytes | UnsetType]:
    return (UNSET, UNSET) if result is None else carried(result, binary=False)


def changes(said: Mapping[str, Any]) -> QueueChanges:
    """Settings of a queue that are to change."""
    return QueueChanges(**{name: _setting(value) for name, value in said.items()})


def queue(said: Queue) -> QueueShape:
    """A queue."""
    return QueueShape(**{name: _setting(getattr(said, name)) for name in QueueShape.__struct_fields__})


def schedule(said: Schedule) -> ScheduleShape:
    """A schedule as it is stored."""
    return ScheduleShape(
        name=said.name,
        queue=said.queue,
        spec=said.spec,
        message=message(said.message),
        next_at=said.next_at,
        paused=said.paused,
    )


PLAIN = tuple(name for name in RecordShape.__struct_fields__ if name in Record._fields and name != "result")


def record(found: Record) -> RecordShape:
    """A message in whatever state it is."""
    payload, base64 = (UNSET, UNSET) if found.body is None else carried(found.body, binary=found.binary)
    result, result_base64 = _result(found.result)
    return RecordShape(
        **{name: getattr(found, name) for name in PLAIN},
        payload=payload,
        base64=base64,
        result=result,
        result_base64=result_base64,
    )


def records(found: Sequence[Record]) -> list[RecordShape]:
    """Messages in whatever state they are."""
    return [record(each) for each in found]


def _setting(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Backoff):
        return BackoffShape(
            first=value.first.total_seconds(),
            factor=value.factor,
            cap=value.cap.total_seconds(),
            jitter=value.jitter,
        )
    if isinstance(value, Rate):
        return RateShape(limit=value.limit, period=value.period.total_seconds())
    return dict(value) if isinstance(value, Mapping) else value
