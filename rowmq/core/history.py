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
    """A message in whatever state it is now."""

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
    """One attempt that went wrong."""

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
    """How many messages a queue has in each state, and how long the longest-waiting ready one has waited."""

    ready: int
    scheduled: int
    leased: int
    done: int
    dead: int
    oldest_age: timedelta | None


class Amendment(StrEnum):
    """What an operator can do to a message without holding it."""

    RETRY = "retry"
    KILL = "kill"
    MOVE = "move"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A record that messages were deleted: how many, of which queue, when and why."""

    at: datetime
    queue: str
    action: str
    """retention, purge, drop, archive, amend or topic."""
    count: int
    first_seq: int
    last_seq: int


class Swept(NamedTuple):
    """What one sweep did. ``more`` says that it stopped at its limit, so another may find work at once."""

    buried: int = 0
    pruned: int = 0
    forgotten: int = 0
    """Dedup keys, named claims, groups and consumers whose time was over."""
    more: bool = False


class ConsumerInfo(NamedTuple):
    """A registered consumer."""

    queue: str
    name: str
    born_at: datetime
    alive_until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A message to push again and again. ``spec`` is kept as given: only the scheduler reads it."""

    name: str
    queue: str
    spec: str
    message: Message
    next_at: datetime
    paused: bool = False


class Durability(NamedTuple):
    """What an acknowledged write survives: A power loss, B a crash of the process or server, C neither."""

    grade: str
    because: str
