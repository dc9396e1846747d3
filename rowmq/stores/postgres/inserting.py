"""Inserting messages, and telling the processes that wait for them."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

from rowmq.stores.postgres.connecting import autocommit, is_silent
from rowmq.stores.postgres.listening import DEBOUNCE
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.dialect import Due, Fresh, Stored

PAUSE = 1.0
"""Seconds for which a queue that was not pushed to at once is not tried at once again."""
MOST_PAUSED = 1000


class Inserter:
    """The inserts of one process, which knows what it has notified about."""

    def __init__(self) -> None:
        self._notified: dict[int, float] = {}
        self._ids: dict[str, int] = {}
        """Of queues pushed to at once, to know before the statement whether it must notify. A wrong one, of a
        queue made anew under its name, is not the id that the statement finds, and so it notifies."""
        self._paused: dict[str, float] = {}

    def insert(self, cursor: Cursor, rows: Sequence[Fresh]) -> list[int]:
        """One statement with an array for each column."""
        again = cursor.joined or cursor.attempt > 0
        tell = [queue for queue in {row.queue for row in rows} if again or self._may_notify(queue)]
        return [row[0] for row in cursor.all("insert", tell=tell or None, **_columns(Fresh._fields, rows))]

    def insert_at_once(
        self, cursor: Cursor, queue: str, rows: Sequence[Due], now: int | None
    ) -> Stored | None:
        """The same in a statement that finds the queue and commits by itself."""
        connection = cursor.raw.connection
        if self._is_paused(queue) or not is_silent(connection):
            return None
        known = self._ids.get(queue)
        told = None if known is None or self._may_notify(known) else known
        with autocommit(connection), cursor.committing():
            found = cursor.all(
                "insert_at_once", name=queue, told=told, now=now, **_columns(Due._fields, rows)
            )
        if not found:
            self._pause(queue)
            return None
        self._ids[queue] = found[0][0]
        return Stored(found[0][0], [seq for _, seq in found])

    def _may_notify(self, queue: int) -> bool:
        now = time.monotonic()
        if now - self._notified.get(queue, 0.0) < DEBOUNCE:
            return False
        self._notified[queue] = now
        return True

    def _is_paused(self, queue: str) -> bool:
        return time.monotonic() < self._paused.get(queue, 0.0)

    def _pause(self, queue: str) -> None:
        """Go the long way for a while; nobody has been notified by the short one."""
        self._notified.pop(self._ids.pop(queue, 0), None)
        if len(self._paused) >= MOST_PAUSED:  # names that no queue has come without end
            self._paused.clear()
        self._paused[queue] = time.monotonic() + PAUSE


def _columns(names: Iterable[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any] | None]:
    """An array for each column; NULL for a column that has no values."""
    return {
        name: None if values.count(None) == len(values) else list(values)
        for name, values in zip(names, zip(*rows, strict=True), strict=True)
    }
