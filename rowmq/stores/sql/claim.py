"""Claiming: lock what is due, bury what is overdue, lease the rest."""

import secrets
import time
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from rowmq.core.clock import span
from rowmq.core.delivery import Delivery, Want
from rowmq.core.outcome import Reason, lease_end, overdue
from rowmq.core.queue import Guarantee
from rowmq.stores.sql.choosing import Chooser
from rowmq.stores.sql.cursor import Cursor, Row
from rowmq.stores.sql.ending import bury, note_vanished
from rowmq.stores.sql.floors import BEGINNING, Floor, Floors
from rowmq.stores.sql.room import Room
from rowmq.stores.sql.rows import (
    ATTEMPTS,
    PRIORITY,
    SEQ,
    VISIBLE_AT,
    Kept,
    Owing,
    columns_of,
    deliveries,
    in_order,
    order,
)

ROUNDS = 1000
"""How often one claim looks again after burying; what is left is buried by the next one."""
LARGEST_LOOK = 5_000


class Claiming:
    """The claims of one call on one queue, in one transaction."""

    def __init__(self, cursor: Cursor, kept: Kept, room: Room, floors: Floors, chooser: Chooser) -> None:
        self._cursor = cursor
        self._kept = kept
        self._room = room
        self._floors = floors
        self._chooser = chooser
        queue = kept.queue
        self._may_expire = queue.max_age is not None or queue.delivery == Guarantee.AT_MOST_ONCE

    def plain(self, wants: Sequence[Want]) -> list[list[Delivery]]:
        """Serve wants that take whatever is first, all from one look."""
        if not wants:
            return []
        room = self._room.allow(sum(want.limit for want in wants))
        due = self._deliverable(room) if room else []
        results, start = [], 0
        for want in wants:
            results.append(self.take(due[start : start + want.limit], want, secrets.token_bytes(16)))
            start += want.limit
        return results

    def choosy(self, want: Want, token: bytes) -> list[Delivery]:
        """Serve a want with conditions, a share or runs of groups."""
        runs: list[tuple[tuple[int, int, int], list[Delivery]]] = []
        skipped: set[int] = set()
        need = self._room.allow(want.limit)
        for _ in range(ROUNDS):
            chosen = self._chooser.choose(self._cursor, self._kept, want, need, skipped)
            locked = self._chooser.lock(self._cursor, self._kept, chosen)
            skipped |= set(chosen) - {row.seq for row in locked}
            good, buried = self._sorted_out(locked, need)
            taken, left = self._with_runs(good, want, need)
            skipped |= left
            leased = {
                one.receipt.seq: one for one in self.take([row for run in taken for row in run], want, token)
            }
            runs += [(order(run[0]), [leased[row.seq] for row in run]) for run in taken]
            need -= len(leased)
            if not need or not (buried or left or len(locked) < len(chosen)):
                break
        return [delivery for _, run in sorted(runs) for delivery in run]

    def _with_runs(self, heads: Sequence[Owing], want: Want, need: int) -> tuple[list[list[Owing]], set[int]]:
        """Each head with what comes along behind it, as many as are needed, and the heads to be left."""
        runs: list[list[Owing]] = []
        left: set[int] = set()
        for head in heads:
            if need <= 0:
                break
            run = self._run_behind(head, want, min(want.per_group, need) - 1)
            if run is None:
                left.add(head.seq)
            else:
                runs.append([head, *run])
                need -= len(runs[-1])
        return runs, left

    def take(self, due: Sequence[Row], want: Want, token: bytes) -> list[Delivery]:
        """Lease rows to a want under its token."""
        if not due:
            return []
        said = columns_of(due)
        now, lease = self._kept.now, span(want.lease or self._kept.queue.lease)
        if any(said.attempts):
            note_vanished(self._cursor, map(Owing._make, due), self._kept)
        seqs, until = list(said.seq), now + lease
        self._room.spend(len(seqs))
        self._cursor.run("take", seqs=seqs, token=token, consumer=want.consumer, now=now, until=until)
        ends = [until if deadline is None else lease_end(now, lease, deadline) for deadline in said.deadline]
        return deliveries(said, ends, self._kept.queue, token, attempts=1)

    def _deliverable(self, limit: int) -> Sequence[Row]:
        """The first rows to deliver. Each look that had to bury is followed by a wider one."""
        good: Sequence[Row] = []
        look = limit
        for _ in range(ROUNDS):
            rows = self._picked(look)
            if not self._may_expire and not any(map(ATTEMPTS, rows)):  # nearly every claim
                return rows[:limit]
            good, buried = self._sorted_out(list(map(Owing._make, rows)), limit)
            if not buried:
                break
            look = max(limit, min(4 * look, LARGEST_LOOK))
        return good

    def _picked(self, limit: int) -> list[Row]:
        """Lock due rows, from the floors first and from the beginning when that is allowed."""
        kept, dialect = self._kept, self._cursor.dialect
        floors = self._floors.of(kept.id, kept.now) if dialect.floors else BEGINNING
        rows = self._looked(floors, limit)
        if floors != BEGINNING and self._floors.may_look_below(kept.id, found=len(rows), limit=limit):
            rows = self._looked(BEGINNING, limit)
        due = in_order(rows)[:limit]
        if dialect.floors:
            taken = list(zip(map(PRIORITY, due), map(VISIBLE_AT, due), map(SEQ, due), strict=True))
            self._floors.raise_to(kept.id, taken, limit=limit)
        return due

    def _looked(self, floors: tuple[Floor, ...], limit: int) -> list[Row]:
        started = time.monotonic()
        rows = self._cursor.dialect.pick(self._cursor, self._kept.id, floors, self._kept.now, limit)
        if floors == BEGINNING:
            self._floors.looked_below(self._kept.id, started)
        return rows

    def _sorted_out(self, rows: Sequence[Owing], need: int) -> tuple[list[Owing], bool]:
        """The rows to deliver, up to ``need``; overdue ones before the last of them are buried."""
        good: list[Owing] = []
        dead: list[tuple[Owing, Reason]] = []
        for row in rows:
            if len(good) >= need:
                break
            reason = overdue(row.owed, self._kept.queue, self._kept.now)
            if reason is None:
                good.append(row)
            else:
                dead.append((row, reason))
        if dead:
            note_vanished(self._cursor, [row for row, _ in dead], self._kept)
            bury(self._cursor, dead, self._kept, self._kept.now)
        return good, bool(dead)

    def _run_behind(self, head: Owing, want: Want, room: int) -> list[Owing] | None:
        """The messages parked behind a head that may come along, in order; None if its group is locked."""
        if head.group_id is None or want.per_group == 1:
            return []
        now, parked = self._kept.now, self._chooser.parked(self._cursor, head.group_id)
        if self._kept.queue.fifo:
            near = list(islice(parked, want.behind))
            if any(row.token is not None and row.time > now for row in near):
                return None
            parked = chain(near, parked)
        return self._run_of(parked, want, room)

    def _run_of(self, parked: Iterator[Owing], want: Want, room: int) -> list[Owing]:
        run: list[Owing] = []
        while len(run) < room:
            row = next(parked, None)
            if row is None or not self._chooser.follows(row, want, self._kept.now):
                break
            good, _ = self._sorted_out([row], 1)
            run.extend(good)
        return run
