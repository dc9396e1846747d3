"""Pushing a batch: first find out what it would do or why it is refused, then do it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

from rowmq.core.clock import micros, span
from rowmq.core.errors import DuplicateMessage, QueueFull
from rowmq.core.message import Batch, Message, Pushed, collapse
from rowmq.core.queue import Queue
from rowmq.stores.memory.row import Earlier, Known, Stored
from rowmq.stores.memory.tables import Tables


@dataclass(frozen=True, slots=True)
class Plan:
    """A batch that will not be refused.

    ``messages`` are those that differ, ``earlier`` says which of them are stored already, and
    ``positions`` tells for each message of the batch which of those it is.
    """

    queue: Queue
    messages: list[Message]
    earlier: list[Earlier | None]
    positions: list[int]


def plan(tables: Tables, batch: Batch, now: int) -> Plan:
    """What pushing the batch means. Raises QueueNotFound, DuplicateMessage or QueueFull."""
    queue = tables.queue(batch.queue)
    keyed, positions = collapse(batch.messages)
    messages, places = merge(keyed)
    earlier = [_earlier(tables, queue.name, message, now) for message in messages]
    _check_length(tables, queue, earlier.count(None))
    return Plan(queue, messages, earlier, [places[position] for position in positions])


def perform(tables: Tables, plan: Plan, now: int) -> Pushed:
    """Push what is new in the plan."""
    stored = [
        earlier or _push(tables, plan.queue, message, now)
        for message, earlier in zip(plan.messages, plan.earlier, strict=True)
    ]
    chosen = [stored[position] for position in plan.positions]
    return Pushed([one.id for one in chosen], [one.seq for one in chosen], _seen(plan))


def merge(messages: Iterable[Message]) -> tuple[list[Message], list[int]]:
    """The messages without repeated ids, and for each given one its position among those kept.

    Raises DuplicateMessage if two different messages have the same id.
    """
    kept: list[Message] = []
    first: dict[object, int] = {}
    positions = []
    for message in messages:
        position = first.setdefault(message.id, len(kept))
        if position == len(kept):
            kept.append(message)
        elif not _alike(kept[position], message):
            raise _duplicate(message)
        positions.append(position)
    return kept, positions


def stored_as(tables: Tables, queue: str, message: Message) -> Earlier | None:
    """The message if it is stored already. Raises DuplicateMessage if its id belongs to a different one."""
    seq = tables.seqs.get(message.id)
    if seq is None:
        return None
    stored = tables.messages[seq]
    body = message.body if stored.body is None else stored.body
    if stored.queue != queue or not _alike(replace(stored.message, body=body), message):
        raise _duplicate(message)
    return Earlier(message.id, seq)


def store(tables: Tables, queue: str, message: Message, delay: timedelta, now: int) -> Stored:
    """Write down what was said; the delay is that of messages that say nothing about their time."""
    tables.last_seq += 1
    stored = Stored(
        seq=tables.last_seq,
        queue=queue,
        message=replace(message, metadata=dict(message.metadata)),
        created_at=now,
        scheduled_for=_scheduled_for(message, delay, now),
    )
    tables.messages[stored.seq] = stored
    tables.seqs[message.id] = stored.seq
    return stored


def _earlier(tables: Tables, queue: str, message: Message, now: int) -> Earlier | None:
    stored = stored_as(tables, queue, message)
    if stored is not None or message.key is None:
        return stored
    known = tables.dedup.get((queue, message.key))
    return known.earlier if known is not None and known.expires_at > now else None


def _check_length(tables: Tables, queue: Queue, fresh: int) -> None:
    if queue.max_length is None or not fresh:
        return
    waiting = sum(row.queue == queue.name for row in tables.pending.values())
    if waiting + fresh > queue.max_length:
        raise QueueFull(
            f"queue {queue.name!r} holds {waiting} of {queue.max_length}: no room for {fresh} more"
        )


def _push(tables: Tables, queue: Queue, message: Message, now: int) -> Earlier:
    stored = store(tables, queue.name, message, queue.delay, now)
    earlier = Earlier(message.id, stored.seq)
    if message.key is not None:
        tables.dedup[queue.name, message.key] = Known(earlier, now + span(message.window))
    tables.start(stored.seq, queue.name, max(stored.scheduled_for or now, now))
    return earlier


def _seen(plan: Plan) -> frozenset[int]:
    first: dict[int, int] = {}
    return frozenset(
        index
        for index, position in enumerate(plan.positions)
        if plan.earlier[position] is not None or first.setdefault(position, index) != index
    )


def _scheduled_for(message: Message, delay: timedelta, now: int) -> int | None:
    if message.at is not None:
        return micros(message.at)
    if message.delay is None and not delay:
        return None
    return now + span(delay if message.delay is None else message.delay)


def _alike(one: Message, other: Message) -> bool:
    return (one.body, one.binary, dict(one.metadata)) == (other.body, other.binary, dict(other.metadata))


def _duplicate(message: Message) -> DuplicateMessage:
    return DuplicateMessage(f"another message already has the id {message.id}")
