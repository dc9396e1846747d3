"""Durations in buckets."""

from datetime import timedelta

import pytest

from rowmq.core.durations import added, bucket, histogram, percentile


@pytest.mark.parametrize("micros", [2, 10, 999, 1_000, 54_321, 1_000_000, 86_400_000_000, 10**15])
def test_the_middle_of_a_bucket_is_within_a_tenth(micros: int) -> None:
    found = percentile({bucket(micros): 1}, 0.5)
    assert found is not None
    assert abs(found / timedelta(microseconds=micros) - 1) < 0.1


def test_longer_durations_are_in_no_lower_bucket() -> None:
    buckets = [bucket(each) for each in (0, 1, 2, 3, 5, 9, 100, 10_000, 10**9)]
    assert buckets == sorted(buckets)
    assert bucket(-5) == 0


def test_percentiles_are_those_of_all_that_was_added() -> None:
    both = added([histogram([1_000] * 90), histogram([1_000_000] * 10), {}])
    low, high = percentile(both, 0.9), percentile(both, 0.99)
    assert low is not None
    assert high is not None
    assert low < timedelta(milliseconds=1.1) < timedelta(milliseconds=900) < high


def test_of_nothing_there_is_no_percentile() -> None:
    assert percentile({}, 0.5) is None
    assert added([]) == {}
