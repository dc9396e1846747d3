"""What samples are made of."""

from datetime import timedelta
from typing import Any

import pytest

from rowmq.core.clock import moment
from rowmq.core.monitor import MINUTE, QUARTER, Counts, Sample
from rowmq.core.sampling import Ended, Position, Tally, due, measured, quarters, sampled, unrolled

SECOND = 1_000_000
M = 60 * SECOND


@pytest.mark.parametrize(
    ("last", "now", "minutes"),
    [
        (None, 10 * M + 5, [9]),
        (10 * M, 10 * M + 5, []),
        (9 * M, 10 * M, [9]),
        (7 * M, 10 * M + 59 * SECOND, [7, 8, 9]),
        (0, 100 * M, list(range(85, 100))),
        (12 * M, 10 * M, []),
        (10 * M + 60 * M, 10 * M, []),
        (10 * M + 61 * M, 10 * M, [9]),
    ],
)
def test_the_minutes_that_are_over_are_due(last: int | None, now: int, minutes: list[int]) -> None:
    assert due(last, now) == [minute * M for minute in minutes]


def test_what_is_older_counts_in_the_first_minute_only_if_the_minute_before_was_sampled() -> None:
    following, resumed = (Tally([5 * M, 6 * M], Position(until, 0, 0)) for until in (5 * M, 3 * M))
    for tally in (following, resumed, Tally([5 * M], None)):
        tally.add("pushed", "q", 4 * M, 2)
        tally.add("pushed", "q", 5 * M + 1)
        tally.add("done", "q", 5 * M, 0)
    assert following.happened == {("q", 5 * M): {"pushed": 3}}
    assert resumed.happened == {("q", 5 * M): {"pushed": 1}}


def test_durations_are_never_less_than_nothing() -> None:
    odd = Ended(created_at=100, scheduled_for=None, started_at=50, finished_at=40)
    assert measured([odd, odd._replace(started_at=None)]) == {"waits": {0: 1}, "runs": {0: 1}}


def test_there_are_samples_of_what_happened_and_of_what_waits() -> None:
    standing = {"b": Counts(ready=1), "a": Counts(dead=5), "c": Counts()}
    found = sampled([0, M], {("c", M): {"done": 2}}, standing)
    assert [(each.queue, each.at, each.ready, each.done) for each in found] == [
        ("b", moment(0), 1, 0),
        ("b", moment(M), 1, 0),
        ("c", moment(M), 0, 2),
    ]


def test_a_quarter_has_the_sums_of_its_minutes_and_stands_as_the_last_of_them() -> None:
    def minute(number: int, **options: Any) -> Sample:
        return Sample(queue="q", at=moment(number * M), span=MINUTE, **options)

    parts = [minute(1, pushed=1, ready=9, waits={3: 1}), minute(14, pushed=2, failed=4, waits={3: 2, 5: 1})]
    first, second = quarters([*parts, minute(15, dead=1, runs={1: 1})])
    assert first == Sample(
        queue="q", at=moment(0), span=QUARTER, pushed=3, failed=4, waits={3: 3, 5: 1}, runs={}
    )
    assert (second.at, second.dead, second.runs) == (moment(15 * M), 1, {1: 1})


def test_quarters_are_made_from_where_they_were_last_made() -> None:
    assert unrolled(None, 47 * M) == 45 * M
    assert unrolled(Position(20 * M, 0, 0), 47 * M) == 15 * M
    assert unrolled(Position(60 * M, 0, 0), 47 * M) == 45 * M
    assert timedelta(minutes=15) == QUARTER
