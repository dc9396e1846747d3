"""Rows of the tables as values, and back."""

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

from rowmq.core.backoff import Backoff
from rowmq.core.clock import micros, moment, span
from rowmq.core.delivery import Delivery
from rowmq.core.history import Record
from rowmq.core.message import Message, dump_metadata
from rowmq.core.outcome import Owed, Reason, State
from rowmq.core.queue import Archive, Guarantee, Queue, Rate
from rowmq.core.store import BACKLOG
from rowmq.stores.sql.cursor import Row
from rowmq.stores.sql.dialect import Dialect

EMPTY: Mapping[str, str] = {}


class Kept(NamedTuple):
    """A queue with the key its messages carry, its dead-letter queue's key, and the store's now."""

    id: int
    name: str
    """As it is stored: a topic's hidden queue has a name that no user's queue can have."""
    queue: Queue
    dead_letter: int | None
    now: int


class Owing(NamedTuple):
    """A pending row with what the rules need of its message, and where it is to be delivered, all of it."""

    seq: int
    queue: int
    priority: int
    visible_at: int | None
    parked_until: int | None
    group_id: int | None
    attempts: int
    receives: int
    token: bytes | None
    consumer: str | None
    claimed_at: int | None
    deadline: int | None
    source: str | None
    created_at: int
    group_name: str | None
    id: Any = None
    body: bytes = b""
    binary: bool = False
    metadata: str | None = None

    @property
    def time(self) -> int:
        """When it is due, once it is its group's head."""
        return self.parked_until if self.visible_at is None else self.visible_at  # type: ignore[return-value]

    @property
    def owed(self) -> Owed:
        """The row as the rules see it."""
        return Owed(self.attempts, self.token is not None, self.deadline, self.created_at)


class Leased(NamedTuple):
    """What a holder sees of a row that one statement has claimed, as it was before, and its lease's end."""

    seq: int
    priority: int
    visible_at: int
    attempts: int
    receives: int
    deadline: int | None
    source: str | None
    created_at: int
    group_name: str | None
    id: Any
    body: bytes
    binary: bool
    metadata: str | None
    until: int


SEQ, PRIORITY, VISIBLE_AT, ATTEMPTS = (
    itemgetter(Owing._fields.index(name)) for name in ("seq", "priority", "visible_at", "attempts")
)
"""The columns of rows that have not been made an Owing."""


def order(row: Owing) -> tuple[int, int, int]:
    """The claim order."""
    return -row.priority, row.visible_at or 0, row.seq


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows of ``pick`` by :func:`order`. Sorting keeps the order of equals, so the last key counts most."""
    result = sorted(rows, key=SEQ)
    result.sort(key=VISIBLE_AT)
    result.sort(key=PRIORITY, reverse=True)
    return result


def columns_of(rows: Sequence[Row]) -> Any:
    """Rows like :class:`Owing`, at least one, turned on their side: an Owing of columns.

    A claim goes by columns as long as it can, because making values row by row is most of its own time.
    """
    return Owing._make(zip(*rows, strict=True))


def deliveries(
    said: Any, ends: Sequence[int], queue: Queue, token: bytes, *, attempts: int
) -> list[Delivery]:
    """Taken rows' columns and leases' ends as the holder sees them; ``attempts`` is what the claim added."""
    columns = zip(
        said.seq,
        repeat(token),
        repeat(queue.name),
        said.id,
        said.body,
        _each(bool, said.binary),
        map(_metadata, said.metadata) if any(said.metadata) else repeat(EMPTY),
        _each(attempts.__add__, said.attempts),
        repeat(queue.max_attempts),
        _each(attempts.__add__, said.receives),
        said.priority,
        said.group_name,
        _each(moment, said.created_at),
        _each(_moment, said.deadline),
        _each(moment, ends),
        said.source,
    )
    return list(map(_made, repeat(Delivery), columns))


_made: Callable[[type[Delivery], Iterable[Any]], Delivery] = tuple.__new__
"""What ``Delivery._make`` does, without a call of Python for each."""


def _each(function: Callable[[Any], Any], column: Sequence[Any]) -> Iterable[Any]:
    """The function of each value, worked out once for each that differs; without end, if all are the same."""
    made = {value: function(value) for value in set(column)}
    return repeat(*made.values()) if len(made) == 1 else map(made.__getitem__, column)


def _metadata(text: str | None) -> Mapping[str, str]:
    return json.loads(text) if text else EMPTY


def kept_queue(row: Row) -> Kept:
    """A row of ``queue`` statements."""
    settings = Queue(
        name=row[1].removeprefix(BACKLOG),
        max_attempts=row[2],
        lease=timedelta(microseconds=row[3]),
        delay=timedelta(microseconds=row[4]),
        backoff=Backoff(
            first=timedelta(microseconds=row[5]),
            factor=row[6],
            cap=timedelta(microseconds=row[7]),
            jitter=row[8],
        ),
        delivery=Guarantee(row[9]),
        fifo=bool(row[10]),
        retention=_timedelta(row[11]),
        max_age=_timedelta(row[12]),
        dead_letter=row[14],
        paused=bool(row[15]),
        max_length=row[16],
        archive=Archive(row[17]),
        tags=json.loads(row[18]),
        rate=None if row[19] is None else Rate(row[19], timedelta(microseconds=row[20])),
    )
    return Kept(row[0], row[1], settings, row[13], row[21])


def queue_columns(queue: Queue, dead_letter: int | None) -> dict[str, Any]:
    """A queue's settings as parameters."""
    return {
        "name": queue.name,
        "max_attempts": queue.max_attempts,
        "lease": span(queue.lease),
        "delay": span(queue.delay),
        "backoff_first": span(queue.backoff.first),
        "backoff_factor": float(queue.backoff.factor),
        "backoff_cap": span(queue.backoff.cap),
        "backoff_jitter": float(queue.backoff.jitter),
        "delivery": str(queue.delivery),
        "fifo": queue.fifo,
        "retention": None if queue.retention is None else span(queue.retention),
        "max_age": None if queue.max_age is None else span(queue.max_age),
        "dead_letter": dead_letter,
        "paused": queue.paused,
        "max_length": queue.max_length,
        "archive": str(queue.archive),
        "tags": json.dumps(dict(queue.tags), ensure_ascii=False),
        "rate_limit": None if queue.rate is None else queue.rate.limit,
        "rate_period": None if queue.rate is None else span(queue.rate.period),
    }


def record(row: Row, now: int, dialect: Dialect) -> Record:
    """A row of ``find_pending`` or ``find_finished``."""
    (
        seq,
        id,
        queue,
        state,
        body,
        binary,
        metadata,
        priority,
        group,
        key,
        created,
        scheduled,
        deadline,
        *rest,
    ) = row
    time, held, attempts, receives, consumer, started, finished, reason, source, result = rest
    return Record(
        seq,
        dialect.id_out(id),
        queue,
        State(state) if state else waiting_state(time, now, held=bool(held)),
        body,
        bool(binary),
        json.loads(metadata) if metadata else EMPTY,
        priority,
        group,
        key,
        moment(created),
        _moment(scheduled),
        _moment(deadline),
        _moment(time),
        attempts,
        receives,
        consumer,
        _moment(started),
        _moment(finished),
        None if reason is None else Reason(reason),
        source,
        result,
    )


def dump_message(message: Message) -> str:
    """A schedule's message as text."""
    return json.dumps(
        {
            "id": str(message.id),
            "body": base64.b64encode(message.body).decode(),
            "binary": message.binary,
            "metadata": dict(message.metadata),
            "delay": None if message.delay is None else span(message.delay),
            "at": None if message.at is None else micros(message.at),
            "priority": message.priority,
            "deadline": None if message.deadline is None else micros(message.deadline),
            "key": message.key,
            "window": span(message.window),
            "group": message.group,
        }
    )


def load_message(text: str) -> Message:
    """The message that :func:`dump_message` was given."""
    said = json.loads(text)
    return Message(
        id=UUID(said["id"]),
        body=base64.b64decode(said["body"]),
        binary=said["binary"],
        metadata=said["metadata"],
        delay=_timedelta(said["delay"]),
        at=_moment(said["at"]),
        priority=said["priority"],
        deadline=_moment(said["deadline"]),
        key=said["key"],
        window=timedelta(microseconds=said["window"]),
        group=said["group"],
    )


def same_message(message: Message, queue: int, row: Row) -> bool:
    """Whether a stored (queue, body, binary, metadata) is this message; a dropped body is taken on trust."""
    stored_queue, body, binary, metadata = row
    return (
        stored_queue == queue
        and body in (None, message.body)
        and bool(binary) == message.binary
        and (json.loads(metadata) if metadata else {}) == dict(message.metadata)
    )


def stamp(now: datetime | None) -> int | None:
    """The moment a caller passed; None stands for the store's clock at the first statement that needs it."""
    return None if now is None else micros(now)


def metadata_text(message: Message) -> str | None:
    """The metadata as its column keeps it."""
    return dump_metadata(message.metadata)


def waiting_state(time: int, now: int, *, held: bool) -> State:
    """The state of a pending message, by when it is due and whether somebody holds it."""
    if time <= now:
        return State.READY
    return State.LEASED if held else State.SCHEDULED


def _moment(value: int | None) -> datetime | None:
    return None if value is None else moment(value)


def _timedelta(value: int | None) -> timedelta | None:
    return None if value is None else timedelta(microseconds=value)
