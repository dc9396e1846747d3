"""Moments and spans as whole microseconds, which is how every store keeps them."""

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """Microseconds from the epoch to an aware moment."""
    return (moment - EPOCH) // _MICROSECOND


def moment(micros: int) -> datetime:
    """The aware UTC moment that many microseconds after the epoch."""
    return EPOCH + timedelta(microseconds=micros)


def span(length: timedelta) -> int:
    """A length of time in microseconds."""
    return length // _MICROSECOND
