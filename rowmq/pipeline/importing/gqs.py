"""gqs's table of jobs, in SQLite or PostgreSQL."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from rowmq.core.outcome import Reason, State
from rowmq.pipeline.importing.rows import Old, Part, Place, later, moment, texts
from rowmq.pipeline.importing.sql import connected, parts_by_uuid, rows, tables_like

TABLE = "jobs"
COLUMNS = ("id", "created_at", "updated_at", "status", "attempts", "locked_until", "next_run_at", "payload")
DONE, DEAD = 3, 4
"""Statuses; the others are 0 unknown, 1 pending and 2 processing, which are still owed."""


class Gqs:
    """One table is one queue."""

    def places(self, url: str) -> list[Place]:
        """The table, if it is there and is gqs's."""
        with connected(url) as connection:
            return [Place(TABLE, TABLE, TABLE)] if TABLE in tables_like(connection, *COLUMNS) else []

    def parts(self, url: str, place: Place) -> list[Part]:
        """By the first digits of the ids."""
        with connected(url) as connection:
            return parts_by_uuid(connection, place.where)

    def read(self, url: str, place: Place, part: Part, now: datetime) -> Iterator[Old]:
        """The rows."""
        with connected(url) as connection:
            yield from (_old(row, now) for row in rows(connection, place.where, "id", part))


def _old(row: Mapping[str, Any], now: datetime) -> Old:
    state = {DONE: State.DONE, DEAD: State.DEAD}.get(row["status"])
    hidden = [moment(row["locked_until"]), moment(row["next_run_at"])]
    return Old(
        id=UUID(str(row["id"])),
        body=bytes(row["payload"] or b""),
        binary=True,
        metadata=texts(row["metadata"]),
        at=None if state else later(hidden, now),
        created_at=cast("datetime", moment(row["created_at"])),
        attempts=row["attempts"],
        state=state,
        reason=Reason.KILLED if state is State.DEAD else None,
        finished_at=moment(row["updated_at"]) if state else None,
    )
