from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from rowmq.core.backoff import Backoff
from rowmq.core.errors import InvalidMessage, InvalidSetting
from rowmq.core.outcome import (
    ACK,
    LARGEST_RESULT,
    Ack,
    Bury,
    Failure,
    Outcome,
    Owed,
    Reason,
    Release,
    Retry,
    decide,
    group_of,
    lease_end,
    overdue,
    settled_as,
)
from rowmq.core.queue import Guarantee, Queue

NONE = Backoff(jitter=0)
SECOND = 1_000_000
ONCE = Guarantee.AT_MOST_ONCE


def queue(**settings: Any) -> Queue:
    return Queue(name="q", **settings)


def owed(*, attempts: int = 0, held: bool = False, deadline: int | None = None, created_at: int = 0) -> Owed:
    return Owed(attempts, held, deadline, created_at)


# What a handler's result means.


@pytest.mark.parametrize(
    ("attempt", "failure", "max_attempts", "expected"),
    [
        (1, None, 1, ACK),
        (9, None, 1, ACK),
        (1, Failure(error="x"), 3, Retry(delay=timedelta(seconds=1), error="x")),
        (2, Failure(error="x"), 3, Retry(delay=timedelta(seconds=2), error="x")),
        (3, Failure(error="x"), 3, Bury(reason=Reason.EXHAUSTED, error="x")),
        (4, Failure(error="x"), 3, Bury(reason=Reason.EXHAUSTED, error="x")),
        (99, Failure(error="x"), None, Retry(delay=timedelta(hours=1), error="x")),
        (1, Failure(error="x", kill=True), 3, Bury(reason=Reason.KILLED, error="x")),
        (3, Failure(error="x", kill=True), 3, Bury(reason=Reason.KILLED, error="x")),
        (1, Failure(error="x", invalid=True), 3, Bury(reason=Reason.INVALID, error="x")),
        (1, Failure(error="x", invalid=True, kill=True), 3, Bury(reason=Reason.INVALID, error="x")),
        (1, Failure(error="x", after=timedelta(0)), 3, Retry(delay=timedelta(0), error="x")),
        (1, Failure(error="x", after=timedelta(days=2)), 3, Retry(delay=timedelta(days=2), error="x")),
        (3, Failure(error="x", after=timedelta(days=2)), 3, Bury(reason=Reason.EXHAUSTED, error="x")),
    ],
)
def test_an_attempt_is_decided(
    attempt: int, failure: Failure | None, max_attempts: int | None, expected: Outcome
) -> None:
    assert decide(attempt, failure, max_attempts=max_attempts, backoff=NONE, draw=0.5) == expected


def test_a_retry_is_spread_by_the_draw() -> None:
    outcome = decide(1, Failure(error="x"), max_attempts=None, backoff=Backoff(jitter=0.5), draw=1)
    assert outcome == Retry(delay=timedelta(seconds=1.5), error="x")


@pytest.mark.parametrize("delay", [timedelta(microseconds=-1), timedelta(days=3651)])
def test_a_delay_has_a_range(delay: timedelta) -> None:
    with pytest.raises(InvalidSetting, match="between 0 and 3650 days"):
        Retry(delay=delay)
    with pytest.raises(InvalidSetting, match="a release's delay is between 0 and 3650 days"):
        Release(delay=delay)


def test_a_result_is_bytes_and_has_an_end() -> None:
    assert Ack(b"x" * LARGEST_RESULT).result == b"x" * LARGEST_RESULT
    assert Ack() == ACK
    with pytest.raises(InvalidMessage, match="a result has at most 1048576 bytes, this one has 1048577"):
        Ack(b"x" * (LARGEST_RESULT + 1))
    with pytest.raises(InvalidMessage, match="a result is bytes, not str"):
        Ack("x")  # type: ignore[arg-type]


# What is overdue.


@pytest.mark.parametrize(
    ("row", "settings", "now", "expected"),
    [
        (owed(), {}, 0, None),
        (owed(attempts=4), {}, 0, None),
        (owed(attempts=5), {}, 0, Reason.EXHAUSTED),
        (owed(attempts=6), {}, 0, Reason.EXHAUSTED),
        (owed(attempts=600), {"max_attempts": None}, 0, None),
        (owed(attempts=1, held=True), {}, 0, None),
        (owed(attempts=1, held=True), {"delivery": ONCE}, 0, Reason.LOST),
        (owed(attempts=1), {"delivery": ONCE}, 0, None),
        (owed(attempts=5, held=True), {"delivery": ONCE}, 0, Reason.LOST),
        (owed(deadline=10), {}, 99, None),
        (owed(deadline=10), {"delivery": ONCE}, 9, None),
        (owed(deadline=10), {"delivery": ONCE}, 10, Reason.EXPIRED),
        (owed(deadline=10, held=True, attempts=5), {"delivery": ONCE}, 10, Reason.EXPIRED),
        (owed(created_at=5), {"max_age": timedelta(seconds=1)}, SECOND + 4, None),
        (owed(created_at=5), {"max_age": timedelta(seconds=1)}, SECOND + 5, Reason.EXPIRED),
        (owed(created_at=5, attempts=5), {"max_age": timedelta(seconds=1)}, SECOND + 5, Reason.EXPIRED),
    ],
)
def test_a_message_is_overdue_for_a_reason(
    row: Owed, settings: dict[str, Any], now: int, expected: Reason | None
) -> None:
    assert overdue(row, queue(**settings), now) is expected


# What an outcome comes to.


@pytest.mark.parametrize("outcome", [ACK, Release(), Bury(), Bury(reason=Reason.INVALID, error="x")])
def test_only_a_retry_may_come_to_something_else(outcome: Outcome) -> None:
    hopeless = owed(attempts=99, held=True, deadline=0)
    assert settled_as(outcome, hopeless, queue(delivery=ONCE), 10) is outcome


def test_a_retry_of_a_message_that_may_be_tried_again_stays_one() -> None:
    retry = Retry(delay=timedelta(1), error="x")
    assert settled_as(retry, owed(attempts=4, held=True), queue(), 0) is retry
    assert settled_as(retry, owed(attempts=1, held=True), queue(delivery=ONCE), 0) is retry


@pytest.mark.parametrize(
    ("row", "settings", "reason"),
    [
        (owed(attempts=5, held=True), {}, Reason.EXHAUSTED),
        (owed(attempts=1, held=True, deadline=10), {"delivery": ONCE}, Reason.EXPIRED),
        (owed(attempts=1, held=True), {"max_age": timedelta(milliseconds=1)}, Reason.EXPIRED),
    ],
)
def test_a_retry_of_a_message_that_may_not_be_tried_again_is_a_burial(
    row: Owed, settings: dict[str, Any], reason: Reason
) -> None:
    assert settled_as(Retry(error="x"), row, queue(**settings), SECOND) == Bury(reason=reason, error="x")


# Leases and groups.


@pytest.mark.parametrize(
    ("now", "deadline", "expected"),
    [
        (0, None, 30),
        (0, 10, 10),
        (0, 29, 29),
        (0, 30, 30),
        (0, 31, 30),
        (10, 10, 40),
        (11, 10, 41),
        (9, 10, 10),
    ],
)
def test_a_lease_ends_at_the_deadline_at_the_latest_unless_that_has_passed(
    now: int, deadline: int | None, expected: int
) -> None:
    assert lease_end(now, 30, deadline) == expected


def test_in_a_fifo_queue_all_that_have_no_group_share_one() -> None:
    assert group_of(None, fifo=False) is None
    assert group_of(None, fifo=True) == ""
    assert group_of("g", fifo=False) == group_of("g", fifo=True) == "g"


@pytest.mark.parametrize("outcome", [Retry, Bury])
def test_an_error_is_made_storable_whatever_it_says(outcome: type[Retry | Bury]) -> None:
    assert outcome(error="a\0b\ud800c é").error == "a\ufffdb?c é"
    assert outcome(error="x" * 2_000_000).error == "x" * 2**20
    assert outcome().error is None
