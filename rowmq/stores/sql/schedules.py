"""The schedules role."""

import builtins
from dataclasses import replace
from datetime import UTC, datetime

from rowmq.core.clock import micros, moment
from rowmq.core.errors import RowMQError
from rowmq.core.history import Schedule
from rowmq.core.message import Batch, derived_id
from rowmq.core.names import check_name
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.database import Database
from rowmq.stores.sql.lookup import queue_named
from rowmq.stores.sql.push import Push
from rowmq.stores.sql.rows import dump_message, load_message, stamp


class SQLSchedules:
    """Messages pushed by the clock, in SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, schedule: Schedule, *, now: datetime | None = None) -> None:
        """Create or replace a schedule."""
        check_name(schedule.name, "schedule name")
        given = stamp(now)

        def work(cursor: Cursor) -> None:
            kept = queue_named(cursor, schedule.queue, given)
            cursor.run("schedule_drop", name=schedule.name)
            cursor.run(
                "schedule_put",
                name=schedule.name,
                queue=kept.id,
                spec=schedule.spec,
                message=dump_message(schedule.message),
                next_at=micros(schedule.next_at),
                paused=schedule.paused,
            )

        self._database.run(work)

    def list(self, *, due: datetime | None = None) -> builtins.list[Schedule]:
        """All schedules, or those due."""
        rows = self._database.read(lambda cursor: cursor.all("schedules_list"))
        schedules = [
            Schedule(
                name=name,
                queue=queue,
                spec=spec,
                message=load_message(message),
                next_at=moment(next_at),
                paused=bool(paused),
            )
            for name, queue, spec, message, next_at, paused in rows
        ]
        chosen = [one for one in schedules if due is None or (not one.paused and one.next_at <= due)]
        return sorted(chosen, key=lambda one: one.name)

    def drop(self, name: str) -> bool:
        """Delete a schedule."""
        return self._database.run(lambda cursor: cursor.run("schedule_drop", name=name)) > 0

    def fire(self, name: str, tick: datetime, following: datetime, *, now: datetime | None = None) -> bool:
        """Push for one tick, once: whoever moves the schedule to the following tick is the one who pushes."""
        given = stamp(now)

        def work(cursor: Cursor) -> bool:
            if not cursor.run("schedule_advance", name=name, tick=micros(tick), following=micros(following)):
                return False
            row = cursor.one("schedule_find", name=name)
            if row is None:
                return False
            message = load_message(row[1])
            copy = replace(message, id=derived_id(message.id, tick.astimezone(UTC).isoformat()))
            (answer,) = Push(cursor, given).run([Batch(row[0], [copy])])
            if isinstance(answer, RowMQError):
                raise answer
            return True

        return self._database.run(work)
