"""Sweeping: what no caller has come to do, in small transactions."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import starmap

from rowmq.core.clock import span
from rowmq.core.history import Swept
from rowmq.core.outcome import overdue
from rowmq.core.queue import Archive, Guarantee, Queue
from rowmq.core.store import BACKLOG, BATCHES_KEPT, CLAIMS_KEPT, IDS_KEPT, STAGES_KEPT
from rowmq.stores.sql.cursor import Cursor, Row
from rowmq.stores.sql.database import Database
from rowmq.stores.sql.deleting import erase
from rowmq.stores.sql.ending import bury, note_vanished
from rowmq.stores.sql.lookup import clock
from rowmq.stores.sql.rows import Kept, Owing, kept_queue
from rowmq.stores.sql.topics import discard_old_backlogs

ENDLESS = 2**31 - 1
"""More attempts than any message can have."""
Step = Callable[..., int]
"""Something done to one queue, up to a number of rows; how many it was."""


class Sweep:
    """One sweep over all queues; each step is a transaction of its own."""

    def __init__(self, database: Database, limit: int, now: int | None) -> None:
        self._database = database
        self._limit = limit
        self._now = now

    def run(self) -> Swept:
        """Bury, prune and forget, each up to the limit."""
        now = self._database.read(lambda cursor: clock(cursor, self._now))
        rows = self._database.read(lambda cursor: cursor.all("queues_all", now=now))
        queues = _dead_letters_first(
            [kept for kept in map(kept_queue, rows) if not kept.name.startswith(BACKLOG)]
        )
        buried = self._per_queue(self._with_overdue(queues, now), self._bury)
        pruned = self._database.dialect.upkeep(self._database, now)
        if pruned is None:
            pruned = self._per_queue(queues, self._prune)
        pruned += self._database.run(lambda cursor: self._prune_orphans(cursor, now))
        forgotten = self._database.run(lambda cursor: self._forget(cursor, now))
        self._database.run(lambda cursor: discard_old_backlogs(cursor, now))
        self._database.run(self._drop_empty_groups)
        return Swept(buried, pruned, forgotten, more=max(buried, pruned, forgotten) >= self._limit)

    def _per_queue(self, queues: list[Kept], step: Step) -> int:
        """Run a step on each queue until the limit is reached."""
        count = 0
        for kept in queues:
            if count < self._limit:
                count += self._database.run(partial(step, kept=kept, room=self._limit - count))
        return count

    def _with_overdue(self, queues: list[Kept], now: int) -> list[Kept]:
        """Those in which something may be overdue, found for all at once and without a lock on anything."""
        rules = _strictest([kept.queue for kept in queues], now)
        rows = self._database.read(lambda cursor: cursor.all("sweep_queues", now=now, **rules))
        found = {row[0] for row in rows}
        return [kept for kept in queues if kept.id in found]

    def _bury(self, cursor: Cursor, kept: Kept, room: int) -> int:
        queue, now = kept.queue, kept.now
        owing = starmap(Owing, _overdue(cursor, kept, room))
        dead = [(row, reason) for row in owing if (reason := overdue(row.owed, queue, now)) is not None]
        note_vanished(cursor, [row for row, _ in dead], kept)
        bury(cursor, dead, kept, now)
        return len(dead)

    def _prune(self, cursor: Cursor, kept: Kept, room: int) -> int:
        before = _prune_before(kept.queue, kept.now)
        if before is None:
            return 0
        required = kept.queue.archive == Archive.REQUIRED
        seqs = [
            row[0]
            for row in cursor.all(
                "sweep_finished", queue=kept.id, before=before, archived=required, limit=room
            )
        ]
        erase(cursor, kept.queue.name, "retention", seqs, kept.now)
        return len(seqs)

    def _prune_orphans(self, cursor: Cursor, now: int) -> int:
        """Delete what was pushed to a queue in the very moment it was dropped."""
        count = 0
        for (queue,) in cursor.all("orphan_queues"):
            seqs = [row[0] for row in cursor.all("seqs_of_queue", queue=queue, limit=self._limit)]
            erase(cursor, f"#{queue}", "drop", seqs, now)
            count += len(seqs)
        return count

    def _forget(self, cursor: Cursor, now: int) -> int:
        dedup = cursor.run("sweep_dedup", now=now, limit=self._limit)
        claims = cursor.run("sweep_claims", before=now - span(CLAIMS_KEPT), limit=self._limit)
        stages = cursor.run("sweep_stages", before=now - span(STAGES_KEPT), limit=self._limit)
        batches = cursor.run("sweep_batches", before=now - span(BATCHES_KEPT), limit=self._limit)
        consumers, leads = cursor.run("sweep_consumers", now=now), cursor.run("sweep_leads", now=now)
        return dedup + claims + stages + batches + consumers + leads

    def _drop_empty_groups(self, cursor: Cursor) -> None:
        """Two steps, so that a group somebody is pushing to right now is seen with its message."""
        groups = [row[0] for row in cursor.all("sweep_groups", limit=self._limit)]
        if groups:
            cursor.run("sweep_groups_delete", groups=groups)


def _overdue(cursor: Cursor, kept: Kept, room: int) -> Sequence[Row]:
    """Rows of what is to be buried, locked where others may write too. It looks at all its queue owes."""
    rules = _strictest([kept.queue], kept.now)
    return cursor.all("sweep_overdue", queue=kept.id, now=kept.now, limit=room, **rules)


def _strictest(queues: Sequence[Queue], now: int) -> dict[str, int]:
    """After how many attempts, in which queue and since when a message is overdue in any of them."""
    return {
        "most": min((queue.max_attempts or ENDLESS for queue in queues), default=ENDLESS),
        "final": any(queue.delivery == Guarantee.AT_MOST_ONCE for queue in queues),
        "oldest": max((now - span(queue.max_age) for queue in queues if queue.max_age), default=-1),
    }


def _dead_letters_first(queues: Sequence[Kept]) -> list[Kept]:
    """Queues in an order in which no message is buried twice in one sweep."""
    by_id = {kept.id: kept for kept in queues}

    def depth(kept: Kept | None) -> int:
        return 0 if kept is None or kept.dead_letter is None else 1 + depth(by_id.get(kept.dead_letter))

    return sorted(queues, key=lambda kept: (depth(kept), kept.name))


def _prune_before(queue: Queue, now: int) -> int | None:
    if queue.retention is None:
        return None
    return now - (span(queue.retention) or span(IDS_KEPT))
