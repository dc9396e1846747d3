"""What goes over the wire beside the life of messages: topics, consumers, schedules, history, the store."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from rowmq.core.history import Amendment
from rowmq.core.outcome import Reason, State
from rowmq.stores.remote.shapes import (
    LARGEST_BATCH,
    LARGEST_PAGE,
    LONGEST_WAIT,
    Asked,
    Conditions,
    Messages,
    Moment,
    NewMessage,
    Seq,
    Span,
)

Page = Annotated[int, Meta(ge=1, le=LARGEST_PAGE)]


class Publishing(Asked):
    """Messages for every queue bound to a topic, all or none."""

    messages: Messages


class Published(Struct):
    """How many queues got a copy of each message; with none, they are kept for the first to be bound."""

    queues: int


class TopicShape(Struct):
    """A topic and the queues bound to it."""

    topic: str
    queues: list[str]


class TopicList(Struct):
    """Topics by name."""

    topics: list[TopicShape]


class Beating(Asked):
    """For how long the consumer is taken to be alive."""

    ttl: Span


class Place(Struct):
    """A consumer's place, in birth order, among those of its queue that are alive."""

    index: int
    count: int
    joined: bool


class ConsumerShape(Struct):
    """A consumer that is alive."""

    queue: str
    name: str
    born_at: datetime
    alive_until: datetime


class ConsumerList(Struct):
    """Consumers by queue and birth."""

    consumers: list[ConsumerShape]


class Leading(Asked):
    """Who wants the lead of a role, and for how long from now."""

    role: str
    consumer: str
    ttl: Span


class Led(Struct):
    """Whether it has the lead."""

    leads: bool


class SchedulePut(Asked):
    """What to push, by ``cron`` in a time zone or ``every`` so many seconds."""

    queue: str
    message: NewMessage
    cron: str | None = None
    every: Span | None = None
    timezone: str = "UTC"
    catch_up: Literal["one", "all", "none"] = "one"


class ScheduleShape(Struct, kw_only=True):
    """A schedule as it is stored; ``spec`` is the scheduler's own text."""

    name: str
    queue: str
    spec: str
    message: NewMessage
    next_at: Moment
    paused: bool = False


class ScheduleList(Struct):
    """Schedules by name."""

    schedules: list[ScheduleShape]


class Firing(Asked):
    """The tick to push the schedule's message for, and the one after it."""

    tick: Moment
    following: Moment


class Fired(Struct):
    """Whether this call fired it; otherwise somebody else was here, or it is paused or gone."""

    fired: bool


class RecordShape(Struct, omit_defaults=True, kw_only=True):
    """A message in whatever state it is. The payload is left out once a queue has dropped it."""

    seq: int
    id: UUID
    queue: str
    state: State
    metadata: dict[str, str] = {}
    priority: int
    group: str | None
    key: str | None
    created_at: datetime
    scheduled_for: datetime | None
    deadline: datetime | None
    visible_at: datetime | None
    attempts: int
    receives: int
    consumer: str | None
    started_at: datetime | None
    finished_at: datetime | None
    reason: Reason | None
    source: str | None
    payload: Raw | UnsetType = UNSET
    base64: bytes | UnsetType = UNSET
    binary: bool
    result: Raw | UnsetType = UNSET
    result_base64: bytes | UnsetType = UNSET


class Finding(Asked):
    """Which messages to look for; ``after`` is where the page before ended."""

    queue: str | None = None
    state: State | None = None
    where: Conditions = []  # noqa: RUF012 - msgspec copies it
    since: Moment | None = None
    until: Moment | None = None
    after: Seq = 0
    limit: Page = 100


class FindQuery(Asked):
    """Which messages to look for; ``where`` is ``key=value``, ``key!=value`` or ``key``, maybe several."""

    queue: str | None = None
    state: State | None = None
    where: list[str] = []  # noqa: RUF012 - msgspec copies it
    since: Moment | None = None
    until: Moment | None = None
    after: Seq = 0
    limit: Page = 100


class PageShape(Struct):
    """Messages in the order they were pushed, and where to go on; null: there are no more."""

    messages: list[RecordShape]
    after: int | None


class FailureShape(Struct):
    """An attempt that went wrong."""

    attempt: int
    queue: str
    consumer: str | None
    started_at: datetime | None
    ended_at: datetime
    error: str


class FailureList(Struct):
    """Failed attempts, oldest first."""

    failures: list[FailureShape]


class Amending(Asked):
    """What to do to messages without holding them; ``to`` is where a move goes."""

    ids: Annotated[list[UUID], Meta(max_length=LARGEST_BATCH)]
    amendment: Amendment
    to: str | None = None


class ScanQuery(Asked):
    """Every message with a seq from ``first`` to ``last``, maybe of one queue and in one state."""

    first: Seq = 0
    last: Seq = 2**63 - 1
    queue: str | None = None
    state: State | None = None


class Bounds(Struct):
    """The lowest and the highest seq stored."""

    first: int
    last: int


class Archiving(Asked):
    """Which finished messages are archived; ``prune`` deletes them."""

    seqs: Annotated[list[Seq], Meta(max_length=100_000)]
    prune: bool = False


class LedgerShape(Struct):
    """A record that messages were deleted."""

    at: datetime
    queue: str
    action: str
    count: int
    first_seq: int
    last_seq: int


class LedgerList(Struct):
    """What was deleted, oldest first."""

    entries: list[LedgerShape]


class QueueQuery(Asked):
    """Of one queue only."""

    queue: str | None = None


class DueQuery(Asked):
    """Only schedules, not paused, whose next tick is due then."""

    due: Moment | None = None


class Sweeping(Asked):
    """How many of each kind at most."""

    limit: Page = 1000


class SweptShape(Struct):
    """What a sweep did; ``more`` says that another would find work at once."""

    buried: int
    pruned: int
    forgotten: int
    more: bool


class WaitQuery(Asked):
    """The queues to wait for, and for how many seconds at most."""

    queue: Annotated[list[str], Meta(min_length=1, max_length=100)]
    timeout: Annotated[float, Meta(ge=0, le=LONGEST_WAIT)] = LONGEST_WAIT


class Waiting(Asked):
    """The same, for any number of queues."""

    queue: Annotated[list[str], Meta(max_length=LARGEST_BATCH)]
    timeout: Annotated[float, Meta(ge=0, le=LONGEST_WAIT)] = LONGEST_WAIT


class Woken(Struct):
    """Whether something may have been pushed."""

    woken: bool


class DurabilityShape(Struct):
    """What an acknowledged write survives: A power loss, B a crash, C neither."""

    grade: Literal["A", "B", "C"]
    because: str


class StoreShape(Struct):
    """The store behind the server: its clock, what its writes survive, and the server's version."""

    now: datetime
    durability: DurabilityShape
    version: str


class LineError(Struct):
    """A line that was not stored, or the first of ``lines`` that were not, and why."""

    line: int
    lines: int
    code: str
    detail: str


class Imported(Struct):
    """How a stream of messages went: lines read, stored, seen before and failed; ``complete``: to its end."""

    lines: int
    stored: int
    seen: int
    failed: int
    complete: bool
    errors: list[LineError]


class StateQuery(Asked):
    """In one state only."""

    state: State | None = None


class HolderReceipt(Struct):
    """The receipt of whoever holds a message now; null if nobody does."""

    receipt: str | None
