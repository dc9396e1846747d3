"""How queues stand, and the samples of what happened to them."""

from collections import Counter
from datetime import timedelta
from itertools import chain

from rowmq.core import monitor
from rowmq.core.clock import micros, span
from rowmq.core.monitor import KEPT, MINUTE, QUARTER, Counts, Sample
from rowmq.core.outcome import State
from rowmq.core.sampling import Ended, Position, Tally, due, floor, quarters, sampled, unrolled
from rowmq.stores.memory.row import Finished
from rowmq.stores.memory.tables import Tables


def standing(tables: Tables, queue: str, now: int) -> Counts:
    """How many messages of a queue are in each state, each up to MOST_COUNTED."""
    rows = [row for row in tables.pending.values() if row.queue == queue]
    states = Counter(row.state(now) for row in rows)
    dead = sum(row.queue == queue and row.state == State.DEAD for row in tables.finished.values())
    counted = (states[State.READY], states[State.SCHEDULED], states[State.LEASED], dead)
    most = monitor.MOST_COUNTED
    times = [row.time for row in rows if row.time <= now]
    oldest = timedelta(microseconds=now - min(times)) if times else None
    ready, scheduled, leased, dead = (min(count, most) for count in counted)
    return Counts(ready, scheduled, leased, dead, oldest, more=max(counted) >= most)


def sample(tables: Tables, now: int) -> int:
    """Take the samples that are due, and forget old ones; how many were taken."""
    last = tables.sampled
    minutes = due(None if last is None else last.until, now)
    if not minutes:
        return 0
    end = minutes[-1] + span(MINUTE)
    tally = Tally(minutes, last)
    tables.sampled = Position(end, *_note_new(tables, tally, last or Position(0, 0, 0), end))
    _note_ended(tables, tally, minutes)
    stand = {name: standing(tables, name, now) for name in tables.queues}
    taken = sampled(minutes, tally.happened, stand)
    _keep(tables, taken, minutes[0], unrolled(last, minutes[0]), end)
    return len(taken)


def _note_new(tables: Tables, tally: Tally, last: Position, end: int) -> tuple[int, int]:
    """Count pushes and failures since the last sample; the last of each."""
    seq, failure = last.seq, last.failure
    for stored in tables.messages.values():
        if stored.seq > last.seq and stored.created_at < end:
            seq = max(seq, stored.seq)
            tally.add("pushed", stored.queue, stored.created_at)
    for number, _, attempt in chain.from_iterable(tables.failed.values()):
        if number > last.failure and micros(attempt.ended_at) < end:
            failure = max(failure, number)
            tally.add("failed", attempt.queue, micros(attempt.ended_at))
    return seq, failure


def _note_ended(tables: Tables, tally: Tally, minutes: list[int]) -> None:
    ended: dict[tuple[str, int], list[Finished]] = {}
    for row in tables.finished.values():
        minute = floor(row.finished_at, MINUTE)
        if minute in minutes:
            tally.add(row.state.value, row.queue, row.finished_at)
            ended.setdefault((row.queue, minute), []).append(row)
    for (queue, minute), rows in ended.items():
        newest = sorted(rows, key=lambda row: row.finished_at)[-monitor.MOST_MEASURED :]
        tally.measure(queue, minute, [_times(tables, row) for row in newest])


def _times(tables: Tables, row: Finished) -> Ended:
    stored = tables.messages[row.seq]
    return Ended(stored.created_at, stored.scheduled_for, row.started_at, row.finished_at)


def _keep(tables: Tables, taken: list[Sample], first: int, unrolled: int, end: int) -> None:
    """Put new samples beside those that are still to be kept, and make quarters of minutes."""
    old = [each for each in tables.samples if micros(each.at + each.span) <= first]
    minutes = [each for each in [*old, *taken] if each.span == MINUTE]
    parts = [each for each in minutes if unrolled <= micros(each.at) < floor(end, QUARTER)]
    kept = (
        each for each in [*old, *taken, *quarters(parts)] if micros(each.at) >= end - span(KEPT[each.span])
    )
    tables.samples = sorted(kept, key=lambda each: (each.at, each.queue))
