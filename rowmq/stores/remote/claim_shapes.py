"""Claims on the wire: what is wanted, what is got, and what becomes of it."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from rowmq.core.delivery import LARGEST_CLAIM
from rowmq.core.outcome import Reason, Settled
from rowmq.stores.remote.shapes import LARGEST_BATCH, LONGEST_WAIT, Asked, Moment, Seq, Span, Wait


class Meets(Asked):
    """A condition on one metadata key; ``!=`` also holds where the key is missing."""

    key: str
    operator: Literal["=", "!=", "in", "exists"]
    values: Annotated[list[str], Meta(max_length=1000)] = []  # noqa: RUF012 - msgspec copies it


Conditions = dict[str, str | list[str]] | list[Meets]
"""``{"lang": ["en", "de"], "v": "1"}``, or conditions one by one."""


class Wanted(Asked):
    """Up to ``limit`` messages, under a lease; without one the queue's own holds."""

    limit: Annotated[int, Meta(ge=1, le=LARGEST_CLAIM)] = 1
    lease: Span | None = None
    consumer: str | None = None
    where: Conditions = []  # noqa: RUF012 - msgspec copies it
    max_age: Span | None = None
    per_group: Annotated[int, Meta(ge=1, le=LARGEST_CLAIM)] = 1
    name: str | None = None
    again: bool = False
    upto: Seq | None = None
    since: Moment | None = None
    until: Moment | None = None
    share: bool = True
    wait: Wait = 0


class Wants(Asked):
    """What several callers want, first wants first."""

    wants: Annotated[list[Wanted], Meta(max_length=1000)]


IdText = Annotated[str, Meta(extra_json_schema={"format": "uuid"})]
"""A message's id, where a thousand of them come together and nobody may look at any."""


class Claimed(Struct, omit_defaults=True):
    """A claimed message. The ``receipt`` settles and extends it; the payload is as in a push."""

    receipt: str
    id: IdText
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
