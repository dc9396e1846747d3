"""Charts and the figures in them: what is drawn, what is said, and what is not known yet."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowmq.core.durations import histogram
from rowmq.core.monitor import MINUTE, Monitor, Sample
from rowmq.doors.http.dashboard.charts import Line, ceiling, chart, spark
from rowmq.doors.http.dashboard.figures import activity, begins, charts
from rowmq.doors.http.dashboard.past import Past, Sums, mark_of
from rowmq.doors.http.dashboard.words import about, took

NOW = datetime(2026, 5, 1, 12, 0, 30, tzinfo=UTC)
TIMES = [NOW + place * MINUTE for place in range(5)]


def parsed(markup: str) -> ET.Element:
    return ET.fromstring(f"<figure>{markup}</figure>")  # noqa: S314 - our own


def at(minute: int, queue: str = "emails", **figures: Any) -> Sample:
    """A sample of a minute before twelve."""
    return Sample(queue=queue, at=NOW.replace(second=0) - minute * MINUTE, span=MINUTE, **figures)


class Samples:
    """A monitor that knows samples, and notes what it was asked."""

    def __init__(self, *samples: Sample) -> None:
        self.kept, self.asked = list(samples), list[datetime]()

    def samples(self, span: timedelta, since: datetime, **_: object) -> list[Sample]:
        self.asked.append(since)
        return [each for each in self.kept if each.span == span and each.at >= since]


def upto(past: Past, now: datetime, known: Samples) -> list[Sample]:
    monitor: Monitor = known  # type: ignore[assignment] # it asks for nothing else
    return past.upto(now, monitor)


def test_a_chart_draws_each_line_and_says_it_in_words_and_numbers() -> None:
    drawn = chart("Flow <b>", TIMES, [Line("done", [1, 2, 0, 4, 3], 3), Line("failed", [0, 0, 5, 0, 0], 2)])
    figure = parsed(drawn)
    title = figure.find("div/svg/title")
    assert title is not None
    assert title.text == "Flow <b>: done at most 4, at last 3; failed at most 5, at last 0"
    assert [each.get("class") for each in figure.iter("g")] == ["tone-3", "tone-2"]
    rows = [["".join(cell.itertext()) for cell in row] for row in figure.iter("tr")]
    assert rows[0] == ["UTC", "done", "failed"]
    assert rows[1] == ["12:04", "3", "0"]
    assert len(rows) == 6


def test_a_line_is_broken_where_nothing_is_known() -> None:
    figure = parsed(chart("Wait", TIMES, [Line("p50", [1, None, 2, 3, None])]))
    line = [path.get("d") or "" for path in figure.iter("path") if path.get("class") is None]
    assert len(line) == 1
    assert line[0].count("M") == 2
    rows = [["".join(cell.itertext()) for cell in row] for row in figure.iter("tr")]
    assert ["12:01", "-"] not in rows


def test_a_chart_of_nothing_is_a_chart() -> None:
    for times, values in (([], []), (TIMES[:1], [None]), (TIMES, [None] * 5), (TIMES, [0] * 5)):
        assert "<svg" in chart("Flow", times, [Line("done", values)])
    title = parsed(chart("Flow", TIMES, [Line("done", [None] * 5)])).find("div/svg/title")
    assert title is not None
    assert title.text == "Flow: nothing happened"


@given(st.lists(st.none() | st.floats(0, 1e12), min_size=1, max_size=100))
def test_every_point_is_inside_its_chart(values: list[float | None]) -> None:
    times = [NOW + place * MINUTE for place in range(len(values))]
    figure = parsed(chart("Any", times, [Line("one", values)]))
    for path in figure.iter("path"):
        for x, y in re.findall(r"[ML](-?[\d.e+-]+),(-?[\d.e+-]+)", path.get("d") or ""):
            assert 0 <= float(x) <= 240.1
            assert -0.1 <= float(y) <= 64.1


@given(st.floats(1e-6, 1e15))
def test_the_top_of_a_scale_is_little_more_than_what_is_highest(highest: float) -> None:
    assert highest * 0.999 <= ceiling(highest) <= highest * 2.6


def test_a_sparkline_that_is_flat_at_zero_is_pale() -> None:
    assert 'class="spark still"' in spark([0, 0], "bad", "nothing")
    assert 'class="spark bad"' in spark([0, 1], "bad", "some")
    assert "&lt;i&gt;" in spark([1], "good", "<i>")


def test_drawings_have_no_style_and_no_script_of_their_own() -> None:
    made = charts("hour", activity("hour", NOW, [at(3, done=5, failed=1)]))
    assert sorted(made) == ["chart-flow", "chart-losses", "chart-runs", "chart-stands", "chart-waits"]
    for drawn in made.values():
        assert not re.search(r"style|script|on\w+=|href", drawn)


def test_the_last_minutes_that_may_not_be_sampled_yet_are_not_taken_for_nothing() -> None:
    assert activity("hour", NOW, [at(1, done=5)]).each("done")[-1] == 5
    assert activity("hour", NOW, [at(2, done=5)]).each("done")[-1] == 5
    assert activity("hour", NOW, [at(3, done=5)]).each("done")[-1] == 5
    assert activity("hour", NOW, [at(9, done=5)]).each("done")[-7:] == [5, 0, 0, 0, 0, 0, 0]
    assert len(activity("hour", NOW, []).times) == 60


def test_queues_are_added_up_and_percentiles_are_of_all_of_them() -> None:
    one = Sample(queue="a", at=NOW.replace(second=0) - MINUTE, span=MINUTE, waits=histogram([1000] * 99))
    two = Sample(queue="b", at=one.at, span=MINUTE, waits=histogram([60_000_000]))
    found = activity("hour", NOW, [one, two])
    half, most = found.each_percentile("waits")
    assert half[-1] == pytest.approx(0.001, rel=0.1)
    assert most[-1] == pytest.approx(0.001, rel=0.1)
    whole = found.percentiles("waits")
    assert whole.median is not None
    assert half[:-1] == [None] * 59


def test_what_is_over_is_read_once() -> None:
    known = Samples(at(30, done=1), at(2, done=2))
    past = Past("hour")
    assert [each.done for each in upto(past, NOW, known)] == [1, 2]
    known.kept = [at(2, done=2), at(1, done=3)]
    assert [each.done for each in upto(past, NOW + timedelta(seconds=20), known)] == [1, 2, 3]
    assert known.asked[0] <= begins("hour", NOW)
    assert known.asked[1] == NOW - 3 * MINUTE


def test_samples_that_came_late_are_seen() -> None:
    known, past = Samples(at(2, done=1)), Past("hour")
    upto(past, NOW, known)
    known.kept.append(at(2, queue="orders", done=7))
    assert [each.done for each in upto(past, NOW, known)] == [1, 7]


def test_samples_that_are_no_longer_shown_are_forgotten() -> None:
    known, past = Samples(at(30, done=1)), Past("hour")
    upto(past, NOW, known)
    known.kept = []
    assert upto(past, NOW + timedelta(minutes=29), known)
    assert not upto(past, NOW + timedelta(minutes=40), known)
    assert past._found == {}


def test_a_clock_that_went_back_has_everything_read_again() -> None:
    known, past = Samples(at(30, done=1)), Past("hour")
    upto(past, NOW, known)
    assert upto(past, NOW - timedelta(minutes=10), known)
    assert known.asked[1] <= begins("hour", NOW - timedelta(minutes=10))


def test_what_many_queues_did_is_added_up_once() -> None:
    sums = Sums()
    waits: dict[str, Any] = {"waits": histogram([1000])}
    before = sums.of([at(3, done=1, **waits), at(3, queue="orders", done=2, **waits), at(2, done=5)])
    assert [(each.at, each.done, each.waits) for each in before] == [
        (at(3).at, 3, {39: 2}),
        (at(2).at, 5, {}),
    ]
    after = sums.of(
        [at(3, done=1), at(3, queue="orders", done=2), at(2, done=5), at(2, queue="orders", done=1)]
    )
    assert after[0] is before[0]
    assert after[1].done == 6


def test_a_mark_changes_with_what_would_be_drawn() -> None:
    marks = {
        mark_of([], NOW),
        mark_of([], NOW + MINUTE),
        mark_of([at(2)], NOW),
        mark_of([at(2), at(1)], NOW),
        mark_of([at(2), at(2, queue="orders")], NOW),
    }
    assert len(marks) == 5
    assert mark_of([at(2)], NOW) == mark_of([at(2, done=1)], NOW + timedelta(seconds=3))


@given(st.timedeltas(timedelta(0), timedelta(days=4000)))
def test_a_span_is_said_in_few_characters(span: timedelta) -> None:
    assert len(took(span)) <= 12
    assert len(about(span)) <= 12
    assert re.fullmatch(r"[\d.]+ (µs|ms|s|min|h|d)( \d+ (s|min|h))?", took(span))
