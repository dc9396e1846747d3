"""What goes over the wire of the native API, as the server and the remote store both read and write it.

Lengths of time are seconds, moments ISO 8601 with a time zone, ids text, receipts opaque text. What is asked
with is read strictly: an unknown field is a mistake. What is answered with may grow.
"""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from rowmq.core.queue import LONGEST_SPAN

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


class Counted(Struct):
    """How many."""

    count: int


class Done(Struct):
    """Whether it changed anything."""

    changed: bool
