"""A queue and its settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

from rowmq.core.backoff import Backoff
from rowmq.core.errors import InvalidSetting
from rowmq.core.names import check_name

LONGEST_SPAN = timedelta(days=3650)
LARGEST_LENGTH = 100_000
LARGEST_RATE = 1_000_000


class Guarantee(StrEnum):
    """How often a queue may deliver one message.

    ``at_least_once``: again and again until it is acked; ``at_most_once``: a holder that vanishes takes
    the message with it.
    """

    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


class Archive(StrEnum):
    """Whether retention must wait for the archive: ``required`` that it must, ``optional`` that not."""

    OPTIONAL = "optional"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Rate:
    """At most about ``limit`` messages are claimed in each ``period``, by all claimers together.

    A bucket holds ``limit`` messages and refills evenly by the store's clock. Each delivery takes one out,
    and nothing puts one back: neither a release nor a retry.

    >>> Rate(100, timedelta(seconds=1)).limit
    100
    """

    limit: int
    period: timedelta

    def __post_init__(self) -> None:
        if not _is_whole(self.limit) or not 1 <= self.limit <= LARGEST_RATE:
            raise InvalidSetting(
                f"a rate's limit is a whole number from 1 to {LARGEST_RATE}, not {self.limit!r}"
            )
        _check_span(
            "a rate's period", self.period, shortest=timedelta(milliseconds=1), longest=timedelta(days=1)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A queue's name and settings; every one can be changed while the queue is in use.

    ``max_attempts`` None is unlimited, ``retention`` None keeps finished messages for ever and 0 drops
    the payload at the ack, ``max_age`` None never expires, ``max_length`` None never refuses, ``rate`` None
    delivers as fast as it is claimed. A changed rate counts from the next claim on.

    >>> Queue(name="emails", max_attempts=3).lease
    datetime.timedelta(seconds=30)
    """

    name: str
    max_attempts: int | None = 5
    lease: timedelta = timedelta(seconds=30)
    delay: timedelta = timedelta(0)
    backoff: Backoff = field(default_factory=Backoff)
    delivery: Guarantee = Guarantee.AT_LEAST_ONCE
    fifo: bool = False
    retention: timedelta | None = timedelta(days=7)
    max_age: timedelta | None = None
    dead_letter: str | None = None
    paused: bool = False
    max_length: int | None = None
    archive: Archive = Archive.OPTIONAL
    tags: Mapping[str, str] = field(default_factory=dict)
    rate: Rate | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        self._check_numbers()
        _check_span("lease", self.lease, shortest=timedelta(milliseconds=1))
        _check_span("delay", self.delay)
        for name, value in (("retention", self.retention), ("max_age", self.max_age)):
            if value is not None:
                _check_span(
                    name, value, shortest=timedelta(milliseconds=1) if name == "max_age" else timedelta(0)
                )
        self._check_choices()
        self._check_tags()
        if self.dead_letter is not None:
            check_name(self.dead_letter, "dead-letter queue name")
        if self.dead_letter == self.name:
            raise InvalidSetting(f"queue {self.name!r} cannot be its own dead-letter queue")

    def _check_numbers(self) -> None:
        for name, value, largest in (
            ("max_attempts", self.max_attempts, 2**31 - 1),
            ("max_length", self.max_length, LARGEST_LENGTH),
        ):
            if value is not None and (not _is_whole(value) or not 1 <= value <= largest):
                raise InvalidSetting(f"{name} is a whole number from 1 to {largest}, or None, not {value!r}")

    def _check_choices(self) -> None:
        if not isinstance(self.backoff, Backoff):
            raise InvalidSetting(f"backoff is a Backoff, not {self.backoff!r}")
        if self.rate is not None and not isinstance(self.rate, Rate):
            raise InvalidSetting(f"rate is a Rate or None, not {self.rate!r}")
        for name, value, choices in (
            ("delivery", self.delivery, Guarantee),
            ("archive", self.archive, Archive),
        ):
            if value not in list(choices):
                raise InvalidSetting(f"{name} is one of {', '.join(choices)}, not {value!r}")
        for name, flag in (("fifo", self.fifo), ("paused", self.paused)):
            if not isinstance(flag, bool):
                raise InvalidSetting(f"{name} is True or False, not {flag!r}")

    def _check_tags(self) -> None:
        for key, value in self.tags.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise InvalidSetting(f"tags map strings to strings, but {key!r} has {value!r}")


def changed(queue: Queue, changes: Mapping[str, Any]) -> Queue:
    """The queue with some settings changed, all of them checked again."""
    unknown = set(changes) - set(Queue.__dataclass_fields__) | ({"name"} & set(changes))
    if unknown:
        raise InvalidSetting(f"a queue has no setting {', '.join(sorted(unknown))}")
    values = {name: getattr(queue, name) for name in Queue.__dataclass_fields__}
    return Queue(**{**values, **changes})


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_span(
    name: str, value: object, *, shortest: timedelta = timedelta(0), longest: timedelta = LONGEST_SPAN
) -> None:
    if not isinstance(value, timedelta):
        raise InvalidSetting(f"{name} is a timedelta, not {value!r}")
    if not shortest <= value <= longest:
        raise InvalidSetting(f"{name} is between {shortest} and {longest.days} days, not {value}")
