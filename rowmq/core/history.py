"""What can be looked up: messages in any state, their failures, counts, and what was deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from rowmq.core.message import Message, decode
from rowmq.core.outcome import Reason, State


class Record(NamedTuple):
    """A message in whatever state it is now.

    >>> import rowmq
    >>> mq = rowmq.connect("memory://")
    >>> record = mq.get(mq.queue("emails").push({"to": "ada"}, priority=5))
    >>> record.state.value, record.payload, record.priority, record.attempts
    ('ready', {'to': 'ada'}, 5, 0)
    """

    seq: int
    id: UUID
    queue: str
    state: State
    body: bytes | None
    """None once a queue with retention 0 has dropped it."""
    binary: bool
    metadata: Mapping[str, str]
    priority: int
    group: str | None
    key: str | None
    created_at: datetime
    scheduled_for: datetime | None
    deadline: datetime | None
    visible_at: datetime | None
    """When it becomes, or became, claimable; None once finished."""
    attempts: int
    receives: int
    consumer: str | None
    started_at: datetime | None
    finished_at: datetime | None
    reason: Reason | None
    """Why it is dead, or why it was dead-lettered."""
    source: str | None
    result: bytes | None = None
    """What its ack was given, JSON text."""

    @property
    def payload(self) -> Any:
        """The payload, decoded; None once it has been dropped."""
        return None if self.body is None else decode(self.body, binary=self.binary)


class FailedAttempt(NamedTuple):
    """One attempt that went wrong.

    >>> import rowmq
    >>> mq = rowmq.connect("memory://")
    >>> id = mq.queue("emails").push("hello")
    >>> mq.queue("emails").claim()[0].retry(error="no route")
    >>> [(failure.attempt, failure.error) for failure in mq.failures(id)]
    [(1, 'no route')]
    """

    attempt: int
    queue: str
    consumer: str | None
    started_at: datetime | None
    ended_at: datetime
    error: str


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the messages looked for, in order of seq, and where to go on (None: there are no more)."""

    records: Sequence[Record]
    after: int | None


class Stats(NamedTuple):
    """How many messages a queue has in each state, and how long the longest-waiting ready one has waited.

    >>> import rowmq
    >>> rowmq.connect("memory://").queue("emails").stats()
    Stats(ready=0, scheduled=0, leased=0, done=0, dead=0, oldest_age=None)
    """

    ready: int
    scheduled: int
    leased: int
    done: int
    dead: int
    oldest_age: timedelta | None


class Amendment(StrEnum):
    """What an operator can do to a message without holding it.

    ``retry`` it now, ``kill`` it, ``move`` it to another queue, or ``drop`` it for good.
    """

    RETRY = "retry"
    KILL = "kill"
    MOVE = "move"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A record that messages were deleted: how many, of which queue, when and why.

    >>> import rowmq
    >>> mq = rowmq.connect("memory://")
    >>> ids = mq.queue("emails").push_many(range(3))
    >>> mq.queue("emails").purge()
    3
    >>> [(entry.action, entry.count) for entry in mq.store.history.ledger()]
    [('purge', 3)]
    """

    at: datetime
    queue: str
    action: str
    """retention, purge, drop, archive, amend or topic."""
    count: int
    first_seq: int
    last_seq: int


class Swept(NamedTuple):
    """What one sweep did. ``more`` says that it stopped at its limit, so another may find work at once.

    >>> import rowmq
    >>> rowmq.connect("memory://").sweep()
    Swept(buried=0, pruned=0, forgotten=0, more=False)
    """

    buried: int = 0
    pruned: int = 0
    forgotten: int = 0
    """Dedup keys, named claims, groups, consumers and leads whose time was over."""
    more: bool = False


class ConsumerInfo(NamedTuple):
    """A registered consumer.

    >>> import rowmq
    >>> mq = rowmq.connect("memory://")
    >>> with mq.queue("emails").consumer(name="ada"):
    ...     print([(each.queue, each.name) for each in mq.consumers()])
    [('emails', 'ada')]
    """

    queue: str
    name: str
    born_at: datetime
    alive_until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A message to push again and again. ``spec`` is kept as given: only the scheduler reads it.

    >>> import rowmq
    >>> mq = rowmq.connect("memory://")
    >>> schedule = mq.schedule("nightly", queue=mq.queue("reports").name, cron="0 3 * * *")
    >>> schedule.next_at.hour, schedule.paused
    (3, False)
    """

    name: str
    queue: str
    spec: str
    message: Message
    next_at: datetime
    paused: bool = False


class Durability(NamedTuple):
    """What an acknowledged write survives: A power loss, B a crash of the process or server, C neither.

    >>> import rowmq
    >>> rowmq.connect("memory://").durability.grade
    'C'
    """

    grade: str
    because: str
