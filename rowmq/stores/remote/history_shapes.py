"""What can be looked up, and the store itself, on the wire."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from rowmq.core.history import Amendment
from rowmq.core.outcome import Reason, State
from rowmq.stores.remote.claim_shapes import Conditions
from rowmq.stores.remote.shapes import LARGEST_BATCH, LARGEST_PAGE, Asked, Moment, Seq

Page = Annotated[int, Meta(ge=1, le=LARGEST_PAGE)]


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
    """Which finished messages are archived; ``prune`` deletes them, ``before`` spares later ones."""

    seqs: Annotated[list[Seq], Meta(max_length=100_000)]
    prune: bool = False
    before: Moment | None = None


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


class StateQuery(Asked):
    """In one state only."""

    state: State | None = None


class HolderReceipt(Struct):
    """The receipt of whoever holds a message now; null if nobody does."""

    receipt: str | None


class Sweeping(Asked):
    """How many of each kind at most."""

    limit: Page = 1000


class SweptShape(Struct):
    """What a sweep did; ``more`` says that another would find work at once."""

    buried: int
    pruned: int
    forgotten: int
    more: bool


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
