"""What goes over the wire of the native API, as the server and the remote store both read and write it.

Lengths of time are seconds, moments ISO 8601 with a time zone, ids text, receipts opaque text. What is asked
with is read strictly: an unknown field is a mistake. What is answered with may grow.
"""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from rowmq.core.delivery import LARGEST_CLAIM
from rowmq.core.outcome import Reason, Settled, State
from rowmq.core.queue import LARGEST_LENGTH, LARGEST_RATE, LONGEST_SPAN, Archive, Guarantee

LARGEST_BATCH = 10_000
LONGEST_WAIT = 20
LARGEST_PAGE = 10_000
LARGEST_SEQ = 2**63 - 1
Span = Annotated[float, Meta(ge=0, le=LONGEST_SPAN.total_seconds(), description="Seconds.")]
Moment = Annotated[datetime, Meta(tz=True)]
Seq = Annotated[int, Meta(ge=0, le=LARGEST_SEQ)]
Wait = Annotated[float, Meta(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the first message.")]
Count = Annotated[int, Meta(ge=1, le=2**31 - 1)]


class Asked(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a caller sends."""


# Messages.


class NewMessage(Asked):
    """A message to push: a JSON ``payload``, or bytes as ``base64``, which ``binary`` false calls JSON text.

    The same ``id`` with the same message again is stored once, so whoever gives one may repeat a push.
    """

    payload: Raw | UnsetType = UNSET
    base64: bytes | UnsetType = UNSET
    binary: bool = True
    id: UUID | None = None
    metadata: dict[str, str] = {}
    delay: Span | None = None
    at: Moment | None = None
    priority: Annotated[int, Meta(ge=0, le=9)] = 0
    deadline: Moment | None = None
    key: str | None = None
    window: Span = 300
    group: str | None = None


Messages = Annotated[list[NewMessage], Meta(max_length=LARGEST_BATCH)]


class NewBatch(Asked):
    """Messages for one queue, stored together or not at all."""

    queue: str
    messages: Messages


class NewBatches(Asked):
    """Several batches; each is stored whole or not at all."""

    batches: Annotated[list[NewBatch], Meta(max_length=LARGEST_BATCH)]


class Stored(Struct):
    """A batch that counts: an id and a seq for each message, and the positions that had been seen before."""

    ids: list[UUID]
    seqs: list[int]
    seen: list[int]


class Problem(Struct, omit_defaults=True):
    """Why not (RFC 9457). ``code`` is the name of the error."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    queue: str | UnsetType = UNSET
    schedule: str | UnsetType = UNSET


class BatchAnswer(Struct, omit_defaults=True):
    """What became of one batch: it was stored, or why not."""

    stored: Stored | None = None
    problem: Problem | None = None


class BatchAnswers(Struct):
    """An answer for each batch, in order."""

    results: list[BatchAnswer]


# Claims.


class Meets(Asked):
    """A condition on one metadata key; ``!=`` also holds where the key is missing."""

    key: str
    operator: Literal["=", "!=", "in", "exists"]
    values: Annotated[list[str], Meta(max_length=1000)] = []


Conditions = dict[str, str | list[str]] | list[Meets]
"""``{"lang": ["en", "de"], "v": "1"}``, or conditions one by one."""


class Wanted(Asked):
    """Up to ``limit`` messages, under a lease; without one the queue's own holds."""

    limit: Annotated[int, Meta(ge=1, le=LARGEST_CLAIM)] = 1
    lease: Span | None = None
    consumer: str | None = None
    where: Conditions = []
    max_age: Span | None = None
    per_group: Annotated[int, Meta(ge=1, le=LARGEST_CLAIM)] = 1
    name: str | None = None
    upto: Seq | None = None
    share: bool = True
    wait: Wait = 0


class Wants(Asked):
    """What several callers want, first wants first."""

    wants: Annotated[list[Wanted], Meta(max_length=1000)]


class Claimed(Struct, omit_defaults=True):
    """A claimed message. The ``receipt`` settles and extends it; the payload is as in a push."""

    receipt: str
    id: UUID
    queue: str
    metadata: dict[str, str]
    attempt: int
    max_attempts: int | None
    receives: int
    priority: int
    group: str | None
    created_at: datetime
    deadline: datetime | None
    lease_until: datetime
    source: str | None
    payload: Raw | UnsetType = UNSET
    base64: bytes | UnsetType = UNSET
    binary: bool | UnsetType = UNSET


class ClaimedMessages(Struct):
    """What was claimed."""

    messages: list[Claimed]


class ClaimedLists(Struct):
    """What each want got, in order."""

    results: list[list[Claimed]]


class NamedClaim(Asked):
    """A whole named claim, held by the run that has this token."""

    name: str
    token: str


Held = str | NamedClaim


class Adopting(Asked):
    """The name of a claim to take over."""

    name: str
    lease: Span | None = None


class AdoptedClaim(Struct):
    """A named claim taken over: its new token, how often it was, and what is left of it."""

    claim: NamedClaim
    runs: int
    messages: list[Claimed]


class Extending(Asked):
    """Receipts, and for how long from now their leases shall last."""

    receipts: Annotated[list[Held], Meta(max_length=LARGEST_CLAIM)]
    lease: Span


class Extended(Struct):
    """The new end of each lease; null where the receipt is lost."""

    until: list[datetime | None]


class AckShape(Asked, tag_field="outcome", tag="ack"):
    """It is done; the result is kept as long as the outcome is."""

    receipt: Held
    result: Raw | UnsetType = UNSET
    result_base64: bytes | UnsetType = UNSET


class RetryShape(Asked, tag_field="outcome", tag="retry"):
    """It failed and comes back after a delay, or dies if that was its last attempt."""

    receipt: Held
    delay: Span = 0
    error: str | None = None


class ReleaseShape(Asked, tag_field="outcome", tag="release"):
    """It was not tried: it comes back, and the attempt does not count."""

    receipt: Held
    delay: Span = 0


class BuryShape(Asked, tag_field="outcome", tag="bury"):
    """It is dead, or goes to the dead-letter queue if there is one."""

    receipt: Held
    reason: Reason = Reason.KILLED
    error: str | None = None


SettlementShape = AckShape | RetryShape | ReleaseShape | BuryShape


class Settling(Asked):
    """What became of claimed messages."""

    settlements: Annotated[list[SettlementShape], Meta(max_length=LARGEST_CLAIM)]


class SettledAll(Struct):
    """For each receipt: it counted, it had counted already, or the message went on without it."""

    results: list[Settled]


# Queues.


class BackoffShape(Asked, omit_defaults=False):
    """How long a failed message waits: min(first * factor ** (attempt - 1), cap), give or take the jitter."""

    first: Span = 1
    factor: Annotated[float, Meta(ge=1, le=100)] = 2.0
    cap: Span = 3600
    jitter: Annotated[float, Meta(ge=0, le=1)] = 0.1


class RateShape(Asked, omit_defaults=False):
    """At most about ``limit`` messages in each ``period``."""

    limit: Annotated[int, Meta(ge=1, le=LARGEST_RATE)]
    period: Span


class QueueChanges(Asked):
    """The settings to change; what is left out stays as it is, or as new queues have it."""

    max_attempts: Count | UnsetType | None = UNSET
    lease: Span | UnsetType = UNSET
    delay: Span | UnsetType = UNSET
    backoff: BackoffShape | UnsetType = UNSET
    delivery: Guarantee | UnsetType = UNSET
    fifo: bool | UnsetType = UNSET
    retention: Span | UnsetType | None = UNSET
    max_age: Span | UnsetType | None = UNSET
    dead_letter: str | UnsetType | None = UNSET
    paused: bool | UnsetType = UNSET
    max_length: Annotated[int, Meta(ge=1, le=LARGEST_LENGTH)] | UnsetType | None = UNSET
    archive: Archive | UnsetType = UNSET
    tags: dict[str, str] | UnsetType = UNSET
    rate: RateShape | UnsetType | None = UNSET


class QueueShape(Struct):
    """A queue and its settings."""

    name: str
    max_attempts: int | None
    lease: float
    delay: float
    backoff: BackoffShape
    delivery: Guarantee
    fifo: bool
    retention: float | None
    max_age: float | None
    dead_letter: str | None
    paused: bool
    max_length: int | None
    archive: Archive
    tags: dict[str, str]
    rate: RateShape | None


class QueueList(Struct):
    """Queues by name."""

    queues: list[QueueShape]


class Depth(Struct):
    """How many messages a queue has in each state; for how many seconds the oldest ready one has waited."""

    ready: int
    scheduled: int
    leased: int
    done: int
    dead: int
    oldest_age: float | None


class Purging(Asked):
    """What to delete: what still waits, or what is in one state; only what was pushed before a moment."""

    state: State | None = None
    before: Moment | None = None


class Redriving(Asked):
    """Where to, if not where they came from; and how many at most."""

    to: str | None = None
    limit: Count | None = None


class Counted(Struct):
    """How many."""

    count: int


class Done(Struct):
    """Whether it changed anything."""

    changed: bool
