"""What samples say: about one queue or many, over the last hour or day."""

from collections.abc import Iterable, Sequence
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
LATELY = 5
"""How many samples a rate is the mean of, so that it neither jumps nor lags."""
MEDIAN, NEARLY_ALL = 0.5, 0.99


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

    def each_percentile(self, measure: str, share: float) -> list[float | None]:
        """A percentile of a duration in seconds at each time; None where nothing was measured."""
        spans = [percentile(added(getattr(one, measure) for one in here), share) for here in self.samples]
        return [None if span is None else span.total_seconds() for span in spans]

    def percentiles(self, measure: str) -> Times:
        """Percentiles over the whole of it."""
        whole: Histogram = added(getattr(one, measure) for here in self.samples for one in here)
        return Times(percentile(whole, MEDIAN), percentile(whole, NEARLY_ALL))


def begins(reach: Reach, now: datetime) -> datetime:
    """When the first sample begins of those that are over now and reach so far back."""
    span, count = SPANS[reach]
    return EPOCH + (now - EPOCH) // span * span - count * span


def activity(reach: Reach, now: datetime, samples: Iterable[Sample]) -> Activity:
    """What samples say about the time up to now."""
    span, count = SPANS[reach]
    times = [begins(reach, now) + place * span for place in range(count)]
    places = {time: place for place, time in enumerate(times)}
    found: list[list[Sample]] = [[] for _ in times]
    for each in samples:
        place = places.get(each.at)
        if place is not None:
            found[place].append(each)
    return Activity(times, found)


def rate(values: Sequence[int]) -> float:
    """How many of late, in a sample's time.

    >>> rate([0, 0, 10, 20])
    6.0
    """
    return sum(values[-LATELY:]) / LATELY


def charts(reach: Reach, found: Activity) -> dict[str, Markup]:
    """The four charts of a history, by the ids of their figures."""
    per = "a minute" if reach == "hour" else "a quarter of an hour"
    times = found.times
    waits = [Line("p50", found.each_percentile("waits", MEDIAN), 1)]
    waits.append(Line("p99", found.each_percentile("waits", NEARLY_ALL), 5))
    runs = [Line("p50", found.each_percentile("runs", MEDIAN), 1)]
    runs.append(Line("p99", found.each_percentile("runs", NEARLY_ALL), 5))
    flow = [Line("done", found.each("done"), 3), Line("pushed", found.each("pushed"), 1)]
    losses = [Line("failed attempts", found.each("failed"), 5), Line("died", found.each("dead"), 2)]
    stands = [Line("ready", found.each("ready"), 1), Line("leased", found.each("leased"), 5)]
    stands.append(Line("scheduled", found.each("scheduled"), 4))
    return {
        "chart-flow": chart(f"Throughput, {per}", times, flow, plain),
        "chart-losses": chart(f"Failures, {per}", times, losses, plain),
        "chart-stands": chart("Messages waiting", times, stands, plain),
        "chart-waits": chart("Wait until claimed", times, waits, seconds),
        "chart-runs": chart("Run time", times, runs, seconds),
    }
