"""Samples: what happened to queues since the last ones, read first and then kept by who is first."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from rowmq.core import monitor
from rowmq.core.clock import micros, moment, span
from rowmq.core.monitor import KEPT, MINUTE, QUARTER, Histogram, Sample
from rowmq.core.outcome import State
from rowmq.core.sampling import Ended, Position, Tally, due, floor, quarters, sampled, unrolled
from rowmq.core.store import BACKLOG
from rowmq.stores.sql.cursor import Cursor, Row
from rowmq.stores.sql.rows import kept_queue
from rowmq.stores.sql.standing import standing

FIRST, LAST = -(2**62), 2**63 - 1
WINDOW = 50_000
"""How many are looked at together, newest first, where only the last of very many can count."""
COUNTS = ("pushed", "done", "dead", "failed", "ready", "scheduled", "leased")


class Sampling:
    """The samples that are due, as they are when it is made."""

    def __init__(self, cursor: Cursor, now: int) -> None:
        row = cursor.one("sampled_find")
        self._last = None if row is None else Position(*row)
        self.minutes = due(None if self._last is None else self._last.until, now)
        self.taken: list[Sample] = []
        if self.minutes:
            self._end = self.minutes[-1] + span(MINUTE)
            cursor.dialect.keep_to_indexes(cursor)
            self._read(cursor, now)

    def keep(self, cursor: Cursor) -> int:
        """Write them, unless somebody has sampled meanwhile; how many."""
        row = cursor.one("sampled_lock")
        if self._last != (None if row is None else Position(*row)):
            return 0
        cursor.run("sampled_make" if row is None else "sampled_set", **self._position._asdict())
        first = self.minutes[0]
        for each in KEPT:  # what the clock has not come to yet was sampled when it was wrong
            behind = first - span(each) + 1
            cursor.run("samples_forget", span=span(each), before=FIRST, behind=behind)
        self._add(cursor, self.taken)
        self._add(cursor, self._quarters(cursor))
        for each, kept in KEPT.items():
            cursor.run("samples_forget", span=span(each), before=self._end - span(kept), behind=LAST)
        return len(self.taken)

    def _read(self, cursor: Cursor, now: int) -> None:
        queues = [kept_queue(row) for row in cursor.all("queues_all", now=now)]
        shown = [kept for kept in queues if not kept.name.startswith(BACKLOG)]
        self._names = {kept.id: kept.name for kept in shown}
        self._ids = {kept.name: kept.id for kept in shown}
        tally = Tally(self.minutes, self._last)
        self._position = Position(self._end, *self._note_new(cursor, tally))
        for minute in self.minutes:
            self._note_ended(cursor, tally, minute)
        self.taken = sampled(self.minutes, tally.happened, standing(cursor, shown))

    def _note_new(self, cursor: Cursor, tally: Tally) -> tuple[int, int]:
        """Count pushes and failures since the last sample; the last of each."""
        last = self._last or Position(0, 0, 0)
        seq, failure = cursor.one("newest") or (0, 0)
        ids = {name: name for name in self._ids}
        return (
            self._note(cursor, tally, "pushed", self._names, last.seq, seq or 0),
            self._note(cursor, tally, "failed", ids, last.failure, failure or 0),
        )

    def _note(
        self, cursor: Cursor, tally: Tally, what: str, names: Mapping[Any, str], last: int, newest: int
    ) -> int:
        """Count what is new by queue and minute; the last of it."""
        lowest = newest - monitor.MOST_NEW
        lowest, some = (max(min(last, newest), lowest), newest) if tally.follows else (lowest, WINDOW)
        counted, earlier = max(lowest, 0), False
        while newest > lowest and not earlier:
            after = max(lowest, newest - some)
            said = {"after": after, "newest": newest, "first": self.minutes[0], "end": self._end}
            for queue, minute, count, highest in cursor.all(f"sample_{what}", **said):
                counted, earlier = max(counted, highest), earlier or minute < 0
                if queue in names:
                    tally.add(what, names[queue], self.minutes[0] + int(minute) * span(MINUTE), count)
            newest = after
        return counted

    def _note_ended(self, cursor: Cursor, tally: Tally, minute: int) -> None:
        times = {"first": minute, "end": minute + span(MINUTE)}
        rows = cursor.dialect.for_each(cursor, "sample_ended", list(self._names), **times)
        for queue, done, dead in rows:
            if done or dead:
                name = self._names[queue]
                tally.add("done", name, minute, done)
                tally.add("dead", name, minute, dead)
                tally.measure(name, minute, _newest(cursor, queue, times))

    def _quarters(self, cursor: Cursor) -> list[Sample]:
        start, end = unrolled(self._last, self.minutes[0]), floor(self._end, QUARTER)
        if start >= end:
            return []
        rows = cursor.all("samples", span=span(MINUTE), since=start, until=end)
        return quarters(sample_of(row) for row in rows)

    def _add(self, cursor: Cursor, samples: list[Sample]) -> None:
        rows = [_columns(each, self._ids[each.queue]) for each in samples if each.queue in self._ids]
        if rows:
            cursor.many("sample_add", rows)


def sample_of(row: Row) -> Sample:
    """A row of ``samples``."""
    name, length, at, *counts, waits, runs = row
    return Sample(
        queue=name,
        at=moment(at),
        span=timedelta(microseconds=length),
        **dict(zip(COUNTS, counts, strict=True)),
        waits=_histogram(waits),
        runs=_histogram(runs),
    )


def _columns(sample: Sample, queue: int) -> dict[str, Any]:
    counts = {name: getattr(sample, name) for name in COUNTS}
    times = {"waits": json.dumps(sample.waits), "runs": json.dumps(sample.runs)}
    return {"span": span(sample.span), "at": micros(sample.at), "queue": queue, **counts, **times}


def _histogram(text: str) -> Histogram:
    return {int(bucket): count for bucket, count in json.loads(text).items()}


def _newest(cursor: Cursor, queue: int, times: Mapping[str, int]) -> list[Ended]:
    """The times of the newest messages that have ended between two moments."""
    rows = [
        Ended(*row)
        for state in (State.DONE, State.DEAD)
        for row in cursor.all(
            "sample_times", queue=queue, state=state.value, limit=monitor.MOST_MEASURED, **times
        )
    ]
    return sorted(rows, key=lambda each: each.finished_at)[-monitor.MOST_MEASURED :]
