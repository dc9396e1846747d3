"""From the engine to the wire: core values as protobuf messages."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from rowmq.core.backoff import Backoff
from rowmq.core.delivery import Delivery, Want
from rowmq.core.history import ConsumerInfo, Stats
from rowmq.core.message import Message, Pushed
from rowmq.core.outcome import Ack, Bury, Outcome, Release, Retry, Settled
from rowmq.core.queue import Queue, Rate
from rowmq.core.where import Where
from rowmq.stores.grpc import rowmq_pb2 as wire
from rowmq.stores.grpc.times import length, stamp

SETTINGS = tuple(field.name for field in wire.Settings.DESCRIPTOR.fields)


def message(said: Message) -> wire.NewMessage:
    """A message to push."""
    return wire.NewMessage(
        id=said.id.bytes,
        payload=said.body,
        json=not said.binary,
        metadata=said.metadata,
        delay=length(said.delay),
        at=stamp(said.at),
        priority=said.priority,
        deadline=stamp(said.deadline),
        key=said.key,
        window=length(said.window) if said.key is not None else None,
        group=said.group,
    )


def pushed(said: Pushed) -> wire.PushResponse:
    """A batch that counts."""
    return wire.PushResponse(ids=[each.bytes for each in said.ids], seqs=said.seqs, seen=sorted(said.seen))


def conditions(where: Where) -> list[wire.Condition]:
    """Conditions on metadata."""
    return [wire.Condition(key=each.key, operator=each.operator, values=each.values) for each in where]


def want(queue: str, said: Want) -> wire.ClaimRequest:
    """What a caller wants of a queue."""
    return wire.ClaimRequest(
        queue=queue,
        limit=said.limit,
        lease=length(said.lease),
        consumer=said.consumer,
        where=conditions(said.where),
        max_age=length(said.max_age),
        per_group=said.per_group,
        unshared=not said.share,
    )


def delivered(found: Delivery, receipt: str, number: int = 0) -> wire.Delivered:
    """A claimed message, with its receipt as the server writes it."""
    return wire.Delivered(
        receipt=receipt,
        number=number,
        id=found.uid,
        queue=found.queue,
        payload=found.body,
        json=not found.binary,
        metadata=found.metadata,
        attempt=found.attempt,
        max_attempts=found.max_attempts,
        receives=found.receives,
        priority=found.priority,
        group=found.group,
        created_at=stamp(found.created_at),
        deadline=stamp(found.deadline),
        lease_until=stamp(found.lease_until),
        source=found.source,
    )


def settlement(receipt: str, outcome: Outcome) -> wire.Settlement:
    """What became of a message."""
    match outcome:
        case Ack():
            return wire.Settlement(receipt=receipt, ack=wire.Ack(result=outcome.result))
        case Retry():
            retry = wire.Retry(delay=length(outcome.delay), error=outcome.error)
            return wire.Settlement(receipt=receipt, retry=retry)
        case Release():
            return wire.Settlement(receipt=receipt, release=wire.Release(delay=length(outcome.delay)))
        case Bury():
            bury = wire.Bury(reason=outcome.reason, error=outcome.error)
            return wire.Settlement(receipt=receipt, bury=bury)


def settled(answer: Settled) -> Any:
    """The answer to a settlement."""
    return wire.Settled.Value(answer.name)


def queue(said: Queue) -> wire.Queue:
    """A queue."""
    return wire.Queue(name=said.name, settings=_settings({name: getattr(said, name) for name in SETTINGS}))


def changes(name: str, said: Mapping[str, Any]) -> wire.PutQueueRequest:
    """Settings of a queue that are to change."""
    none = [each for each, value in said.items() if value is None]
    return wire.PutQueueRequest(name=name, changes=_settings(said), none=none)


def stats(said: Stats) -> wire.Stats:
    """A queue's counts."""
    ready, scheduled, leased, done, dead, age = said
    return wire.Stats(
        ready=ready, scheduled=scheduled, leased=leased, done=done, dead=dead, oldest_age=length(age)
    )


def consumer(said: ConsumerInfo) -> wire.Consumer:
    """A consumer that is alive."""
    born, until = stamp(said.born_at), stamp(said.alive_until)
    return wire.Consumer(queue=said.queue, name=said.name, born_at=born, alive_until=until)


def _settings(said: Mapping[str, Any]) -> wire.Settings:
    return wire.Settings(**{name: _setting(value) for name, value in said.items() if value is not None})


def _setting(value: Any) -> Any:
    match value:
        case timedelta():
            return length(value)
        case Backoff():
            return wire.Backoff(
                first=length(value.first), factor=value.factor, cap=length(value.cap), jitter=value.jitter
            )
        case Rate():
            return wire.Rate(limit=value.limit, period=length(value.period))
        case Mapping():
            return wire.Tags(tags=value)
        case _:
            return value
