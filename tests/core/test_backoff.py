from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowmq.core.backoff import Backoff
from rowmq.core.errors import InvalidSetting


def seconds(backoff: Backoff, attempt: int, draw: float = 0.5) -> float:
    return backoff.delay(attempt, draw).total_seconds()


def test_the_wait_grows_by_its_factor_up_to_its_cap() -> None:
    backoff = Backoff(first=timedelta(seconds=1), factor=3, cap=timedelta(seconds=60), jitter=0)
    assert [seconds(backoff, attempt) for attempt in range(1, 7)] == [1, 3, 9, 27, 60, 60]


def test_jitter_makes_the_wait_longer_or_shorter_by_its_share() -> None:
    backoff = Backoff(first=timedelta(seconds=10), jitter=0.2)
    assert [seconds(backoff, 1, draw) for draw in (0, 0.5, 1)] == [8, 10, 12]


def test_without_jitter_the_draw_does_not_matter() -> None:
    backoff = Backoff(jitter=0)
    assert seconds(backoff, 1, 0) == seconds(backoff, 1, 1) == 1


@pytest.mark.parametrize("attempt", [2000, 10**9, 2**31 - 1])
@pytest.mark.parametrize("factor", [1.0, 2.0, 100.0])
def test_the_wait_after_any_number_of_attempts_is_finite(attempt: int, factor: float) -> None:
    backoff = Backoff(factor=factor, jitter=0, cap=timedelta(hours=1))
    assert seconds(backoff, attempt) == (1 if factor == 1 else 3600)


def test_a_backoff_of_nothing_waits_for_nothing() -> None:
    backoff = Backoff(first=timedelta(0))
    assert [seconds(backoff, attempt, 1) for attempt in (1, 5, 100)] == [0, 0, 0]


@given(st.integers(1, 10_000), st.floats(0, 1), st.floats(1, 100), st.floats(0, 1))
def test_the_wait_is_never_negative_and_never_far_past_its_cap(
    attempt: int, draw: float, factor: float, jitter: float
) -> None:
    backoff = Backoff(factor=factor, jitter=jitter)
    assert timedelta(0) <= backoff.delay(attempt, draw) <= 2 * backoff.cap


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"first": timedelta(seconds=-1)}, "0 <= first <= cap"),
        ({"first": timedelta(hours=2)}, "0 <= first <= cap"),
        ({"factor": 0.9}, "factor is between 1 and 100, not 0.9"),
        ({"factor": 101}, "factor is between"),
        ({"factor": float("nan")}, "factor is between"),
        ({"jitter": -0.1}, "jitter is between 0 and 1, not -0.1"),
        ({"jitter": 1.1}, "jitter is between"),
        ({"jitter": float("nan")}, "jitter is between"),
    ],
    ids=str,
)
def test_a_wrong_backoff_is_refused_with_the_reason(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidSetting, match=complaint):
        Backoff(**options)
