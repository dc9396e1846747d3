"""What samples are made of: which minutes are due, what happened in each, and minutes added up."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from rowmq.core.clock import micros, moment, span
from rowmq.core.durations import added, histogram
from rowmq.core.monitor import MADE_UP, MINUTE, QUARTER, Counts, Sample

SET_BACK = timedelta(hours=1)
"""A clock further behind the last sample than this was wrong then: sampling begins anew."""
Happened = Mapping[tuple[str, int], Mapping[str, Any]]
"""What there is to say of queues: fields of Sample, by the queue's name and the minute's beginning."""


class Ended(NamedTuple):
    """The times of a message that has ended, in microseconds."""

    created_at: int
    scheduled_for: int | None
    started_at: int | None
    finished_at: int


class Position(NamedTuple):
    """How far sampling has come: up to which moment, and the last message and failure that were counted."""

    until: int
    seq: int
    failure: int


class Tally:
    """Counts what happened in minutes that are being sampled.

    What was noted since the last sample, but is older, counts in the first of them; if there has been no
    sample for longer, it does not count.
    """

    def __init__(self, minutes: Sequence[int], last: Position | None) -> None:
        self.happened: dict[tuple[str, int], dict[str, Any]] = defaultdict(dict)
        self._first = minutes[0]
        self.follows = last is not None and last.until == minutes[0]
        """Whether the last sample was of the minute before these."""

    def add(self, what: str, queue: str, time: int, count: int = 1) -> None:
        """Count something that happened at a moment before the last minute's end."""
        if count and (self.follows or time >= self._first):
            entry = self.happened[queue, max(floor(time, MINUTE), self._first)]
            entry[what] = entry.get(what, 0) + count

    def measure(self, queue: str, minute: int, ended: Iterable["Ended"]) -> None:
        """Note how long those that ended in a minute have waited and run."""
        self.happened[queue, minute] |= measured(ended)


def floor(time: int, of: timedelta) -> int:
    """When the span that a moment is in began.

    >>> floor(61_000_000, MINUTE)
    60000000
    """
    return time - time % span(of)


def due(last: int | None, now: int) -> list[int]:
    """The beginnings of the minutes to sample now, if all before ``last`` have been."""
    end = floor(now, MINUTE)
    if last is None or last - end > span(SET_BACK):
        last = end - span(MINUTE)
    return list(range(max(last, end - span(MADE_UP)), end, span(MINUTE)))


def unrolled(last: Position | None, first: int) -> int:
    """From when on quarters of an hour have not been made of their minutes."""
    return floor(first if last is None else min(last.until, first), QUARTER)


def measured(ended: Iterable[Ended]) -> dict[str, dict[int, int]]:
    """How long messages that were claimed have waited, and how long they ran."""
    claimed = [(each, each.started_at) for each in ended if each.started_at is not None]
    waits = (max(0, begun - max(each.created_at, each.scheduled_for or 0)) for each, begun in claimed)
    runs = (max(0, each.finished_at - begun) for each, begun in claimed)
    return {"waits": histogram(waits), "runs": histogram(runs)}


def sampled(minutes: Sequence[int], happened: Happened, standing: Mapping[str, Counts]) -> list[Sample]:
    """The samples of these minutes and queues, but for those where nothing happened and nothing waits."""
    return [
        _sample(queue, at, happened.get((queue, at), {}), counts)
        for at in minutes
        for queue, counts in sorted(standing.items())
        if (queue, at) in happened or any(counts[:3])
    ]


def quarters(minutes: Iterable[Sample]) -> list[Sample]:
    """Samples of quarters of an hour from those of their minutes, which come oldest first."""
    parts: dict[tuple[int, str], list[Sample]] = defaultdict(list)
    for each in minutes:
        parts[floor(micros(each.at), QUARTER), each.queue].append(each)
    return [_sum(at, some) for (at, _), some in sorted(parts.items())]


def _sample(queue: str, at: int, happened: Mapping[str, Any], counts: Counts) -> Sample:
    gauges: dict[str, Any] = {"ready": counts.ready, "scheduled": counts.scheduled, "leased": counts.leased}
    return Sample(queue=queue, at=moment(at), span=MINUTE, **gauges, **happened)


def _sum(at: int, parts: Sequence[Sample]) -> Sample:
    last = parts[-1]
    return Sample(
        queue=last.queue,
        at=moment(at),
        span=QUARTER,
        pushed=sum(each.pushed for each in parts),
        done=sum(each.done for each in parts),
        dead=sum(each.dead for each in parts),
        failed=sum(each.failed for each in parts),
        ready=last.ready,
        scheduled=last.scheduled,
        leased=last.leased,
        waits=added(each.waits for each in parts),
        runs=added(each.runs for each in parts),
    )
