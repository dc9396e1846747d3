"""The rows: what was said, what is still owed, what became of it. Times are in microseconds."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple
from uuid import UUID

from rowmq.core.clock import micros
from rowmq.core.history import FailedAttempt
from rowmq.core.message import Message
from rowmq.core.outcome import Owed, Reason, State


@dataclass(slots=True, kw_only=True)
class Stored:
    """A message as it was said; ``queue`` stays the one it was pushed to."""

    seq: int
    queue: str
    message: Message
    created_at: int
    scheduled_for: int | None
    dropped: bool = False

    @property
    def body(self) -> bytes | None:
        """The body, or None once it has been dropped."""
        return None if self.dropped else self.message.body

    @property
    def deadline(self) -> int | None:
        """The message's deadline."""
        return None if self.message.deadline is None else micros(self.message.deadline)

    def drop_body(self) -> None:
        """Forget the body and keep the rest."""
        self.message = replace(self.message, body=b"")
        self.dropped = True


@dataclass(slots=True, kw_only=True)
class Pending:
    """A message still owed.

    ``time`` is when it may be claimed (again): the end of its delay or of its lease. A ``parked`` one
    waits behind the head of its group, whatever its time.
    """

    seq: int
    queue: str
    priority: int
    group: str | None
    created_at: int
    deadline: int | None
    time: int
    parked: bool = False
    attempts: int = 0
    receives: int = 0
    token: bytes | None = None
    consumer: str | None = None
    claimed_at: int | None = None
    source: str | None = None
    reason: Reason | None = None

    @property
    def order(self) -> tuple[int, int, int]:
        """The key to sort by: highest priority, then longest visible, then seq."""
        return -self.priority, self.time, self.seq

    @property
    def owed(self) -> Owed:
        """The row as the rules see it."""
        return Owed(self.attempts, self.token is not None, self.deadline, self.created_at)

    def due(self, now: int) -> bool:
        """Whether it may be claimed."""
        return not self.parked and self.time <= now

    def state(self, now: int) -> State:
        """Where it is in its life; waiting behind the head of its group makes no difference."""
        if self.time <= now:
            return State.READY
        return State.SCHEDULED if self.token is None else State.LEASED

    def let_go(self) -> None:
        """Take it from whoever holds it."""
        self.token = self.consumer = self.claimed_at = None


@dataclass(slots=True, kw_only=True)
class Finished:
    """What became of a message."""

    seq: int
    queue: str
    state: State
    reason: Reason | None
    finished_at: int
    token: bytes | None
    attempts: int
    receives: int
    consumer: str | None
    started_at: int | None
    source: str | None
    result: bytes | None
    archived: bool = False


class Failed(NamedTuple):
    """An attempt that went wrong, in the order in which they did."""

    number: int
    seq: int
    attempt: FailedAttempt


@dataclass(slots=True)
class Group:
    """The pending messages of one group in one queue: its head, and the parked ones by seq."""

    head: int
    parked: list[int] = field(default_factory=list)


class Earlier(NamedTuple):
    """The stored message that a pushed one turned out to be."""

    id: UUID
    seq: int


class Known(NamedTuple):
    """The message that had a dedup key first, and until when that counts."""

    earlier: Earlier
    expires_at: int


@dataclass(slots=True)
class NamedClaim:
    """A claim that can be found by its name; its rows are those of ``seqs`` that still carry its token."""

    queue: str
    token: bytes
    created_at: int
    seqs: tuple[int, ...]
    runs: int = 1


class Member(NamedTuple):
    """A registered consumer."""

    born_at: int
    alive_until: int


class Lead(NamedTuple):
    """Who leads in a role, and until when."""

    holder: str
    until: int


@dataclass(slots=True)
class Topic:
    """A topic's bound queues, and the seqs of what was published while there were none."""

    queues: set[str] = field(default_factory=set)
    kept: list[int] = field(default_factory=list)
    first_bound_at: int | None = None
