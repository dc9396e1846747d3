from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from rowmq.core.backoff import Backoff
from rowmq.core.errors import InvalidName, InvalidSetting
from rowmq.core.queue import Archive, Guarantee, Queue, Rate, changed

TOO_LONG = timedelta(days=3650, microseconds=1)
NEGATIVE = timedelta(microseconds=-1)


def test_a_queue_has_sensible_defaults() -> None:
    queue = Queue(name="q")
    assert (queue.max_attempts, queue.lease, queue.delay) == (5, timedelta(seconds=30), timedelta(0))
    assert (queue.delivery, queue.fifo, queue.paused) == ("at_least_once", False, False)
    assert (queue.retention, queue.max_age, queue.max_length) == (timedelta(days=7), None, None)
    assert (queue.dead_letter, queue.archive, queue.tags, queue.backoff) == (None, "optional", {}, Backoff())


@pytest.mark.parametrize(
    "settings",
    [
        {"max_attempts": 1},
        {"max_attempts": 2**31 - 1},
        {"max_attempts": None},
        {"lease": timedelta(milliseconds=1)},
        {"lease": timedelta(days=3650)},
        {"delay": timedelta(days=3650)},
        {"retention": timedelta(0)},
        {"retention": None},
        {"max_age": timedelta(milliseconds=1)},
        {"max_length": 1},
        {"max_length": 100_000},
        {"delivery": "at_most_once"},
        {"archive": "required"},
        {"dead_letter": "other"},
        {"tags": {"a": "b"}},
        {"rate": None},
        {"rate": Rate(1, timedelta(milliseconds=1))},
        {"rate": Rate(1_000_000, timedelta(days=1))},
    ],
    ids=str,
)
def test_settings_at_the_edge_of_their_range_are_taken(settings: dict[str, Any]) -> None:
    queue = Queue(name="q", **settings)
    assert {name: getattr(queue, name) for name in settings} == settings


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"max_attempts": 0}, "max_attempts is a whole number from 1 to 2147483647, or None, not 0"),
        ({"max_attempts": 2**31}, "max_attempts"),
        ({"max_attempts": 1.5}, "max_attempts"),
        ({"max_attempts": True}, "max_attempts"),
        ({"max_attempts": "5"}, "max_attempts"),
        ({"max_length": 0}, "max_length is a whole number from 1 to 100000, or None, not 0"),
        ({"max_length": 100_001}, "max_length"),
        ({"lease": timedelta(0)}, "lease is between 0:00:00.001000 and 3650 days, not 0:00:00"),
        ({"lease": TOO_LONG}, "lease is between"),
        ({"lease": 30}, "lease is a timedelta, not 30"),
        ({"lease": None}, "lease is a timedelta, not None"),
        ({"delay": NEGATIVE}, "delay is between 0:00:00 and 3650 days"),
        ({"delay": TOO_LONG}, "delay is between"),
        ({"delay": None}, "delay is a timedelta"),
        ({"retention": NEGATIVE}, "retention is between"),
        ({"retention": TOO_LONG}, "retention is between"),
        ({"retention": 0}, "retention is a timedelta"),
        ({"max_age": timedelta(0)}, "max_age is between"),
        ({"max_age": TOO_LONG}, "max_age is between"),
        ({"max_age": "1h"}, "max_age is a timedelta"),
        ({"delivery": "exactly_once"}, "delivery is one of at_least_once, at_most_once, not 'exactly_once'"),
        ({"archive": "never"}, "archive is one of optional, required, not 'never'"),
        ({"backoff": 5}, "backoff is a Backoff, not 5"),
        ({"fifo": 1}, "fifo is True or False, not 1"),
        ({"paused": None}, "paused is True or False, not None"),
        ({"tags": {"a": 1}}, "tags map strings to strings, but 'a' has 1"),
        ({"tags": {1: "a"}}, "tags map strings to strings"),
        ({"rate": 5}, "rate is a Rate or None, not 5"),
        ({"rate": (5, 1)}, "rate is a Rate or None"),
        ({"dead_letter": "q"}, "queue 'q' cannot be its own dead-letter queue"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_setting_is_refused_with_the_reason(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidSetting, match=complaint):
        Queue(name="q", **settings)


@pytest.mark.parametrize(
    "settings", [{"name": ""}, {"name": "q", "dead_letter": ""}, {"name": "q", "dead_letter": 5}]
)
def test_a_queue_and_its_dead_letter_queue_have_names(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidName):
        Queue(**settings)


def test_changing_keeps_what_is_not_changed() -> None:
    queue = Queue(name="q", max_attempts=3, fifo=True, tags={"a": "b"})
    assert changed(queue, {}) == queue
    after = changed(queue, {"paused": True, "delivery": Guarantee.AT_MOST_ONCE, "archive": Archive.REQUIRED})
    expected = {"max_attempts": 3, "fifo": True, "tags": {"a": "b"}, "paused": True}
    assert after == Queue(name="q", **expected, delivery=Guarantee.AT_MOST_ONCE, archive=Archive.REQUIRED)  # type: ignore[arg-type]


def test_changing_checks_everything_again() -> None:
    with pytest.raises(InvalidSetting, match="lease"):
        changed(Queue(name="q"), {"lease": timedelta(0)})
    with pytest.raises(InvalidSetting, match="its own dead-letter queue"):
        changed(Queue(name="q"), {"dead_letter": "q"})


def test_unknown_settings_are_named() -> None:
    with pytest.raises(InvalidSetting, match="no setting nonsense, zeal"):
        changed(Queue(name="q"), {"zeal": 1, "nonsense": 2, "paused": True})


def test_a_name_is_no_setting() -> None:
    with pytest.raises(InvalidSetting, match="no setting name"):
        changed(Queue(name="q"), {"name": "other"})


@pytest.mark.parametrize(
    ("limit", "period", "complaint"),
    [
        (0, 1, "a rate's limit is a whole number from 1 to 1000000, not 0"),
        (1_000_001, 1, "a rate's limit"),
        (1.5, 1, "a rate's limit"),
        (True, 1, "a rate's limit"),
        (1, 0.0009, "a rate's period is between 0:00:00.001000 and 1 days"),
        (1, 86_400.1, "a rate's period is between"),
    ],
)
def test_a_wrong_rate_is_refused_with_the_reason(limit: Any, period: float, complaint: str) -> None:
    with pytest.raises(InvalidSetting, match=complaint):
        Rate(limit, timedelta(seconds=period))


def test_a_rates_period_is_a_length_of_time() -> None:
    with pytest.raises(InvalidSetting, match="a rate's period is a timedelta, not 5"):
        Rate(1, 5)  # type: ignore[arg-type]
