"""What becomes of a claimed message, and the rules that decide it.

The rules stand here once: the memory store and every SQL store call them.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple

from rowmq.core.backoff import Backoff
from rowmq.core.clock import span
from rowmq.core.errors import InvalidMessage, InvalidSetting
from rowmq.core.queue import Guarantee, Queue

LONGEST_ERROR = 2**20
LARGEST_RESULT = 2**20


class State(StrEnum):
    """Where a message is in its life.

    ``ready`` to be claimed, ``scheduled`` for later, ``leased`` to a holder, ``done``, or ``dead``.
    """

    READY = "ready"
    SCHEDULED = "scheduled"
    LEASED = "leased"
    DONE = "done"
    DEAD = "dead"


class Reason(StrEnum):
    """Why a message is dead.

    ``exhausted``: its last attempt failed; ``killed`` by its holder or an operator; ``expired``: past its
    deadline or age; ``invalid``: no function here can be given it; ``lost``: its one holder vanished.
    """

    EXHAUSTED = "exhausted"
    KILLED = "killed"
    EXPIRED = "expired"
    INVALID = "invalid"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Ack:
    """It is done. The ``result``, JSON text, is kept as long as the outcome is."""

    result: bytes | None = None

    def __post_init__(self) -> None:
        if self.result is not None:
            _check_result(self.result)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """It failed and comes back after a delay, or dies if that was its last attempt."""

    delay: timedelta = timedelta(0)
    error: str | None = None

    def __post_init__(self) -> None:
        _check_delay("retry", self.delay)
        object.__setattr__(self, "error", storable(self.error))


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """It was not tried: it comes back, at once or after a delay, and the attempt does not count.

    What it took of the queue's rate when it was claimed is not given back.
    """

    delay: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        _check_delay("release", self.delay)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bury:
    """It is dead, or goes to the dead-letter queue if there is one."""

    reason: Reason = Reason.KILLED
    error: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "error", storable(self.error))


Outcome = Ack | Retry | Release | Bury
ACK = Ack()


VANISHED = "the lease ended without an answer"
"""The error kept for an attempt whose holder never settled."""


class Settled(StrEnum):
    """The answer to a settlement: it counted, it had counted already, or the message went on without us."""

    SETTLED = "settled"
    REPEATED = "repeated"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What a handler reports instead of success."""

    error: str
    kill: bool = False
    invalid: bool = False
    after: timedelta | None = None


def decide(
    attempt: int, failure: Failure | None, *, max_attempts: int | None, backoff: Backoff, draw: float
) -> Outcome:
    """The outcome of an attempt (from 1) that ended well (no failure) or badly."""
    if failure is None:
        return ACK
    if failure.kill or failure.invalid:
        return Bury(reason=Reason.INVALID if failure.invalid else Reason.KILLED, error=failure.error)
    if max_attempts is not None and attempt >= max_attempts:
        return Bury(reason=Reason.EXHAUSTED, error=failure.error)
    delay = backoff.delay(attempt, draw) if failure.after is None else failure.after
    return Retry(delay=delay, error=failure.error)


class Owed(NamedTuple):
    """A pending message as the rules see it; times in microseconds."""

    attempts: int
    held: bool
    deadline: int | None
    created_at: int


def overdue(owed: Owed, queue: Queue, now: int) -> Reason | None:
    """Why a message whose time has come must be buried instead of delivered, if it must."""
    final = queue.delivery == Guarantee.AT_MOST_ONCE
    if final and owed.deadline is not None and owed.deadline <= now:
        return Reason.EXPIRED
    if queue.max_age is not None and owed.created_at + span(queue.max_age) <= now:
        return Reason.EXPIRED
    if final and owed.held:
        return Reason.LOST
    if queue.max_attempts is not None and owed.attempts >= queue.max_attempts:
        return Reason.EXHAUSTED
    return None


def settled_as(outcome: Outcome, owed: Owed, queue: Queue, now: int) -> Outcome:
    """The outcome that counts: a retry of a message that may not be tried again is a burial."""
    if not isinstance(outcome, Retry):
        return outcome
    reason = overdue(owed._replace(held=False), queue, now)
    return outcome if reason is None else Bury(reason=reason, error=outcome.error)


def lease_end(now: int, lease: int, deadline: int | None) -> int:
    """When a lease granted or extended now ends: at the deadline at the latest, unless that has passed."""
    if deadline is not None and now < deadline < now + lease:
        return deadline
    return now + lease


def group_of(group: str | None, *, fifo: bool) -> str | None:
    """The group a message belongs to: in a fifo queue, all that have none share one."""
    return "" if group is None and fifo else group


def _check_delay(what: str, delay: timedelta) -> None:
    if not timedelta(0) <= delay <= timedelta(days=3650):
        raise InvalidSetting(f"a {what}'s delay is between 0 and 3650 days, not {delay}")


def _check_result(result: object) -> None:
    if not isinstance(result, bytes):
        raise InvalidMessage(f"a result is bytes, not {type(result).__name__}")
    if len(result) > LARGEST_RESULT:
        raise InvalidMessage(f"a result has at most {LARGEST_RESULT} bytes, this one has {len(result)}")


def storable(error: str | None) -> str | None:
    """An error as every database can keep it, whatever it says: no NUL, no lone surrogates, and an end."""
    if error is None:
        return None
    return error[:LONGEST_ERROR].replace("\0", "\ufffd").encode(errors="replace").decode()
