"""gq's table of messages, in MySQL, PostgreSQL or SQLite, as its versions and its description lay it out."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from rowmq.core.outcome import Reason, State
from rowmq.pipeline.importing.rows import Old, Part, Place, derived, later, moment
from rowmq.pipeline.importing.sql import connected, parts_by_number, rows, tables_like

TABLE = "message"
STATUSES = ("queued", "consumed", "processed", "failed")
"""By their numbers; the description has them as words. What is consumed is still owed."""


class Gq:
    """One table is one queue. Without a status, what is in it is still owed: gq deletes the rest."""

    def places(self, url: str) -> list[Place]:
        """The table, if it is there and is gq's."""
        with connected(url) as connection:
            return [Place(TABLE, TABLE, TABLE)] if TABLE in tables_like(connection, "id", "payload") else []

    def parts(self, url: str, place: Place) -> list[Part]:
        """By the numbers of the messages."""
        with connected(url) as connection:
            return parts_by_number(connection, place.where, "id")

    def read(self, url: str, place: Place, part: Part, now: datetime) -> Iterator[Old]:
        """The rows."""
        with connected(url) as connection:
            yield from (_old(row, now) for row in rows(connection, place.where, "id", part))


def _old(row: Mapping[str, Any], now: datetime) -> Old:
    status = row.get("status")
    word = STATUSES[status] if isinstance(status, int) else status
    state = {"processed": State.DONE, "failed": State.DEAD}.get(word or "")
    created = moment(row.get("created_at", row.get("created"))) or now
    changed = moment(row.get("updated_at", row.get("updated")))
    return Old(
        id=derived("gq", TABLE, row["id"]),
        body=bytes(row["payload"] or b""),
        binary=True,
        at=None if state else later([moment(row.get("ready_at"))], now),
        deadline=moment(row.get("deadline")),
        created_at=created,
        attempts=row.get("retries") or 0,
        state=state,
        reason=Reason.EXPIRED if state is State.DEAD else None,
        finished_at=(changed or created) if state else None,
        place=row["id"],
    )
