"""Queues on the wire: their settings, and how full they are."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from rowmq.core.outcome import State
from rowmq.core.queue import LARGEST_LENGTH, LARGEST_RATE, Archive, Guarantee
from rowmq.stores.remote.shapes import Asked, Count, Moment, Span


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
    """What to delete: what waits, or what is in one state; what was pushed before a moment; how many."""

    state: State | None = None
    before: Moment | None = None
    limit: Count | None = None


class Redriving(Asked):
    """Where to, if not where they came from; and how many at most."""

    to: str | None = None
    limit: Count | None = None


class QueueQuery(Asked):
    """Of one queue only."""

    queue: str | None = None
