from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from rowmq.core.clock import EPOCH, micros, moment, span


def test_moments_count_from_the_epoch_whatever_their_zone() -> None:
    zone = timezone(timedelta(hours=-7))
    assert micros(EPOCH) == 0
    assert micros(datetime(1970, 1, 1, 0, 0, 1, 2, tzinfo=UTC)) == 1_000_002
    assert micros(datetime(1969, 12, 31, 17, tzinfo=zone)) == 0
    assert micros(datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)) == -1_000_000


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_moment_comes_back_exactly(when: datetime) -> None:
    assert moment(micros(when)) == when
    assert moment(micros(when)).tzinfo is UTC


@given(st.timedeltas())
def test_a_span_comes_back_exactly(length: timedelta) -> None:
    assert timedelta(microseconds=span(length)) == length
