"""The history role: looking up, putting right, accounting."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from rowmq.core.clock import micros, moment
from rowmq.core.delivery import Receipt
from rowmq.core.errors import InvalidSetting
from rowmq.core.history import Amendment, FailedAttempt, LedgerEntry, Page, Record, Swept
from rowmq.core.outcome import Reason, State
from rowmq.core.store import BACKLOG
from rowmq.core.where import Where
from rowmq.stores.sql.choosing import metadata_conditions
from rowmq.stores.sql.cursor import Cursor, Row
from rowmq.stores.sql.database import Database
from rowmq.stores.sql.deleting import CHUNK, erase
from rowmq.stores.sql.ending import bury, groups_of, move
from rowmq.stores.sql.groups import advance
from rowmq.stores.sql.lookup import clock, queue_named, queues_by_id
from rowmq.stores.sql.queues import NOT_LEASED, WAITING
from rowmq.stores.sql.rows import Kept, Owing, record, stamp
from rowmq.stores.sql.sweep import Sweep

FINISHED = (State.DONE, State.DEAD)
LARGEST_PAGE = 10_000
FOREVER = 2**63 - 1


class SQLHistory:
    """Looking things up and putting things right, in SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, id: UUID, *, now: datetime | None = None) -> Record | None:
        """One message by id."""
        dialect = self._database.dialect

        def work(cursor: Cursor) -> Record | None:
            dialect.snapshot(cursor.raw)
            rows = cursor.all("messages_by_id", ids=[dialect.id_in(id)])
            found = (
                _found(cursor, None, " AND m.seq = :seq", {"seq": rows[0][1]}, 1, stamp(now)) if rows else []
            )
            return found[0] if found else None

        return self._database.read(work)

    def receipt(self, id: UUID, *, now: datetime | None = None) -> Receipt | None:
        """The receipt of whoever holds the message now, or None."""
        dialect = self._database.dialect

        def work(cursor: Cursor) -> Receipt | None:
            rows = cursor.all("messages_by_id", ids=[dialect.id_in(id)])
            held = cursor.all("hold", seqs=[rows[0][1]]) if rows else []
            return _receipt(Owing(*held[0]), clock(cursor, stamp(now))) if held else None

        return self._database.run(work)

    def find(
        self,
        queue: str | None = None,
        *,
        state: State | None = None,
        where: Where = (),
        since: datetime | None = None,
        until: datetime | None = None,
        after: int = 0,
        limit: int = 100,
        now: datetime | None = None,
    ) -> Page:
        """A page of messages by seq."""
        if not 1 <= limit <= LARGEST_PAGE:
            raise InvalidSetting(f"a page has 1 to {LARGEST_PAGE} messages, not {limit}")
        extra, said = metadata_conditions(self._database.dialect, where)
        extra += " AND m.seq > :after"
        said["after"] = after
        for name, comparison, time in (("since", ">=", since), ("until", "<", until)):
            if time is not None:
                extra += f" AND m.created_at {comparison} :{name}"
                said[name] = micros(time)
        records = self._read(queue, state, extra, said, limit, now)
        return Page(records, records[-1].seq if len(records) == limit else None)

    def failures(self, id: UUID) -> list[FailedAttempt]:
        """The failed attempts of a message."""

        def work(cursor: Cursor) -> list[Row]:
            rows = cursor.all("messages_by_id", ids=[cursor.dialect.id_in(id)])
            return cursor.all("failures", seq=rows[0][1]) if rows else []

        return [
            FailedAttempt(
                attempt, queue, consumer, None if started is None else moment(started), moment(ended), error
            )
            for attempt, queue, consumer, started, ended, error in self._database.read(work)
        ]

    def redrive(
        self, queue: str, *, to: str | None = None, limit: int | None = None, now: datetime | None = None
    ) -> int:
        """Give dead and dead-lettered messages another life, in small transactions."""
        given, left = stamp(now), FOREVER if limit is None else limit
        count, after = 0, 0
        while left > count:
            most, start = min(CHUNK, left - count), after
            done, looked, after = self._database.run(
                lambda cursor: _redrive_some(cursor, (queue, to), start, most, given)  # noqa: B023 - run now
            )
            count += done
            if looked < most:
                break
        return count

    def amend(
        self, ids: Sequence[UUID], amendment: Amendment, *, to: str | None = None, now: datetime | None = None
    ) -> int:
        """Change messages nobody here holds."""
        if to is None and amendment == Amendment.MOVE:
            raise InvalidSetting("a move says which queue to move to")
        dialect = self._database.dialect
        keys = [dialect.id_in(id) for id in dict.fromkeys(ids)]

        def work(cursor: Cursor) -> int:
            given = clock(cursor, stamp(now))
            target = queue_named(cursor, to, given) if to is not None else None
            seqs = _amendable(cursor, cursor.all("messages_by_id", ids=keys)) if keys else []
            return _AMEND[amendment](cursor, seqs, target, given) if seqs else 0

        return self._database.run(work)

    def scan(
        self,
        first: int,
        last: int,
        *,
        queue: str | None = None,
        state: State | None = None,
        now: datetime | None = None,
    ) -> list[Record]:
        """Messages by seq range."""
        extra = " AND m.seq BETWEEN :first AND :last"
        return self._read(queue, state, extra, {"first": first, "last": last}, 2**31, now)

    def bounds(self) -> tuple[int, int]:
        """The lowest and highest seq."""
        row = self._database.read(lambda cursor: cursor.one("bounds"))
        return (row[0] or 0, row[1] or 0) if row else (0, 0)

    def archive(
        self,
        seqs: Sequence[int],
        *,
        prune: bool = False,
        before: datetime | None = None,
        now: datetime | None = None,
    ) -> int:
        """Mark, or delete, what the archive has."""
        given = stamp(now)
        end = FOREVER if before is None else micros(before)

        def work(cursor: Cursor) -> int:
            at = clock(cursor, given)
            found = cursor.all("finished_of", seqs=list(seqs)) if seqs else []
            rows = [(seq, queue) for seq, queue, finished_at in found if finished_at < end]
            if prune:
                _erase_by_queue(cursor, rows, "archive", at)
            elif rows:
                cursor.run("mark_archived", seqs=[row[0] for row in rows], now=at)
            return len(rows)

        return self._database.run(work)

    def ledger(self, queue: str | None = None) -> list[LedgerEntry]:
        """What was deleted."""
        rows = self._database.read(lambda cursor: cursor.all("ledger"))
        return [LedgerEntry(moment(row[0]), *row[1:]) for row in rows if queue in (None, row[1])]

    def sweep(self, *, limit: int = 1000, now: datetime | None = None) -> Swept:
        """Do what no caller has come to do."""
        return Sweep(self._database, limit, stamp(now)).run()

    def _read(
        self,
        queue: str | None,
        state: State | None,
        extra: str,
        said: dict[str, Any],
        limit: int,
        now: datetime | None,
    ) -> list[Record]:
        given = stamp(now)

        def work(cursor: Cursor) -> list[Record]:
            if state is None:
                cursor.dialect.snapshot(cursor.raw)  # two statements: what is owed, and what is finished
            conditions, parameters = extra, dict(said)
            if queue is not None:
                conditions += " AND q.name = :queue"
                parameters["queue"] = queue
            return _found(cursor, state, conditions, parameters, limit, given)

        return self._database.read(work)


def _receipt(row: Owing, now: int) -> Receipt | None:
    return Receipt(row.seq, row.token) if row.token is not None and row.time > now else None


def _found(
    cursor: Cursor, state: State | None, extra: str, said: dict[str, Any], limit: int, now: int | None
) -> list[Record]:
    """Records by seq from what is owed and what is finished."""
    at = clock(cursor, now)
    found: list[list[Row]] = []
    if state not in FINISHED:
        conditions = extra + (WAITING[state] if state else "")
        time = {"now": at} if state else {}
        found.append(cursor.select("find_pending", conditions, limit=limit, **said, **time))
    if state is None or state in FINISHED:
        conditions = extra + (" AND o.state = :state" if state else "")
        chosen = {"state": state.value} if state else {}
        found.append(cursor.select("find_finished", conditions, limit=limit, **said, **chosen))
    rows = heapq.merge(*found, key=lambda row: row[0])
    visible = (row for row in rows if not row[2].startswith(BACKLOG))
    return [record(row, at, cursor.dialect) for row, _ in zip(visible, range(limit), strict=False)]


def _redrive_some(
    cursor: Cursor, way: tuple[str, str | None], after: int, most: int, now: int | None
) -> tuple[int, int, int]:
    """Redrive the first so many behind a seq; how many that were, how many were looked at, and the last."""
    queue, to = way
    kept = queue_named(cursor, queue, now)
    target = queue_named(cursor, to, now) if to is not None else None
    said = {"queue": kept.id, "after": after, "limit": most}
    dead = [(row[0], None) for row in cursor.all("dead_of_queue", **said)]
    lettered = cursor.select("lettered_of_queue", NOT_LEASED, now=kept.now, **said)
    chosen = sorted([*dead, *lettered], key=lambda row: row[0])[:most]
    last = chosen[-1][0] if chosen else after
    return _redrive(cursor, chosen, kept, target), len(chosen), last


def _redrive(
    cursor: Cursor, chosen: Iterable[tuple[int, str | None]], kept: Kept, target: Kept | None
) -> int:
    """Revive dead messages (no source) and send dead-lettered ones back to where they came from."""
    by_target: dict[str, list[int]] = defaultdict(list)
    for seq, source in chosen:
        by_target[target.queue.name if target else source or kept.queue.name].append(seq)
    count = 0
    for name, seqs in by_target.items():
        rows = cursor.all("queues_by_name", names=[name], now=kept.now)
        if rows:
            count += _return(cursor, seqs, queue_named(cursor, name, kept.now))
    return count


def _return(cursor: Cursor, seqs: list[int], target: Kept) -> int:
    """Let dead and waiting messages start again in a queue; where they wait already they keep their place."""
    waiting = _unfinished(cursor, seqs)
    here = [row.seq for row in waiting if row.queue == target.id]
    if here:
        cursor.run("reset", seqs=here, now=target.now)
        cursor.run("unletter", seqs=here)
        cursor.pushed.add(target.id)
    cursor.run("revive", seqs=seqs, queue=target.id, now=target.now)
    cursor.run("unfinish", seqs=seqs)
    rows = [row for row in _unfinished(cursor, seqs) if row.seq not in here]
    if rows:
        move(cursor, rows, target, target.now)
    return len(rows) + len(here)


def _amendable(cursor: Cursor, rows: Iterable[Row]) -> list[int]:
    """The seqs of messages that are in a queue, not kept for a topic's first one."""
    by_queue: dict[int, list[int]] = defaultdict(list)
    for _, seq, queue, *_ in rows:
        by_queue[queue].append(seq)
    hidden = {kept.id for kept in queues_by_id(cursor, by_queue, 0).values() if kept.name.startswith(BACKLOG)}
    return sorted(seq for queue, seqs in by_queue.items() if queue not in hidden for seq in seqs)


def _unfinished(cursor: Cursor, seqs: list[int]) -> list[Owing]:
    return [Owing(*row) for row in cursor.all("hold", seqs=seqs)]


def _amend_retry(cursor: Cursor, seqs: list[int], _target: Kept | None, now: int) -> int:
    waiting = _unfinished(cursor, seqs)
    if waiting:
        cursor.run("reset", seqs=[row.seq for row in waiting], now=now)
        cursor.pushed.update(row.queue for row in waiting)
    dead: dict[int, list[int]] = defaultdict(list)
    for seq, queue in cursor.all("dead_among", seqs=seqs):
        dead[queue].append(seq)
    queues = queues_by_id(cursor, dead, now)
    return len(waiting) + sum(
        _return(cursor, chosen, queues[queue]) for queue, chosen in dead.items() if queue in queues
    )


def _amend_kill(cursor: Cursor, seqs: list[int], _target: Kept | None, now: int) -> int:
    rows = _unfinished(cursor, seqs)
    queues = queues_by_id(cursor, {row.queue for row in rows}, now)
    for kept in queues.values():
        bury(cursor, [(row, Reason.KILLED) for row in rows if row.queue == kept.id], kept, now)
    return len(rows)


def _amend_move(cursor: Cursor, seqs: list[int], target: Kept | None, now: int) -> int:
    assert target is not None  # noqa: S101 - amend has looked it up
    waiting = {row.seq for row in _unfinished(cursor, seqs)}
    dead = {row[0] for row in cursor.all("dead_among", seqs=seqs)}
    chosen = sorted(waiting | dead)
    return _return(cursor, chosen, target._replace(now=now)) if chosen else 0


def _amend_drop(cursor: Cursor, seqs: list[int], _target: Kept | None, now: int) -> int:
    rows = _unfinished(cursor, seqs)
    finished = [row[:2] for row in cursor.all("finished_of", seqs=seqs)]
    _erase_by_queue(cursor, [*((row.seq, row.queue) for row in rows), *finished], "amend", now)
    advance(cursor, groups_of(rows), now)
    return len(rows) + len(finished)


def _erase_by_queue(cursor: Cursor, rows: Iterable[Sequence[Any]], action: str, now: int) -> None:
    by_queue: dict[int, list[int]] = defaultdict(list)
    for seq, queue in rows:
        by_queue[queue].append(seq)
    for kept in queues_by_id(cursor, by_queue, now).values():
        erase(cursor, kept.queue.name, action, by_queue[kept.id], now)


_AMEND: dict[Amendment, Callable[[Cursor, list[int], Kept | None, int], int]] = {
    Amendment.RETRY: _amend_retry,
    Amendment.KILL: _amend_kill,
    Amendment.MOVE: _amend_move,
    Amendment.DROP: _amend_drop,
}
