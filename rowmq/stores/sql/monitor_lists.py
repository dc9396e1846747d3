"""Lists of messages by key: the rows that are looked at, and which of them are wanted."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Protocol

from rowmq.core.clock import micros
from rowmq.core.history import Record
from rowmq.core.look import Spot, gather
from rowmq.core.monitor import LONGEST_EXCERPT, LONGEST_REMARK, Place, Sheet
from rowmq.core.outcome import State
from rowmq.core.where import Where
from rowmq.stores.sql.choosing import metadata_conditions
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.excerpts import excerpts
from rowmq.stores.sql.rows import Kept, record, waiting_state

FIRST, LAST = -(2**62), 2**63 - 1
Period = tuple[datetime | None, datetime | None]


class Listing(Protocol):
    """A long list of messages."""

    cursor: Cursor
    kept: Kept

    def look(self, place: Place | None, size: int) -> Sequence[Spot]:
        """The next spots behind a place."""

    def choose(self, spots: Sequence[Spot]) -> Sequence[Spot]:
        """Those of them that are wanted."""


Wrong = Callable[[Cursor, Sequence[Spot]], list[int]]
"""Which failures are shown with the messages of a page."""


def sheet(listing: Listing, place: Place | None, limit: int, wrong: Wrong | None = None) -> Sheet:
    """A page of a list, with the messages themselves, as far as lists show them, and what went wrong."""
    cursor = listing.cursor
    spots, more = gather(listing.look, listing.choose, place, limit)
    found = _records(cursor, [spot.seq for spot in spots], listing.kept.now)
    failures = excerpts(cursor, wrong(cursor, spots), LONGEST_REMARK) if wrong and spots else []
    records = [found[spot.seq] for spot in spots if spot.seq in found]
    return Sheet(records, more, dict(failures))


def _records(cursor: Cursor, seqs: list[int], now: int) -> dict[int, Record]:
    if not seqs:
        return {}
    said: dict[str, Any] = {"seqs": seqs, "excerpt": LONGEST_EXCERPT}
    rows = [*cursor.all("records_owed", **said), *cursor.all("records_finished", **said)]
    return {row[0]: record(row, now, cursor.dialect) for row in rows}


def last_failures(cursor: Cursor, spots: Sequence[Spot]) -> list[int]:
    """The last failure of each message that has failed."""
    rows = cursor.all("failures_newest", seqs=[spot.seq for spot in spots])
    return [row[0] for row in rows if row[0] is not None]


def found_failures(_cursor: Cursor, spots: Sequence[Spot]) -> list[int]:
    """The failures that messages were found by."""
    return [spot.place[0] for spot in spots]


class Finished:
    """What is done or dead, newest first."""

    def __init__(self, cursor: Cursor, kept: Kept, state: State, where: Where, period: Period) -> None:
        self.cursor, self.kept = cursor, kept
        self._state, self._where = state, where
        since, until = period
        self._since = FIRST if since is None else micros(since)
        self._until = LAST if until is None else micros(until)

    def look(self, place: Place | None, size: int) -> list[Spot]:
        """By (finished_at, seq), from the end of the period backwards."""
        start = (self._until, 0)
        time, seq = min(place or start, start)
        said = {"queue": self.kept.id, "state": self._state.value, "since": self._since}
        rows = self.cursor.all("page_finished", **said, time=time, seq=seq, look=size)
        return [Spot((finished_at, seq), seq) for finished_at, seq in rows]

    def choose(self, spots: Sequence[Spot]) -> Sequence[Spot]:
        """Those whose metadata match."""
        return _matching(self.cursor, spots, self._where, (None, None))


class Owed:
    """What is ready, scheduled or leased, in the order it is claimed, and behind it what is parked."""

    def __init__(self, cursor: Cursor, kept: Kept, state: State, where: Where, period: Period) -> None:
        self.cursor, self.kept = cursor, kept
        self._state, self._where, self._period = state, where, period
        self._chosen: set[int] = set()
        self._priorities = [row[0] for row in cursor.all("priorities", queue=kept.id)]

    def look(self, place: Place | None, size: int) -> list[Spot]:
        """One range of the index after the other: (parked, priority, time, seq)."""
        spots: list[Spot] = []
        for parked, statement in enumerate(("page_owed", "page_parked")):
            for priority in self._priorities:
                if len(spots) < size and (place is None or (parked, -priority) >= place[:2]):
                    here = place if place is not None and (parked, -priority) == place[:2] else None
                    rows = self._range(statement, priority, here, size - len(spots))
                    self._chosen.update(seq for time, seq, held in rows if self._is_wanted(time, held))
                    spots += [Spot((parked, -priority, time, seq), seq) for time, seq, _ in rows]
        return spots

    def choose(self, spots: Sequence[Spot]) -> Sequence[Spot]:
        """Those in the state that were pushed in the period and whose metadata match."""
        chosen = [spot for spot in spots if spot.seq in self._chosen]
        return _matching(self.cursor, chosen, self._where, self._period)

    def _range(self, statement: str, priority: int, here: Place | None, size: int) -> list[Any]:
        ready, now = self._state == State.READY, self.kept.now
        time, seq = here[2:] if here is not None else self._start(statement)
        last = now if ready else LAST
        said = {"queue": self.kept.id, "priority": priority, "seq": seq, "look": size}
        times = {"time": time, "last": last} if statement == "page_owed" else {}
        return self.cursor.all(statement, **said, **times)

    def _is_wanted(self, time: int, held: object) -> bool:
        return waiting_state(time, self.kept.now, held=bool(held)) is self._state

    def _start(self, statement: str) -> tuple[int, int]:
        if statement == "page_parked" or self._state == State.READY:
            return FIRST, FIRST
        return self.kept.now, LAST


class Failed:
    """What failed in a queue, by failure, newest first, each message once."""

    def __init__(self, cursor: Cursor, kept: Kept, text: str, place: Place | None, limit: int) -> None:
        self.cursor, self.kept = cursor, kept
        self._sought = {"queue": kept.name, "text": text}
        self._place, self._wanted = place, limit + 1
        self._found: set[int] = set()
        self._seen: set[int] = set()

    def look(self, place: Place | None, size: int) -> list[Spot]:
        """By the number of the failure, backwards."""
        before = LAST if place is None else place[0]
        rows = self.cursor.all("page_failed", **self._sought, before=before, look=size)
        self._found.update(id for id, _, found in rows if found)
        return [Spot((id,), seq) for id, seq, _ in rows]

    def choose(self, spots: Sequence[Spot]) -> list[Spot]:
        """Those that the database has found to match, unless their message was found before."""
        fresh = [spot for spot in spots if spot.place[0] in self._found and self._is_first(spot.seq)]
        chosen: list[Spot] = []
        # No more are looked up than a page has: those behind them are the next page's.
        for start in range(0, len(fresh), self._wanted):
            chosen += self._not_before(fresh[start : start + self._wanted])
            if len(chosen) >= self._wanted:
                break
        return chosen

    def _is_first(self, seq: int) -> bool:
        first = seq not in self._seen
        self._seen.add(seq)
        return first

    def _not_before(self, spots: list[Spot]) -> list[Spot]:
        """Those that are on no earlier page."""
        if self._place is None:
            return spots
        seqs = [spot.seq for spot in spots]
        rows = self.cursor.all("page_failed_before", **self._sought, seqs=seqs, place=self._place[0])
        before = {row[0] for row in rows}
        return [spot for spot in spots if spot.seq not in before]


def _matching(cursor: Cursor, spots: Sequence[Spot], where: Where, period: Period) -> Sequence[Spot]:
    extra, said = metadata_conditions(cursor.dialect, where)
    for name, comparison, time in zip(("since", "until"), (">=", "<"), period, strict=True):
        if time is not None:
            extra += f" AND m.created_at {comparison} :{name}"
            said[name] = micros(time)
    if not extra or not spots:
        return spots
    rows = cursor.select("page_matching", extra, seqs=[spot.seq for spot in spots], **said)
    seqs = {row[0] for row in rows}
    return [spot for spot in spots if spot.seq in seqs]
