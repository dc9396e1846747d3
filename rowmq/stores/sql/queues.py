"""The queues role."""

import builtins
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from rowmq.core.clock import micros
from rowmq.core.errors import InvalidSetting, QueueInUse, QueueNotFound
from rowmq.core.history import Stats
from rowmq.core.names import check_name
from rowmq.core.outcome import State
from rowmq.core.queue import Queue, changed
from rowmq.core.store import BACKLOG
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.database import Database
from rowmq.stores.sql.deleting import CHUNK, erase
from rowmq.stores.sql.groups import advance
from rowmq.stores.sql.lookup import clock, queue_named, queues_by_id, queues_by_name
from rowmq.stores.sql.rows import Kept, kept_queue, queue_columns, stamp
from rowmq.stores.sql.topics import unbind_everywhere

_TIME = "COALESCE(p.visible_at, p.parked_until)"
WAITING = {
    State.READY: f" AND {_TIME} <= :now",
    State.SCHEDULED: f" AND {_TIME} > :now AND p.token IS NULL",
    State.LEASED: f" AND {_TIME} > :now AND p.token IS NOT NULL",
}
"""What makes a pending row be in each state."""
NOT_LEASED = f" AND ({_TIME} <= :now OR p.token IS NULL)"


class SQLQueues:
    """The queues and their settings, in SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(
        self, name: str, changes: Mapping[str, Any] | None = None, *, now: datetime | None = None
    ) -> Queue:
        """Create or change a queue."""
        check_name(name)
        given = stamp(now)

        def work(cursor: Cursor) -> Queue:
            kept = queues_by_name(cursor, [name], given).get(name)
            if kept is not None:
                cursor.all("queue_lock", queue=kept.id)
                kept = queue_named(cursor, name, given)
            queue = changed(kept.queue if kept else Queue(name=name), changes or {})
            target = _dead_letter(cursor, queue, kept)
            columns = queue_columns(queue, target) | {"now": clock(cursor, given)}
            cursor.run("queue_update" if kept else "queue_insert", **columns)
            return queue

        return self._database.run(work)

    def get(self, name: str) -> Queue | None:
        """The queue, or None."""
        if name.startswith(BACKLOG):
            return None
        kept = self._database.read(lambda cursor: queues_by_name(cursor, [name], 0)).get(name)
        return kept.queue if kept else None

    def list(self) -> builtins.list[Queue]:
        """All queues by name."""
        rows = self._database.read(lambda cursor: cursor.all("queues_all", now=0))
        queues = [kept.queue for kept in map(kept_queue, rows) if not kept.name.startswith(BACKLOG)]
        return sorted(queues, key=lambda queue: queue.name)

    def drop(self, name: str, *, now: datetime | None = None) -> bool:
        """Delete a queue and everything in it, the bulk of it in small transactions first."""
        given = stamp(now)
        kept = self._database.read(lambda cursor: queues_by_name(cursor, [name], 0)).get(name)
        if kept is None or name.startswith(BACKLOG):
            return False
        self._refuse_if_in_use(kept)
        while self._database.run(lambda cursor: _erase_some(cursor, kept, given)) == CHUNK:
            pass
        return self._database.run(lambda cursor: _drop(cursor, kept, given))

    def purge(
        self,
        name: str,
        *,
        state: State | None = None,
        before: datetime | None = None,
        limit: int | None = None,
        now: datetime | None = None,
    ) -> int:
        """Delete messages by state and age, in small transactions."""
        given, total = stamp(now), 0
        while limit is None or total < limit:
            most = CHUNK if limit is None else min(CHUNK, limit - total)
            count = self._database.run(
                lambda cursor: _purge(cursor, name, state, before, most, given)  # noqa: B023 - run now
            )
            total += count
            if count < most:
                break
        return total

    def stats(self, name: str, *, now: datetime | None = None) -> Stats:
        """Count by state."""
        given = stamp(now)

        def work(cursor: Cursor) -> Stats:
            kept = visible(cursor, name, given)
            row = cursor.one("count_pending", queue=kept.id, now=kept.now)
            ready, scheduled, leased, oldest = row or (0, 0, 0, None)
            finished: dict[str, int] = {row[0]: row[1] for row in cursor.all("count_finished", queue=kept.id)}
            age = None if oldest is None else timedelta(microseconds=kept.now - oldest)
            counts = (int(ready or 0), int(scheduled or 0), int(leased or 0))
            return Stats(*counts, finished.get("done", 0), finished.get("dead", 0), age)

        return self._database.read(work)

    def _refuse_if_in_use(self, kept: Kept) -> None:
        sources = self._database.read(lambda cursor: cursor.all("queue_sources", queue=kept.id))
        _refuse_sources(kept, sources)


def visible(cursor: Cursor, name: str, now: int | None) -> Kept:
    """The queue of this name, unless it is a topic's hidden one. Raises QueueNotFound."""
    if name.startswith(BACKLOG):
        raise QueueNotFound(name)
    return queue_named(cursor, name, now)


def _dead_letter(cursor: Cursor, queue: Queue, kept: Kept | None) -> int | None:
    """The key of the dead-letter queue, once it is sure that dead letters end somewhere."""
    if queue.dead_letter is None:
        return None
    target = queue_named(cursor, queue.dead_letter, 0)
    step: Kept | None = target
    while step is not None:
        cursor.all("queue_lock", queue=step.id)
        if kept is not None and step.id == kept.id:
            raise InvalidSetting(
                f"the dead letters of {queue.name!r} would come back to it by way of {queue.dead_letter!r}"
            )
        step = queues_by_id(cursor, [step.dead_letter], 0).get(step.dead_letter) if step.dead_letter else None
    return target.id


def _refuse_sources(kept: Kept, sources: builtins.list[tuple[Any, ...]]) -> None:
    if sources:
        names = ", ".join(repr(row[0]) for row in sources)
        raise QueueInUse(f"queue {kept.queue.name!r} is the dead-letter queue of {names}; change that first")


def _erase_some(cursor: Cursor, kept: Kept, now: int | None) -> int:
    seqs = [row[0] for row in cursor.all("seqs_of_queue", queue=kept.id, limit=CHUNK)]
    erase(cursor, kept.queue.name, "drop", seqs, clock(cursor, now))
    return len(seqs)


def _drop(cursor: Cursor, kept: Kept, now: int | None) -> bool:
    cursor.all("queue_lock", queue=kept.id)
    _refuse_sources(kept, cursor.all("queue_sources", queue=kept.id))
    while _erase_some(cursor, kept, now):
        pass
    unbind_everywhere(cursor, kept.name, now)
    for table in ("schedules", "consumers", "dedup", "groups", "claims", "rates", "samples"):
        cursor.run(f"drop_{table}", queue=kept.id)
    return cursor.run("queue_delete", queue=kept.id) > 0


def _purge(
    cursor: Cursor, name: str, state: State | None, before: datetime | None, most: int, now: int | None
) -> int:
    kept = visible(cursor, name, now)
    said: dict[str, Any] = {"queue": kept.id, "limit": most}
    extra = ""
    if before is not None:
        extra = " AND m.created_at < :before"
        said["before"] = micros(before)
    if state in (State.DONE, State.DEAD):
        rows = cursor.select("purge_finished", extra, state=state.value, **said)
    else:
        extra += NOT_LEASED if state is None else WAITING[state]
        rows = cursor.select("purge_pending", extra, now=kept.now, **said)
    erase(cursor, name, "purge", [row[0] for row in rows], kept.now)
    advance(cursor, {row[1] for row in rows if row[1] is not None}, kept.now)
    return len(rows)
