"""What samples say: about one queue or many, over the last hour or day."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from markupsafe import Markup

from rowmq.core.clock import EPOCH
from rowmq.core.durations import added, percentile
from rowmq.core.monitor import MINUTE, QUARTER, Histogram, Sample
from rowmq.doors.http.dashboard.charts import Line, chart, plain, seconds

Reach = Literal["hour", "day"]
SPANS: dict[Reach, tuple[timedelta, int]] = {"hour": (MINUTE, 60), "day": (QUARTER, 96)}
"""How long a sample of each reach is, and how many make it."""
LATE: dict[Reach, int] = {"hour": 2, "day": 1}
"""How many of the last samples may still be to come."""
LATELY = 5
"""How many samples a rate is the mean of, so that it neither jumps nor lags."""
MEDIAN, NEARLY_ALL = 0.5, 0.99
SUMMED = ("pushed", "done", "dead", "failed", "ready", "scheduled", "leased")
NAMES = {"failed": "failed attempts", "dead": "died"}


class Times(NamedTuple):
    """Percentiles of a duration."""

    median: timedelta | None
    nearly_all: timedelta | None


@dataclass(frozen=True, slots=True)
class Activity:
    """What happened, time by time, with zeros where nothing did."""

    times: Sequence[datetime]
    samples: Sequence[Sequence[Sample]]
    """At each of the times, those of all queues that it is about."""

    def each(self, measure: str) -> list[int]:
        """A measure at each time, of all queues together."""
        return [sum([getattr(sample, measure) for sample in here]) for here in self.samples]

    def each_percentile(self, measure: str) -> tuple[list[float | None], list[float | None]]:
        """The median of a duration and what nearly all keep to, in seconds, at each time it was measured."""
        whole = [added(getattr(one, measure) for one in here) for here in self.samples]
        return _percentiles(whole, MEDIAN), _percentiles(whole, NEARLY_ALL)

    def percentiles(self, measure: str) -> Times:
        """The same over the whole of it."""
        whole = added(getattr(one, measure) for here in self.samples for one in here)
        return Times(percentile(whole, MEDIAN), percentile(whole, NEARLY_ALL))


def _percentiles(histograms: Iterable[Histogram], share: float) -> list[float | None]:
    spans = (percentile(each, share) if each else None for each in histograms)
    return [None if span is None else span.total_seconds() for span in spans]


def begins(reach: Reach, now: datetime) -> datetime:
    """When the first sample begins of those that are over now and reach so far back."""
    span, count = SPANS[reach]
    return EPOCH + (now - EPOCH) // span * span - count * span


def activity(reach: Reach, now: datetime, samples: Sequence[Sample]) -> Activity:
    """What samples say about the time up to now; what may not be sampled yet is not taken for nothing."""
    span, count = SPANS[reach]
    first = begins(reach, now)
    newest = max((each.at for each in samples), default=first)
    first -= span * min(LATE[reach], (first + count * span - newest) // span - 1)
    times = [first + place * span for place in range(count)]
    places = {time: place for place, time in enumerate(times)}
    found: list[list[Sample]] = [[] for _ in times]
    for each in samples:
        place = places.get(each.at)
        if place is not None:
            found[place].append(each)
    return Activity(times, found)


def merged(samples: Sequence[Sample]) -> Sample:
    """Samples of several queues and the same time as one."""
    first = samples[0]
    sums = {each: sum([getattr(one, each) for one in samples]) for each in SUMMED}
    return Sample(
        queue="",
        at=first.at,
        span=first.span,
        waits=added(one.waits for one in samples),
        runs=added(one.runs for one in samples),
        **sums,
    )


def rate(values: Sequence[int]) -> float:
    """How many of late, in a sample's time.

    >>> rate([0, 0, 10, 20])
    6.0
    """
    return sum(values[-LATELY:]) / LATELY


def charts(reach: Reach, found: Activity) -> dict[str, Markup]:
    """The charts of a history, by the ids of their figures."""
    per = "a minute" if reach == "hour" else "a quarter of an hour"
    waits, runs = found.each_percentile("waits"), found.each_percentile("runs")
    drawn = {
        "flow": (f"Throughput, {per}", _lines(found, {"done": 3, "pushed": 1}), plain),
        "losses": (f"Failures, {per}", _lines(found, {"failed": 5, "dead": 2}), plain),
        "stands": ("Messages waiting", _lines(found, {"ready": 1, "leased": 5, "scheduled": 4}), plain),
        "waits": ("Wait until claimed", [Line("p50", waits[0], 1), Line("p99", waits[1], 5)], seconds),
        "runs": ("Run time", [Line("p50", runs[0], 1), Line("p99", runs[1], 5)], seconds),
    }
    return {
        f"chart-{id}": chart(title, found.times, lines, form) for id, (title, lines, form) in drawn.items()
    }


def _lines(found: Activity, tones: Mapping[str, int]) -> list[Line]:
    return [Line(NAMES.get(measure, measure), found.each(measure), tone) for measure, tone in tones.items()]
