from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowmq.core.queue import Rate
from rowmq.core.rate import SKEW, WHOLE, Bucket, drained, refilled

SECOND = 1_000_000
TEN = Rate(10, timedelta(seconds=1))


def test_a_bucket_never_used_is_full() -> None:
    assert refilled(None, TEN, 5) == Bucket(10 * WHOLE, 5)
    assert refilled(None, TEN, 5).messages == 10


@pytest.mark.parametrize(
    ("passed", "expected"), [(0, 0), (99_999, 0), (100_000, 1), (SECOND // 2, 5), (SECOND, 10), (10**15, 10)]
)
def test_a_bucket_refills_evenly_up_to_its_limit(passed: int, expected: int) -> None:
    assert refilled(Bucket(0, 7), TEN, 7 + passed).messages == expected


def test_what_goes_is_taken_out() -> None:
    assert drained(refilled(None, TEN, 0), 3) == Bucket(7 * WHOLE, 0)


@pytest.mark.parametrize(("limit", "expected"), [(5, 5), (10, 6), (100, 15)])
def test_another_rate_goes_on_with_the_same_bucket(limit: int, expected: int) -> None:
    """What is left stays, but no more than the new limit, and from here on the new rate refills it."""
    assert (
        refilled(Bucket(5 * WHOLE, 0), Rate(limit, timedelta(seconds=1)), SECOND // 10).messages == expected
    )


def test_a_claim_that_comes_a_little_late_neither_gains_nor_takes_back_time() -> None:
    assert refilled(Bucket(3, 100), TEN, 90) == Bucket(3, 100)


def test_a_clock_that_was_set_back_does_not_stop_a_queue() -> None:
    assert refilled(Bucket(0, SKEW + SECOND), TEN, 0).messages == 0
    assert refilled(Bucket(0, SKEW + SECOND + 1), TEN, 0).messages == 10


@given(
    limit=st.integers(1, 1_000_000),
    period=st.integers(1000, 86_400 * SECOND),
    steps=st.lists(st.integers(0, 10**9), max_size=50),
)
def test_no_more_goes_than_a_full_bucket_and_its_refill(limit: int, period: int, steps: list[int]) -> None:
    rate, bucket, now, went = Rate(limit, timedelta(microseconds=period)), None, 0, 0
    for step in steps:
        now += step
        full = refilled(bucket, rate, now)
        assert 0 <= full.messages <= limit
        if full.messages:
            went += full.messages
            bucket = drained(full, full.messages)
        assert went <= limit + now * limit // period
    assert refilled(bucket, rate, now + period).messages == limit
