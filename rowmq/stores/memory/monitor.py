"""What people who look after queues are shown."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from rowmq.core import monitor
from rowmq.core.excerpt import cut
from rowmq.core.history import FailedAttempt, Record, Schedule
from rowmq.core.look import Choose, Spot, gather
from rowmq.core.monitor import (
    LONGEST_EXCERPT,
    LONGEST_REMARK,
    Counts,
    Excerpt,
    Failures,
    Health,
    Place,
    Plan,
    Sample,
    Sheet,
    check_sheet,
    check_span,
)
from rowmq.core.outcome import State, storable
from rowmq.core.where import Where, holds
from rowmq.stores.memory.record import record
from rowmq.stores.memory.role import Role, atomic
from rowmq.stores.memory.row import Failed, Pending
from rowmq.stores.memory.sampling import sample, standing

FINISHED = (State.DONE, State.DEAD)


class MemoryMonitor(Role):
    """The monitor of a memory store."""

    @atomic
    def counts(self, queues: Sequence[str], *, now: datetime | None = None) -> dict[str, Counts]:
        """How these queues stand; one that does not exist is left out."""
        at = self.tables.clock(now)
        return {name: standing(self.tables, name, at) for name in queues if name in self.tables.queues}

    @atomic
    def page(
        self,
        queue: str,
        state: State,
        *,
        where: Where = (),
        since: datetime | None = None,
        until: datetime | None = None,
        place: Place | None = None,
        limit: int = 50,
        now: datetime | None = None,
    ) -> Sheet:
        """Messages of a queue in a state, what is finished newest first, what is owed in claim order."""
        check_sheet(limit)
        self.tables.queue(queue)
        at = self.tables.clock(now)

        def choose(spots: Sequence[Spot]) -> list[Spot]:
            return [spot for spot in spots if self._is_wanted(spot.seq, state, where, since, until, at)]

        spots = self._finished(queue) if state in FINISHED else self._owed(queue)
        sheet = self._sheet(spots, choose, place, limit, at)
        return sheet._replace(failures=self._last(sheet.records)) if state == State.DEAD else sheet

    @atomic
    def failed(
        self,
        queue: str,
        text: str,
        *,
        place: Place | None = None,
        limit: int = 50,
        now: datetime | None = None,
    ) -> Sheet:
        """Messages that failed in a queue with this text in an error, newest failure first, each once."""
        check_sheet(limit)
        self.tables.queue(queue)
        sought, newest = (storable(text) or "").lower(), dict[int, Failed]()
        kept = [each for each in self.tables.failed[queue] if each.seq in self.tables.messages]
        for each in kept:
            if sought in each.attempt.error.lower():
                newest[each.seq] = each

        def choose(spots: Sequence[Spot]) -> list[Spot]:
            return [
                spot for spot in spots if spot.seq in newest and newest[spot.seq].number == -spot.place[0]
            ]

        spots = [Spot((-each.number,), each.seq) for each in reversed(kept)]
        sheet = self._sheet(spots, choose, place, limit, self.tables.clock(now))
        found = {each.seq: _excerpt(newest[each.seq].attempt, LONGEST_REMARK) for each in sheet.records}
        return sheet._replace(failures=found)

    @atomic
    def failures(self, seq: int, *, limit: int = 100, longest: int = 20_000) -> Failures:
        """The last failed attempts of a message, and how many there are."""
        known = self.tables.failures.get(seq, [])
        last = [_excerpt(each, longest) for each in known[-limit:]]
        return Failures(last, min(len(known), monitor.MOST_LOOKED))

    @atomic
    def plans(self, *, queue: str | None = None) -> list[Plan]:
        """Schedules by name, of a queue or all."""
        chosen = (each for _, each in sorted(self.tables.schedules.items()) if queue in (None, each.queue))
        return [_plan(each) for each, _ in zip(chosen, range(monitor.MOST_SCHEDULES), strict=False)]

    @atomic
    def sample(self, *, now: datetime | None = None) -> int:
        """Take the samples of the minutes that are over since the last, and forget old ones; how many."""
        return sample(self.tables, self.tables.clock(now))

    @atomic
    def samples(
        self,
        span: timedelta,
        since: datetime,
        *,
        queue: str | None = None,
        now: datetime | None = None,  # noqa: ARG002 - what is kept is kept
    ) -> list[Sample]:
        """Samples of a span that begin at ``since`` or later, oldest first."""
        check_span(span)
        found = (each for each in self.tables.samples if each.span == span and each.at >= since)
        return [each for each in found if queue in (None, each.queue)]

    @atomic
    def health(self) -> Health:
        """How the memory is: ours, and not measured."""
        return Health("the memory of this process", "", None, {}, {})

    def _sheet(self, spots: list[Spot], choose: Choose, place: Place | None, limit: int, now: int) -> Sheet:
        def look(behind: Place | None, size: int) -> list[Spot]:
            return [spot for spot in spots if behind is None or spot.place > behind][:size]

        found, more = gather(look, choose, place, limit)
        records = [record(self.tables, spot.seq, now) for spot in found]
        return Sheet([_shortened(each) for each in records if each is not None], more)

    def _last(self, records: Sequence[Record]) -> dict[int, Excerpt]:
        known = {each.seq: self.tables.failures.get(each.seq) for each in records}
        return {seq: _excerpt(failed[-1], LONGEST_REMARK) for seq, failed in known.items() if failed}

    def _finished(self, queue: str) -> list[Spot]:
        rows = (row for row in self.tables.finished.values() if row.queue == queue)
        return sorted(Spot((-row.finished_at, -row.seq), row.seq) for row in rows)

    def _owed(self, queue: str) -> list[Spot]:
        return sorted(
            Spot(_place(row), row.seq) for row in self.tables.pending.values() if row.queue == queue
        )

    def _is_wanted(
        self,
        seq: int,
        state: State,
        where: Where,
        since: datetime | None,
        until: datetime | None,
        now: int,
    ) -> bool:
        one = record(self.tables, seq, now)
        if one is None or one.state != state or not holds(where, one.metadata):
            return False
        time = one.finished_at or one.created_at
        return (since is None or time >= since) and (until is None or time < until)


def _shortened(one: Record) -> Record:
    return one._replace(body=None if one.body is None else one.body[:LONGEST_EXCERPT], result=None)


def _excerpt(attempt: FailedAttempt, longest: int) -> Excerpt:
    short = cut(attempt.error, longest)
    return Excerpt(attempt._replace(error=short), len(attempt.error.encode()), is_cut=short != attempt.error)


def _plan(one: Schedule) -> Plan:
    said = one.message
    excerpt = said.body[:LONGEST_EXCERPT], said.binary, len(said.body)
    return Plan(one.name, one.queue, one.spec, one.next_at, one.paused, *excerpt)


def _place(row: Pending) -> Place:
    """Where a row is among those that are owed: the parked ones last, and by seq."""
    return int(row.parked), -row.priority, 0 if row.parked else row.time, row.seq
