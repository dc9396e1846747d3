"""Claiming: what a caller wants, what it gets, and the receipt that proves it still holds it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

from rowmq.core.errors import InvalidSetting
from rowmq.core.message import decode
from rowmq.core.names import check_name
from rowmq.core.outcome import Outcome
from rowmq.core.where import Where

LARGEST_CLAIM = 100_000
FARTHEST = 100
CANDIDATES = 10_000
"""How many messages a claim with conditions looks at before it goes on the next time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """One caller's wish: up to ``limit`` messages under one token.

    ``lease`` None means the queue's. A registered ``consumer`` gets its own share first, unless ``share`` is
    False: then its name is only written down with what it takes. ``where`` and ``max_age`` leave other
    messages untouched. ``per_group`` messages of one group may come together, in order; if more than one
    may, a fifo queue's group gives nothing while somebody holds one of those next in it. A ``name`` makes the
    claim findable later: the same name never claims twice, it gets what is left of the first claim; with
    ``again`` a claim that got nothing leaves the name free. ``upto`` leaves out messages pushed after that
    seq, ``since`` and ``until`` those created before the one moment, or not before the other.
    """

    limit: int = 1
    lease: timedelta | None = None
    consumer: str | None = None
    where: Where = ()
    max_age: timedelta | None = None
    per_group: int = 1
    name: str | None = None
    again: bool = False
    upto: int | None = None
    share: bool = True
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= LARGEST_CLAIM:
            raise InvalidSetting(f"a claim's limit is from 1 to {LARGEST_CLAIM}, not {self.limit}")
        if self.per_group < 1:
            raise InvalidSetting(f"per_group is at least 1, not {self.per_group}")
        for name, value in (("lease", self.lease), ("max_age", self.max_age)):
            if value is not None and not timedelta(0) < value <= timedelta(days=3650):
                raise InvalidSetting(f"a claim's {name} is longer than 0 and at most 3650 days, not {value}")
        for what, text in (("consumer name", self.consumer), ("claim name", self.name)):
            if text is not None:
                check_name(text, what)
        for name, moment in (("since", self.since), ("until", self.until)):
            if moment is not None and moment.tzinfo is None:
                raise InvalidSetting(f"a claim's {name} has a time zone; {moment} has none")

    @property
    def sharer(self) -> str | None:
        """The consumer whose share comes first, if it wants one."""
        return self.consumer if self.share else None

    @property
    def behind(self) -> int:
        """How many messages behind a group's head this want looks at for one that somebody holds."""
        return min(self.per_group - 1, FARTHEST)

    @property
    def choosy(self) -> bool:
        """Whether this want cannot simply take the first messages that are due."""
        return bool(self.conditional or self.sharer or self.per_group > 1 or self.name)

    @property
    def conditional(self) -> bool:
        """Whether a message may be due and not be wanted, whoever asks."""
        bounds = (self.upto, self.since, self.until)
        return bool(self.where or self.max_age or any(each is not None for each in bounds))


class Receipt(NamedTuple):
    """Proof of a claim on one message; it holds until the message is settled, returned or claimed anew."""

    seq: int
    token: bytes


class Claim(NamedTuple):
    """A whole named claim, held by the run that has this token. Settle and extend take it like a receipt."""

    name: str
    token: bytes


class Adopted(NamedTuple):
    """A named claim taken over: its new token, how often it has been taken over, and what is left of it."""

    claim: Claim
    runs: int
    deliveries: "list[Delivery]"


class Settlement(NamedTuple):
    """What became of one claimed message, or of all that is left of a named claim."""

    receipt: Receipt | Claim
    outcome: Outcome


class Delivery(NamedTuple):
    """A claimed message."""

    seq: int
    token: bytes
    queue: str
    uid: bytes
    """The id's bytes: a claim of a thousand need not make a thousand UUIDs that nobody looks at."""
    body: bytes
    binary: bool
    metadata: Mapping[str, str]
    attempt: int
    max_attempts: int | None
    receives: int
    priority: int
    group: str | None
    created_at: datetime
    deadline: datetime | None
    lease_until: datetime
    source: str | None
    """The queue this message was dead-lettered from."""

    @property
    def receipt(self) -> Receipt:
        """What settles or extends it."""
        return _receipt(Receipt, self[:2])

    @property
    def id(self) -> UUID:
        """The message's id."""
        return UUID(bytes=self.uid)

    @property
    def payload(self) -> Any:
        """The payload, decoded; a body that is not what it claims to be raises ValueError."""
        return decode(self.body, binary=self.binary)

    @property
    def last_attempt(self) -> bool:
        """Whether a failure of this attempt is final."""
        return self.max_attempts is not None and self.attempt >= self.max_attempts


_SEQ_AND_TOKEN = itemgetter(0, 1)
_receipt: Callable[[type[Receipt], Iterable[Any]], Receipt] = tuple.__new__
_settlement: Callable[[type[Settlement], Iterable[Any]], Settlement] = tuple.__new__
"""What ``_make`` does, without a call of Python for each: a worker makes thousands in a second."""


def settlements(deliveries: Iterable[Delivery], outcomes: Iterable[Outcome]) -> list[Settlement]:
    """What became of each of many deliveries."""
    receipts = map(_receipt, repeat(Receipt), map(_SEQ_AND_TOKEN, deliveries))
    return list(map(_settlement, repeat(Settlement), zip(receipts, outcomes, strict=True)))


@dataclass(frozen=True, slots=True)
class Membership:
    """A consumer's place, in birth order, among those of its queue that are alive."""

    index: int
    count: int
    joined: bool
    """Whether this beat registered the consumer (anew)."""


def check_ttl(what: str, ttl: timedelta) -> None:
    """Refuse a time to live that is none."""
    if not timedelta(0) < ttl <= timedelta(days=3650):
        raise InvalidSetting(f"a {what} lives longer than 0 and at most 3650 days, not {ttl}")


def own_first(candidates: list[int], membership: Membership | None, limit: int) -> list[int]:
    """The candidates a consumer takes: its own share first, then others', each in the given order."""
    if membership is None or membership.count == 1:
        return candidates[:limit]
    own = [seq for seq in candidates if seq % membership.count == membership.index]
    others = [seq for seq in candidates if seq % membership.count != membership.index]
    return (own + others)[:limit]
