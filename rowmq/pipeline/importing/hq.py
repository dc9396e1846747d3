"""hq's file: queues, and their messages in one table."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from rowmq.core.outcome import Reason, State
from rowmq.pipeline.importing.rows import Old, Part, Place, later, moment
from rowmq.pipeline.importing.sql import connected, parts_by_uuid, rows, tables_like

QUEUES = "hq_queues"
COLUMNS = ("id", "args", "queue_id", "attempts", "inserted_at", "locked_at", "completed_at", "failed_at")
"""Of the messages, whose table older versions called jobs."""


class Hq:
    """What hq never hands out again, because its attempts are used up, is dead here."""

    def places(self, url: str) -> list[Place]:
        """The queues, with their settings."""
        with connected(url) as connection:
            tables = tables_like(connection, *COLUMNS)
            if not tables or QUEUES not in tables_like(connection, "name", "visibility_timeout_seconds"):
                return []
            return [_place(tables[-1], row) for row in rows(connection, QUEUES, "id", Part())]

    def parts(self, url: str, place: Place) -> list[Part]:
        """By the first digits of the ids."""
        with connected(url) as connection:
            return parts_by_uuid(connection, json.loads(place.where)[0])

    def read(self, url: str, place: Place, part: Part, now: datetime) -> Iterator[Old]:
        """The rows of the queue."""
        table, queue, most, lease = json.loads(place.where)
        with connected(url) as connection:
            found = rows(connection, table, "id", part, queue_id=bytes.fromhex(queue))
            yield from (_old(row, most, timedelta(seconds=lease), now) for row in found)


def _place(table: str, row: Mapping[str, Any]) -> Place:
    most, lease = row["max_attempts"], row["visibility_timeout_seconds"]
    where = json.dumps([table, bytes(row["id"]).hex(), most, max(lease, 0)])
    settings: dict[str, Any] = {"max_attempts": most if most > 0 else None}
    if lease > 0:
        settings["lease"] = timedelta(seconds=lease)
    return Place(row["name"], where, row["name"], settings=settings)


def _old(row: Mapping[str, Any], most: int, lease: timedelta, now: datetime) -> Old:
    done, failed, locked = (moment(row[name]) for name in ("completed_at", "failed_at", "locked_at"))
    until = None if locked is None else locked + lease
    exhausted = row["attempts"] >= most > 0 and (until is None or until <= now)
    state = State.DONE if done else State.DEAD if failed or exhausted else None
    reason = None if state is not State.DEAD else Reason.KILLED if failed else Reason.EXHAUSTED
    return Old(
        id=UUID(bytes=bytes(row["id"])),
        body=row["args"].encode(),
        binary=False,
        at=None if state else later([until], now),
        created_at=cast("datetime", moment(row["inserted_at"])),
        attempts=row["attempts"],
        state=state,
        reason=reason,
        finished_at=done or failed or (moment(row["updated_at"]) if state else None),
    )
