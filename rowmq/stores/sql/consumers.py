"""The consumers role."""

import builtins
from datetime import datetime, timedelta

from rowmq.core.clock import moment, span
from rowmq.core.delivery import Membership, check_ttl
from rowmq.core.history import ConsumerInfo
from rowmq.core.names import check_name
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.database import Database
from rowmq.stores.sql.lookup import clock, queue_named
from rowmq.stores.sql.rows import stamp


class SQLConsumers:
    """Who is consuming, in SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def beat(self, queue: str, consumer: str, ttl: timedelta, *, now: datetime | None = None) -> Membership:
        """Register or keep alive, forget the dead, and tell the place."""
        check_name(consumer, "consumer name")
        check_ttl("consumer", ttl)
        given = stamp(now)

        def work(cursor: Cursor) -> Membership:
            kept = queue_named(cursor, queue, given)
            said = {"queue": kept.id, "now": kept.now}
            cursor.run("consumers_forget", **said)
            alive_until = kept.now + span(ttl)
            joined = not cursor.run("consumer_beat", name=consumer, alive_until=alive_until, queue=kept.id)
            if joined:
                cursor.run("consumer_join", name=consumer, alive_until=alive_until, **said)
            names = [row[1] for row in cursor.all("consumers_alive", **said)]
            return Membership(names.index(consumer), len(names), joined)

        return self._database.run(work)

    def retire(self, queue: str, consumer: str) -> bool:
        """Forget a consumer."""
        return (
            self._database.run(lambda cursor: cursor.run("consumer_retire", queue=queue, name=consumer)) > 0
        )

    def list(self, queue: str | None = None, *, now: datetime | None = None) -> builtins.list[ConsumerInfo]:
        """The consumers alive."""
        given = stamp(now)
        rows = self._database.read(lambda cursor: cursor.all("consumers_list", now=clock(cursor, given)))
        chosen = [row for row in rows if queue in (None, row[0])]
        return [ConsumerInfo(row[0], row[1], moment(row[2]), moment(row[3])) for row in chosen]

    def lead(self, role: str, consumer: str, ttl: timedelta, *, now: datetime | None = None) -> bool:
        """Take or keep the lead of a role; who inserts a role's row second runs again and finds it."""
        check_name(role, "role")
        check_name(consumer, "consumer name")
        check_ttl("lead", ttl)
        given = stamp(now)

        def work(cursor: Cursor) -> bool:
            at = clock(cursor, given)
            row = cursor.one("lead_lock", name=role)
            if row is not None and row[0] != consumer and row[1] > at:
                return False
            step = "lead_make" if row is None else "lead_take"
            cursor.run(step, name=role, holder=consumer, until=at + span(ttl))
            return True

        return self._database.run(work)
