"""Moments and lengths of time, as protobuf has them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from rowmq.core.errors import InvalidSetting

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400


def stamp(moment: datetime | None) -> Timestamp | None:
    """A moment for the wire."""
    if moment is None:
        return None
    since = moment - EPOCH
    return Timestamp(seconds=since.days * DAY + since.seconds, nanos=since.microseconds * 1000)


def length(span: timedelta | None) -> Duration | None:
    """A length of time for the wire."""
    if span is None:
        return None
    whole, micros = divmod(span, timedelta(seconds=1))
    return Duration(seconds=whole, nanos=micros.microseconds * 1000)


def moment(said: Any, name: str) -> datetime | None:
    """The moment in a field of a message, if it is there."""
    found = _span(said, name)
    try:
        return None if found is None else EPOCH + found
    except OverflowError:
        raise InvalidSetting(f"{name} is no time that a calendar has") from None


def span(said: Any, name: str) -> timedelta | None:
    """The length of time in a field of a message, if it is there."""
    return _span(said, name)


def _span(said: Any, name: str) -> timedelta | None:
    if not said.HasField(name):
        return None
    found = getattr(said, name)
    try:
        return timedelta(seconds=found.seconds, microseconds=found.nanos / 1000)
    except OverflowError:
        raise InvalidSetting(f"{name} is longer than anything lasts") from None
