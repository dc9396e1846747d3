"""On what terms a worker works: its options as users say them, and checked."""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypedDict

from rowmq.core.delivery import Want
from rowmq.core.errors import InvalidSetting
from rowmq.core.names import check_name
from rowmq.core.where import Where
from rowmq.runtime.answers import Seconds
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.consumer import new_name
from rowmq.runtime.log import logger
from rowmq.runtime.middleware import Middleware
from rowmq.runtime.options import Filter, as_span, as_span_or_none, as_where

OnInvalid = Callable[[ClaimedMessage, Exception], object]


class WorkerOptions(TypedDict, total=False):
    """How a worker works, as users say it. Spans are seconds or timedelta."""

    concurrency: int
    buffer: int
    batch: int
    poll: Seconds
    lease: Seconds | None
    where: Filter
    max_age: Seconds | None
    since: datetime | None
    until: datetime | None
    timeout: Seconds | None
    stop_when_empty: bool
    on_invalid: OnInvalid | None
    middleware: Sequence[Middleware]
    metrics: Middleware | None
    logger: logging.Logger | None
    name: str | None
    sweep: bool
    schedules: bool
    sweep_every: Seconds


class Terms(NamedTuple):
    """The same, checked; lengths of time in seconds where only the wall clock is meant."""

    concurrency: int = 8
    buffer: int = 2000
    batch: int = 1000
    poll: float = 1.0
    lease: timedelta | None = None
    where: Where = ()
    max_age: timedelta | None = None
    since: datetime | None = None
    until: datetime | None = None
    timeout: float | None = None
    stop_when_empty: bool = False
    on_invalid: OnInvalid | None = None
    middleware: Sequence[Middleware] = ()
    metrics: Middleware | None = None
    logger: logging.Logger = logger
    name: str = ""
    sweep: bool = True
    schedules: bool = True
    sweep_every: float = 10.0


def terms_of(options: Mapping[str, Any]) -> Terms:
    """Terms from a user's options; each that cannot be is refused with a clear word."""
    unknown = set(options) - set(Terms._fields)
    if unknown:
        known = ", ".join(Terms._fields)
        raise InvalidSetting(f"a worker has no option {', '.join(sorted(unknown))}; it has {known}")
    said = {**Terms._field_defaults, **options}
    for name in ("concurrency", "buffer", "batch"):
        if not isinstance(said[name], int) or said[name] < 1:
            raise InvalidSetting(f"a worker's {name} is a whole number of at least 1, not {said[name]!r}")
    said |= {name: as_span_or_none(said[name], name) for name in ("lease", "max_age")}
    said |= {name: _seconds(said[name], name) for name in ("poll", "timeout", "sweep_every")}
    said |= {"where": as_where(said["where"]), "name": said["name"] or new_name()}
    said |= {"logger": said["logger"] or logger, "middleware": _all_middleware(said)}
    check_name(said["name"], "worker name")
    asked = {name: said[name] for name in ("lease", "max_age", "since", "until")}
    Want(limit=said["batch"], **asked)  # a claim's own rules, asked early
    return Terms(**said)


def _all_middleware(said: Mapping[str, Any]) -> Sequence[Middleware]:
    return said["middleware"] if said["metrics"] is None else [*said["middleware"], said["metrics"]]


def _seconds(value: Seconds | None, name: str) -> float | None:
    if value is None:
        return None
    length = as_span(value, name).total_seconds()
    if length <= 0:
        raise InvalidSetting(f"a worker's {name} is longer than 0, not {value}")
    return length
