"""A queue as one row of a table: what it shows at first, and what changes of it while somebody looks."""

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Row:
    """A queue, how it stands, and what it did in the last hour."""

    queue: Queue
    counts: Counts
    activity: Activity
    consumers: int = 0

    @property
    def key(self) -> str:
        """What the ids of its elements begin with."""
        return words.key(self.queue.name)

    @property
    def cells(self) -> dict[str, Cell]:
        """What it shows, by what comes after its key in the ids of the elements."""
        return {**standings(self.queue, self.counts, self.consumers), **doings(self.activity)}


def rows(
    queues: Sequence[Queue], counts: dict[str, Counts], past: dict[str, Activity], alive: dict[str, int]
) -> list[Row]:
    """The rows of queues that were counted; one that has just been dropped is left out."""
    return [
        Row(queue, counts[queue.name], past[queue.name], alive.get(queue.name, 0))
        for queue in queues
        if queue.name in counts
    ]


def by_queue(names: Sequence[str], samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    """The samples of each queue."""
    found: dict[str, list[Sample]] = {name: [] for name in names}
    for sample in samples:
        if sample.queue in found:
            found[sample.queue].append(sample)
    return found


def standings(queue: Queue, counts: Counts, consumers: int) -> dict[str, Cell]:
    """How a queue stands: what changes all the time."""
    alone = counts.ready and not queue.paused and not consumers
    return {
        **{state: _counted(counts, state) for state in ("ready", "scheduled", "leased")},
        "dead": _counted(counts, "dead", "n alarm"),
        "oldest": Cell(words.took(counts.oldest_age), looks="n" if counts.oldest_age else "n zero"),
        "consumers": Cell(
            words.total(consumers), looks="n alarm" if alone else "n" if consumers else "n zero"
        ),
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
    return {**found, "oldest": Cell(words.took(oldest))}


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
    return f"{words.took(times.median)} / {words.took(times.nearly_all)}"
