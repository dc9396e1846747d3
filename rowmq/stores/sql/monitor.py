"""The monitor role: how queues stand, what is in them, what happened to them, how the database is."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from rowmq.core.clock import micros
from rowmq.core.clock import span as length
from rowmq.core.monitor import (
    Counts,
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
from rowmq.core.store import BACKLOG
from rowmq.core.where import Where
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.database import Database
from rowmq.stores.sql.excerpts import last_of, plans
from rowmq.stores.sql.lookup import clock, queues_by_name
from rowmq.stores.sql.monitor_lists import Failed, Finished, Owed, found_failures, last_failures, sheet
from rowmq.stores.sql.monitor_samples import Sampling, sample_of
from rowmq.stores.sql.queues import visible
from rowmq.stores.sql.rows import stamp
from rowmq.stores.sql.standing import standing

FOREVER = 2**63 - 1


class SQLMonitor:
    """What people who look after queues are shown, in SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def counts(self, queues: Sequence[str], *, now: datetime | None = None) -> dict[str, Counts]:
        """How these queues stand."""
        names, given = [name for name in queues if not name.startswith(BACKLOG)], stamp(now)

        def work(cursor: Cursor) -> dict[str, Counts]:
            cursor.dialect.keep_to_indexes(cursor)
            kept = queues_by_name(cursor, names, clock(cursor, given))
            return standing(cursor, [kept[name] for name in names if name in kept])

        return self._database.read(work)

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
        """Messages of a queue in a state."""
        check_sheet(limit)
        given = stamp(now)

        def work(cursor: Cursor) -> Sheet:
            cursor.dialect.keep_to_indexes(cursor)
            kept = visible(cursor, queue, given)
            kind = Finished if state in (State.DONE, State.DEAD) else Owed
            wrong = last_failures if state == State.DEAD else None
            return sheet(kind(cursor, kept, state, where, (since, until)), place, limit, wrong)

        return self._database.read(work)

    def failed(
        self,
        queue: str,
        text: str,
        *,
        place: Place | None = None,
        limit: int = 50,
        now: datetime | None = None,
    ) -> Sheet:
        """Messages that failed in a queue with this text in an error."""
        check_sheet(limit)
        given = stamp(now)

        def work(cursor: Cursor) -> Sheet:
            cursor.dialect.keep_to_indexes(cursor)
            kept = visible(cursor, queue, given)
            listing = Failed(cursor, kept, storable(text) or "", place, limit)
            return sheet(listing, place, limit, found_failures)

        return self._database.read(work)

    def failures(self, seq: int, *, limit: int = 100, longest: int = 20_000) -> Failures:
        """The last failed attempts of a message, and how many there are."""

        def work(cursor: Cursor) -> Failures:
            cursor.dialect.keep_to_indexes(cursor)
            return last_of(cursor, seq, limit, longest)

        return self._database.read(work)

    def plans(self, *, queue: str | None = None) -> list[Plan]:
        """Schedules by name, of a queue or all."""
        return self._database.read(lambda cursor: plans(cursor, queue))

    def sample(self, *, now: datetime | None = None) -> int:
        """Take the samples that are due: read without a lock, and kept only by who is first."""
        given = stamp(now)
        sampling = self._database.read(lambda cursor: Sampling(cursor, clock(cursor, given)))
        return self._database.run(sampling.keep, repeatable=True) if sampling.minutes else 0

    def samples(
        self,
        span: timedelta,
        since: datetime,
        *,
        queue: str | None = None,
        now: datetime | None = None,  # noqa: ARG002 - what is kept is kept
    ) -> list[Sample]:
        """Samples of a span that begin at a moment or later."""
        check_span(span)
        said = {"span": length(span), "since": micros(since)}

        def work(cursor: Cursor) -> list[Sample]:
            if queue is None:
                return [sample_of(row) for row in cursor.all("samples", until=FOREVER, **said)]
            kept = queues_by_name(cursor, [queue], 0)
            rows = [cursor.all("samples_of_queue", queue=each.id, **said) for each in kept.values()]
            return [sample_of(row) for some in rows for row in some]

        return self._database.read(work)

    def health(self) -> Health:
        """How the database is."""
        return self._database.read(_health)


def _health(cursor: Cursor) -> Health:
    version, last = cursor.one("version") or ("",), cursor.one("last_migration") or ("",)
    size, sizes = cursor.dialect.sizes(cursor)
    settings = {str(name): str(value) for name, value in cursor.all("settings")}
    return Health(str(version[0]), str(last[0]), size, sizes, settings)
