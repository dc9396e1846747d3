"""Looking after queues: counts, lists and samples whose cost does not grow with what was done before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from rowmq.core.errors import InvalidSetting
from rowmq.core.history import FailedAttempt, Record
from rowmq.core.outcome import State
from rowmq.core.where import Where

MOST_COUNTED = 250_000
"""How many messages of a state are counted, in all queues together; a count that is this is at least this."""
MOST_LOOKED = 50_000
"""How many messages, or failures, one look goes through in search of what is asked for."""
LARGEST_SHEET = 1000
"""How many messages one page of a list may have."""
LONGEST_EXCERPT = 1024
"""How many bytes of a payload are in a list."""
LONGEST_REMARK = 4000
"""How many characters of an error are in a list."""
LARGEST_MEASURED = 2**25
"""Bytes of a database whose tables are measured by reading it."""
MOST_SCHEDULES = 10_000
"""How many schedules are listed."""
MINUTE, QUARTER = timedelta(minutes=1), timedelta(minutes=15)
KEPT = {MINUTE: timedelta(hours=2), QUARTER: timedelta(days=8)}
"""How long samples of each span are kept."""
MADE_UP = QUARTER
"""How far back minutes that nobody sampled are sampled after all."""
MOST_MEASURED = 10_000
"""How many of the messages that ended in a minute, the newest, their waits and runs are taken from."""
MOST_NEW = 2_000_000
"""How many pushes, and failures, are looked through for a sample; those before them are not counted."""
Place = tuple[int, ...]
"""Where a list goes on. What it says is the store's own."""
Histogram = Mapping[int, int]
"""How often a duration fell into each bucket; `rowmq.core.durations` says which bucket is which."""


class Counts(NamedTuple):
    """How many messages of a queue wait, are held and are dead, each as far as it was counted."""

    ready: int = 0
    scheduled: int = 0
    leased: int = 0
    dead: int = 0
    oldest_age: timedelta | None = None
    """How long the longest-waiting ready message has waited."""
    more: bool = False
    """Whether there are more than were counted, so that every count is at least what it says."""


class Excerpt(NamedTuple):
    """A failed attempt, its error as far as was asked for."""

    attempt: FailedAttempt
    size: int
    """Bytes of the error, all of it."""
    is_cut: bool
    """Whether something of the error was left out."""


class Failures(NamedTuple):
    """The last failed attempts of a message, oldest first, and how many there are, up to MOST_LOOKED."""

    last: Sequence[Excerpt]
    total: int


class Sheet(NamedTuple):
    """Some messages of a list, and where it goes on; None if that was all of it.

    Payloads are cut at LONGEST_EXCERPT bytes, and results are left out: a list is no larger for what its
    messages say. With ``place`` and few records, or none, the look has gone through MOST_LOOKED messages.
    """

    records: Sequence[Record]
    place: Place | None = None
    failures: Mapping[int, Excerpt] = {}
    """What went wrong, by seq, up to LONGEST_REMARK characters of it: last, with what is dead; and with
    what was found by an error, then."""


class Plan(NamedTuple):
    """A schedule as a list shows it: the beginning of what it pushes."""

    name: str
    queue: str
    spec: str
    next_at: datetime
    paused: bool
    body: bytes
    """Up to LONGEST_EXCERPT bytes of the payload."""
    binary: bool
    size: int
    """Bytes of the payload, all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What happened to a queue in a span of time that began at ``at``, and how it stood at the end."""

    queue: str
    at: datetime
    span: timedelta
    pushed: int = 0
    done: int = 0
    dead: int = 0
    """How many died, not how many are dead."""
    failed: int = 0
    """Attempts that went wrong."""
    ready: int = 0
    scheduled: int = 0
    leased: int = 0
    waits: Histogram = field(default_factory=dict)
    """From when a message could first be claimed to when it last was."""
    runs: Histogram = field(default_factory=dict)
    """From its last claim to its end."""


class Health(NamedTuple):
    """How the database is: what it is, how large our part is, and what of its settings one should know."""

    database: str
    """Its name and version."""
    schema: str
    """The last migration that was run."""
    size: int | None
    """Bytes on disk, or in memory where that is where it is."""
    sizes: Mapping[str, int]
    """The same by table."""
    settings: Mapping[str, str]
    """What durability and speed depend on, by the database's own names."""


class Monitor(Protocol):
    """What people who look after queues are shown. Every store that holds messages itself has this role."""

    def counts(self, queues: Sequence[str], *, now: datetime | None = None) -> dict[str, Counts]:
        """How these queues stand; one that does not exist is left out.

        Where it takes counting, they share MOST_COUNTED: what one does not need, others may count.
        """

    def page(
        self,
        queue: str,
        state: State,
        *,
        where: Where = (),
        since: datetime | None = None,
        until: datetime | None = None,
        place: Place | None = None,
        limit: int = 50,
        now: datetime | None = None,
    ) -> Sheet:
        """Messages of a queue in a state. Raises QueueNotFound.

        What is finished comes newest first, and ``since`` and ``until`` are about its end; what is owed comes
        in the order it would be claimed, what waits behind others of its group last, and they are about when
        it was pushed.
        """

    def failed(
        self,
        queue: str,
        text: str,
        *,
        place: Place | None = None,
        limit: int = 50,
        now: datetime | None = None,
    ) -> Sheet:
        """Messages that failed in a queue with this text in an error, newest failure first, each once.

        One look goes through the newest MOST_LOOKED failures of this queue, whatever happens in others. The
        case of ASCII letters does not count, that of others may. Raises QueueNotFound.
        """

    def failures(self, seq: int, *, limit: int = 100, longest: int = 20_000) -> Failures:
        """The last ``limit`` failed attempts of the message with this seq; none if there is no such message.

        An error of up to ``longest`` bytes is whole. Of a longer one there are the beginning and the end,
        at most ``longest`` characters in all.
        """

    def plans(self, *, queue: str | None = None) -> list[Plan]:
        """Schedules by name, of a queue or all, up to MOST_SCHEDULES."""

    def sample(self, *, now: datetime | None = None) -> int:
        """Take the samples of the minutes that are over since the last, and forget old ones; how many taken.

        Minutes gone for longer than MADE_UP are not made up for, and those that are stand at the end as it
        is now. Where nothing happened and nothing waits there is no sample. Any number may call this at once:
        a minute is sampled once. A quarter of an hour is sampled when it is over, from its minutes.
        """

    def samples(
        self, span: timedelta, since: datetime, *, queue: str | None = None, now: datetime | None = None
    ) -> list[Sample]:
        """Samples of a span, a key of KEPT, that begin at ``since`` or later, oldest first."""

    def health(self) -> Health:
        """How the database is."""


def check_sheet(limit: int) -> None:
    """Raise InvalidSetting unless a page may have so many messages."""
    if not 1 <= limit <= LARGEST_SHEET:
        raise InvalidSetting(f"a page has 1 to {LARGEST_SHEET} messages, not {limit}")


def check_span(span: timedelta) -> None:
    """Raise InvalidSetting unless samples of this span are taken."""
    if span not in KEPT:
        raise InvalidSetting(f"samples are of 1 minute or of 15, not of {span}")
