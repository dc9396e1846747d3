"""From the wire to the engine: protobuf messages as core values. Raises InvalidInput."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from rowmq.core.backoff import Backoff
from rowmq.core.delivery import Delivery, Want
from rowmq.core.errors import InvalidMessage, InvalidSetting
from rowmq.core.history import ConsumerInfo, Stats
from rowmq.core.message import DEDUP_WINDOW, Message, check_json
from rowmq.core.outcome import ACK, Ack, Bury, Outcome, Reason, Release, Retry, Settled
from rowmq.core.queue import Archive, Guarantee, Queue, Rate
from rowmq.core.where import Condition, Operator, Where
from rowmq.stores.fresh import new_id
from rowmq.stores.grpc import rowmq_pb2 as wire
from rowmq.stores.grpc.times import EPOCH, moment, span

ID_BYTES = 16
NONE = ("max_attempts", "retention", "max_age", "dead_letter", "max_length", "rate")
SPANS = ("lease", "delay", "retention", "max_age")
CHOICES: dict[str, type[Guarantee | Archive]] = {"delivery": Guarantee, "archive": Archive}
NOTHING = timedelta(0)


def messages(said: Iterable[wire.NewMessage]) -> list[Message]:
    """Messages to push."""
    return [message(each) for each in said]


def message(said: wire.NewMessage) -> Message:
    """A message to push."""
    if len(said.id) not in {0, ID_BYTES}:
        raise InvalidMessage(f"an id is the {ID_BYTES} bytes of a UUID, or empty, not {len(said.id)} bytes")
    window = span(said, "window")
    return Message(
        id=UUID(bytes=said.id) if said.id else new_id(),
        body=check_json(said.payload) if said.json else said.payload,
        binary=not said.json,
        metadata=dict(said.metadata),
        delay=span(said, "delay"),
        at=moment(said, "at"),
        priority=said.priority,
        deadline=moment(said, "deadline"),
        key=optional(said, "key"),
        window=DEDUP_WINDOW if window is None else window,
        group=optional(said, "group"),
    )


def conditions(said: Iterable[wire.Condition]) -> Where:
    """Conditions on metadata."""
    return tuple(Condition(each.key, cast("Operator", each.operator), tuple(each.values)) for each in said)


def want(said: wire.ClaimRequest) -> Want:
    """What a caller wants."""
    return Want(
        limit=said.limit or 1,
        lease=span(said, "lease"),
        consumer=optional(said, "consumer"),
        where=conditions(said.where),
        max_age=span(said, "max_age"),
        per_group=said.per_group or 1,
        share=not said.unshared,
    )


def delivery(said: wire.Delivered) -> Delivery:
    """A claimed message; its token is what the server wrote, not what its store did."""
    seq, _, token = said.receipt.partition(".")
    return Delivery(
        seq=int(seq),
        token=token.encode(),
        queue=said.queue,
        uid=said.id,
        body=said.payload,
        binary=not said.json,
        metadata=dict(said.metadata),
        attempt=said.attempt,
        max_attempts=optional(said, "max_attempts"),
        receives=said.receives,
        priority=said.priority,
        group=optional(said, "group"),
        created_at=moment(said, "created_at") or EPOCH,
        deadline=moment(said, "deadline"),
        lease_until=moment(said, "lease_until") or EPOCH,
        source=optional(said, "source"),
    )


def outcome(said: wire.Settlement) -> Outcome:
    """What became of a message; it is done if nothing is said."""
    match said.WhichOneof("outcome"):
        case "ack":
            result = optional(said.ack, "result")
            return Ack(check_json(result) if result is not None else None)
        case "retry":
            return Retry(delay=span(said.retry, "delay") or NOTHING, error=optional(said.retry, "error"))
        case "release":
            return Release(delay=span(said.release, "delay") or NOTHING)
        case "bury":
            return Bury(reason=_reason(said.bury.reason), error=optional(said.bury, "error"))
    return ACK


def settled(answers: Sequence[wire.Settled]) -> list[Settled]:
    """The answers to settlements."""
    return [Settled[wire.Settled.Name(each)] for each in answers]


def queue(said: wire.Queue) -> Queue:
    """A queue; what is absent is none."""
    absent: dict[str, Any] = dict.fromkeys(NONE)
    return Queue(name=said.name, **(absent | settings(said.settings)))


def changes(said: wire.PutQueueRequest) -> dict[str, Any]:
    """Settings of a queue that are to change."""
    unknown = sorted(set(said.none) - set(NONE))
    if unknown:
        raise InvalidSetting(f"only {', '.join(NONE)} can be none, not {', '.join(unknown)}")
    return dict.fromkeys(said.none) | settings(said.changes)


def settings(said: wire.Settings) -> dict[str, Any]:
    """The settings that are there."""
    return {field.name: _setting(said, field.name, value) for field, value in said.ListFields()}


def stats(said: wire.Stats) -> Stats:
    """A queue's counts."""
    counts = (said.ready, said.scheduled, said.leased, said.done, said.dead)
    return Stats(*counts, span(said, "oldest_age"))


def consumer(said: wire.Consumer) -> ConsumerInfo:
    """A consumer that is alive."""
    born, until = moment(said, "born_at") or EPOCH, moment(said, "alive_until") or EPOCH
    return ConsumerInfo(said.queue, said.name, born, until)


def optional(said: Any, name: str) -> Any:
    """The value of a field, or None if it is absent."""
    return getattr(said, name) if said.HasField(name) else None


def _setting(said: wire.Settings, name: str, value: Any) -> Any:
    if name in SPANS:
        return span(said, name)
    if name == "backoff":
        first, cap = span(value, "first") or NOTHING, span(value, "cap") or NOTHING
        return Backoff(first=first, factor=value.factor, cap=cap, jitter=value.jitter)
    if name == "rate":
        return Rate(value.limit, span(value, "period") or NOTHING)
    if name in CHOICES and value in list(CHOICES[name]):
        return CHOICES[name](value)
    return dict(value.tags) if name == "tags" else value


def _reason(said: str) -> Reason:
    if said and said not in list(Reason):
        raise InvalidSetting(f"a reason is one of {', '.join(Reason)}, not {said!r}")
    return Reason(said or Reason.KILLED)
