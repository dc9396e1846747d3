"""A queue as one row of a table: what it shows at first, and what changes of it while somebody looks."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from rowmq.core.monitor import Counts, Sample
from rowmq.core.queue import Queue
from rowmq.doors.http.dashboard import words
from rowmq.doors.http.dashboard.charts import plain, spark
from rowmq.doors.http.dashboard.figures import Activity, Times, rate


class Cell(NamedTuple):
    """What an element shows: ``text``, or ``html`` that was made here; and its class, if that changes."""

    value: str
    kind: str = "text"
    looks: str | None = None


def by_queue(names: Sequence[str], samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    """The samples of each queue."""
    found: dict[str, list[Sample]] = {name: [] for name in names}
    for sample in samples:
        if sample.queue in found:
            found[sample.queue].append(sample)
    return found


def standings(queue: Queue, counts: Counts, consumers: int) -> dict[str, Cell]:
    """How a queue stands: what changes all the time."""
    return {
        **{state: _counted(counts, state) for state in ("ready", "scheduled", "leased")},
        "dead": _counted(counts, "dead", "n alarm"),
        "oldest": Cell(words.age(counts.oldest_age), looks="n" if counts.oldest_age else "n zero"),
        "consumers": Cell(words.total(consumers), looks="n" if consumers else "n zero"),
        "paused": Cell("paused" if queue.paused else "", looks="state paused"),
    }


def doings(activity: Activity) -> dict[str, Cell]:
    """What a queue did in the last hour: what changes every minute."""
    done, lost = activity.each("done"), activity.each("failed")
    return {
        "done": Cell(_a_minute(done), looks="n" if rate(done) else "n zero"),
        "failed": Cell(_a_minute(lost), looks="n alarm" if rate(lost) else "n zero"),
        "done-spark": Cell(_drawn(done, "good", "done"), "html"),
        "failed-spark": Cell(_drawn(lost, "bad", "failed attempts"), "html"),
        "wait": Cell(_both(activity.percentiles("waits"))),
        "run": Cell(_both(activity.percentiles("runs"))),
    }


def summed(each: Sequence[Counts]) -> dict[str, Cell]:
    """How several queues stand together."""
    more = any(one.more for one in each)
    oldest = max((one.oldest_age for one in each if one.oldest_age is not None), default=None)
    states = ("ready", "scheduled", "leased", "dead")
    found = {state: Cell(words.count(sum(getattr(one, state) for one in each), more)) for state in states}
    return {**found, "oldest": Cell(words.age(oldest))}


def _counted(counts: Counts, state: str, looks: str = "n") -> Cell:
    number: int = getattr(counts, state)
    return Cell(words.count(number, counts.more), looks=looks if number else "n zero")


def _a_minute(values: Sequence[int]) -> str:
    return f"{plain(rate(values))}/min"


def _drawn(values: Sequence[int], tone: str, what: str) -> Markup:
    said = f"{what} in the last hour: {sum(values):,}; in a minute at most {max(values, default=0):,}"
    return spark(values, tone, said)


def _both(times: Times) -> str:
    if times.median is None:
        return words.NOTHING
    return f"{words.about(times.median)} / {words.about(times.nearly_all)}"
