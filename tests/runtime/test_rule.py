"""When a schedule ticks."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowmq.core.clock import moment
from rowmq.core.errors import InvalidSetting
from rowmq.runtime.rule import CatchUp, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

BERLIN = "Europe/Berlin"
NESTED = '{"every": ' + "[" * 100_000
MOMENTS = st.integers(10**15, 2 * 10**15 + 9 * 10**14).map(moment)


def at(text: str) -> datetime:
    """A moment in UTC: "2026-03-28 12:00"."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def ticks(rule: Rule, start: str, count: int) -> list[str]:
    """The local times of the first ticks after a moment, with their distance from UTC."""
    tick, found = at(start), []
    for _ in range(count):
        tick = rule.after(tick)
        found.append(tick.astimezone(ZoneInfo(rule.timezone)).strftime("%m-%d %H:%M %z"))
    return found


def test_a_cron_rule_ticks_at_the_times_it_names() -> None:
    assert ticks(Rule.of(cron="*/20 9 * * 1-5"), "2026-01-02 09:10", 4) == [
        "01-02 09:20 +0000",
        "01-02 09:40 +0000",
        "01-05 09:00 +0000",
        "01-05 09:20 +0000",
    ]


def test_a_cron_rule_means_the_local_time_of_its_zone() -> None:
    rule = Rule.of(cron="0 3 * * *", timezone=BERLIN)
    assert rule.after(at("2026-01-10 00:00")) == at("2026-01-10 02:00")
    assert rule.after(at("2026-07-10 00:00")) == at("2026-07-10 01:00")


def test_ticks_are_given_in_utc() -> None:
    assert Rule.of(cron="0 3 * * *", timezone=BERLIN).after(at("2026-01-10 00:00")).tzinfo is UTC


def test_a_time_skipped_in_spring_ticks_once_when_the_gap_ends() -> None:
    assert ticks(Rule.of(cron="30 2 * * *", timezone=BERLIN), "2026-03-28 12:00", 3) == [
        "03-29 03:00 +0200",
        "03-30 02:30 +0200",
        "03-31 02:30 +0200",
    ]


def test_a_time_doubled_in_autumn_ticks_the_first_time_only() -> None:
    assert ticks(Rule.of(cron="30 2 * * *", timezone=BERLIN), "2026-10-24 12:00", 2) == [
        "10-25 02:30 +0200",
        "10-26 02:30 +0100",
    ]


def test_in_the_second_pass_of_a_doubled_hour_the_next_tick_is_still_ahead() -> None:
    second_pass = at("2026-10-25 01:15")  # 02:15 for the second time
    rule = Rule.of(cron="30 2 * * *", timezone=BERLIN)
    assert rule.after(second_pass) == at("2026-10-26 01:30")


def test_a_rule_for_every_quarter_of_an_hour_ticks_by_real_time_through_both_changes() -> None:
    rule = Rule.of(cron="*/15 * * * *", timezone=BERLIN)
    for start in ("2026-03-28 23:00", "2026-10-24 23:00"):
        tick = at(start)
        for _ in range(20):
            assert rule.after(tick) - tick == timedelta(minutes=15)
            tick = rule.after(tick)


def test_the_29th_of_february_comes_in_leap_years() -> None:
    rule = Rule.of(cron="0 0 29 2 *")
    assert rule.after(at("2025-03-01 00:00")) == at("2028-02-29 00:00")
    assert rule.after(at("2096-03-01 00:00")) == at("2104-02-29 00:00")


def test_the_last_day_of_a_month_can_be_said() -> None:
    assert ticks(Rule.of(cron="0 0 L * *"), "2028-01-31 12:00", 2) == [
        "02-29 00:00 +0000",
        "03-31 00:00 +0000",
    ]


@pytest.mark.parametrize(
    ("shorthand", "cron"),
    [("@hourly", "0 * * * *"), ("@daily", "0 0 * * *"), ("@weekly", "0 0 * * 0"), ("@monthly", "0 0 1 * *")],
)
def test_a_shorthand_is_the_cron_text_it_stands_for(shorthand: str, cron: str) -> None:
    start = "2026-05-05 05:05"
    assert ticks(Rule.of(cron=shorthand), start, 3) == ticks(Rule.of(cron=cron), start, 3)


def test_every_so_often_is_counted_from_the_epoch() -> None:
    rule = Rule.of(every=300)
    assert rule.after(at("2026-01-01 00:03:12.5")) == at("2026-01-01 00:05")
    assert rule.after(at("2026-01-01 00:05")) == at("2026-01-01 00:10")


def test_every_takes_seconds_or_a_timedelta() -> None:
    assert Rule.of(every=90.5) == Rule.of(every=timedelta(minutes=1, seconds=30.5))


def test_the_first_tick_may_be_now_and_the_one_after_may_not() -> None:
    for rule in (Rule.of(cron="0 3 * * *"), Rule.of(every=3600)):
        assert rule.first(at("2026-01-01 03:00")) == at("2026-01-01 03:00")
        assert rule.after(at("2026-01-01 03:00")) > at("2026-01-01 03:00")
        assert rule.following(at("2026-01-01 03:00")) == rule.after(at("2026-01-01 03:00"))
        assert rule.first(at("2026-01-01 03:00:00.000001")) > at("2026-01-01 03:00")


def rules() -> Iterator[Rule]:
    for zone in (BERLIN, "America/New_York", "Africa/Cairo", "America/Havana", "UTC"):
        for cron in ("30 2 * * *", "0 0 * * *", "*/15 * * * *", "30 * * * *", "0 1,2,3 * * SUN"):
            yield Rule.of(cron=cron, timezone=zone)
    yield Rule.of(every=7.25)


@given(start=MOMENTS, rule=st.sampled_from(list(rules())))
def test_the_tick_after_a_moment_is_later_and_none_is_between(start: datetime, rule: Rule) -> None:
    tick = rule.after(start)
    assert tick > start
    assert rule.after(start + (tick - start) / 2) == tick
    assert rule.first(tick) == tick


@pytest.mark.parametrize("rule", list(rules()), ids=str)
def test_ticks_found_one_after_another_are_those_found_from_any_moment_between(rule: Rule) -> None:
    for start in ("2026-03-07 12:00", "2026-03-28 12:00", "2026-10-24 12:00", "2026-10-31 12:00"):
        chain = [rule.after(at(start))]
        while chain[-1] < at(start) + timedelta(days=2) and len(chain) < 400:
            chain.append(rule.following(chain[-1]))
        assert len(chain) > 1
        for one, other in pairwise(chain):
            assert rule.after(other - timedelta(microseconds=1)) == other
            assert rule.after(one + (other - one) / 2) == other


@pytest.mark.parametrize(
    "rule",
    [
        Rule.of(cron="*/5 * * * *"),
        Rule.of(cron="0 3 * * MON-FRI", timezone=BERLIN, catch_up="all"),
        Rule.of(every=300, catch_up="none"),
        Rule.of(every=1.000001),
    ],
    ids=str,
)
def test_a_rule_is_read_back_from_its_text(rule: Rule) -> None:
    assert Rule.parse(rule.text()) == rule
    assert isinstance(json.loads(rule.text()), dict)


def test_a_rule_written_by_hand_is_understood() -> None:
    assert Rule.parse("*/5 * * * *") == Rule.of(cron="*/5 * * * *")
    assert Rule.parse("  @daily ") == Rule.of(cron="@daily")
    assert Rule.parse("every 300") == Rule.of(every=300)
    assert Rule.parse('{"every": 60}') == Rule.of(every=60)


def test_a_rule_says_how_it_catches_up() -> None:
    assert Rule.of(every=60).catch_up is CatchUp.ONE
    assert Rule.of(every=60, catch_up="all").catch_up is CatchUp.ALL


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "either cron or every, and neither was given"),
        ({"cron": "* * * * *", "every": 60}, "either cron or every, and both were given"),
        ({"cron": "61 * * * *"}, r"'61 \* \* \* \*' is not a cron text \(bad minute\); write five fields"),
        ({"cron": "* * * *"}, "is not a cron text; write five fields"),
        ({"cron": "0 * * * * *"}, "is not a cron text; write five fields"),
        ({"cron": ""}, "'' is not a cron text; write five fields"),
        ({"cron": "0 0 30 2 *"}, r"bad day-of-month"),
        ({"cron": 5}, "cron is a text of at most 255 characters"),
        ({"cron": "* " * 200}, "cron is a text of at most 255 characters"),
        ({"cron": "* * * * *", "timezone": "Mars/Olympus"}, "there is no time zone 'Mars/Olympus'; give a"),
        ({"cron": "* * * * *", "timezone": "Europe"}, "there is no time zone 'Europe'"),
        ({"cron": "* * * * *", "timezone": "../etc/passwd"}, "there is no time zone"),
        ({"cron": "* * * * *", "timezone": ""}, "there is no time zone ''"),
        ({"cron": "* * * * *", "timezone": None}, "there is no time zone None"),
        ({"every": 0.5}, r"every is from 1 second to 3650 days, not 0:00:00.5"),
        ({"every": -5}, "every is from 1 second to 3650 days"),
        ({"every": timedelta(days=4000)}, "every is from 1 second to 3650 days"),
        ({"every": 1e300}, "too long"),
        ({"every": float("nan")}, "every is a number of seconds or a timedelta, not nan"),
        ({"every": "5m"}, "every is a number of seconds or a timedelta, not '5m'"),
        ({"every": True}, "every is a number of seconds or a timedelta, not True"),
        ({"every": 86400, "timezone": BERLIN}, "has no time zone; use cron for local times"),
        ({"every": 60, "catch_up": "some"}, "catch_up is one of one, all, none, not 'some'"),
        ({"every": 60, "catch_up": []}, r"catch_up is one of one, all, none, not \[\]"),
    ],
    ids=str,
)
def test_what_is_no_rule_is_refused_with_a_sentence(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidSetting, match=sentence) as refused:
        Rule.of(**arguments)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{}",
        "often",
        "every",
        "every day",
        '{"cron": "* * * * *", "colour": "red"}',
        '{"cron": 5}',
        NESTED,
    ],
    ids=lambda text: text[:20],
)
def test_text_that_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(InvalidSetting):
        Rule.parse(text)
