"""pgq's tables: one for each queue, in PostgreSQL."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, cast

from rowmq.core.outcome import Reason, State
from rowmq.pipeline.importing.rows import Old, Part, Place, later, moment, texts
from rowmq.pipeline.importing.sql import connected, parts_by_uuid, rows, tables_like

COLUMNS = ("id", "created_at", "started_at", "locked_until", "processed_at", "consumed_count", "error_detail",
           "payload", "metadata")  # fmt: skip


class Pgq:
    """A table is a queue. What was processed with an error was discarded, and is dead."""

    def places(self, url: str) -> list[Place]:
        """The tables that have pgq's columns."""
        with connected(url) as connection:
            return [Place(name, name, name) for name in tables_like(connection, *COLUMNS)]

    def parts(self, url: str, place: Place) -> list[Part]:
        """By the first digits of the ids."""
        with connected(url) as connection:
            return parts_by_uuid(connection, place.where)

    def read(self, url: str, place: Place, part: Part, now: datetime) -> Iterator[Old]:
        """The rows."""
        with connected(url) as connection:
            yield from (_old(row, now) for row in rows(connection, place.where, "id", part))


def _old(row: Mapping[str, Any], now: datetime) -> Old:
    processed, error = moment(row["processed_at"]), row["error_detail"]
    state = None if processed is None else State.DONE if error is None else State.DEAD
    hidden = [moment(row["locked_until"]), moment(row.get("scheduled_for"))]
    return Old(
        id=row["id"],
        body=row["payload"].encode(),
        binary=False,
        metadata=texts(row["metadata"]),
        at=None if state else later(hidden, now),
        created_at=cast("datetime", moment(row["created_at"])),
        attempts=row["consumed_count"],
        state=state,
        reason=Reason.KILLED if state is State.DEAD else None,
        started_at=moment(row["started_at"]),
        finished_at=processed,
        error=error,
    )
