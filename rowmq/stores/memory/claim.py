"""Claiming: serving one want after another."""

from heapq import nsmallest
from secrets import token_bytes

from rowmq.core.clock import micros, moment, span
from rowmq.core.delivery import Delivery, Want, own_first
from rowmq.core.outcome import VANISHED, lease_end, overdue
from rowmq.core.queue import Queue
from rowmq.core.rate import drained, refilled
from rowmq.core.where import holds
from rowmq.stores.memory.row import NamedClaim, Pending
from rowmq.stores.memory.tables import Tables

TOKEN_BYTES = 16


def serve(tables: Tables, queue: Queue, want: Want, now: int) -> list[Delivery]:
    """What one want gets: new messages, or what is left of the claim that has its name."""
    known = tables.claims.get(want.name) if want.name is not None else None
    if known is not None:
        return [delivery(tables, row) for row in left_of(tables, known)]
    search = Search(tables, queue, want, now)
    rows = search.run()
    _spend(tables, queue, len(rows), now)
    if want.name is not None and (rows or not want.again):
        tables.claims[want.name] = NamedClaim(queue.name, search.token, now, tuple(row.seq for row in rows))
    return [delivery(tables, row) for row in rows]


def left_of(tables: Tables, claim: NamedClaim) -> list[Pending]:
    """The rows that a named claim still holds, in the order in which they were claimed."""
    rows = (tables.pending.get(seq) for seq in claim.seqs)
    return [row for row in rows if row is not None and row.token == claim.token]


def _room(tables: Tables, queue: Queue, wanted: int, now: int) -> int:
    """How many messages may go: all that are wanted, if the queue has no rate."""
    if queue.rate is None:
        return wanted
    return refilled(tables.buckets.get(queue.name), queue.rate, now).messages


def _spend(tables: Tables, queue: Queue, count: int, now: int) -> None:
    if queue.rate is not None and count:
        bucket = refilled(tables.buckets.get(queue.name), queue.rate, now)
        tables.buckets[queue.name] = drained(bucket, count)


class Search:
    """The search for one want's messages, all leased under one fresh token."""

    def __init__(self, tables: Tables, queue: Queue, want: Want, now: int) -> None:
        self.token = token_bytes(TOKEN_BYTES)
        self._tables, self._queue, self._want, self._now = tables, queue, want, now
        self._membership = tables.membership(queue.name, want.sharer, now)
        self._need = min(want.limit, _room(tables, queue, want.limit, now))
        self._buried = 0
        self._left: set[int] = set()
        self._runs: list[tuple[tuple[int, int, int], list[Pending]]] = []

    def run(self) -> list[Pending]:
        """Lease what is wanted, and return it in the order of the queue, a group's run behind its head."""
        while self._need and self._round():
            pass
        self._runs.sort(key=lambda run: run[0])
        return [row for _, rows in self._runs for row in rows]

    def _round(self) -> bool:
        """Take or bury the next candidates, and tell whether another round is worth it."""
        need, passed = self._need, self._buried + len(self._left)
        chosen = own_first(self._candidates(need), self._membership, need)
        for seq in chosen:
            if self._need:
                self._visit(self._tables.pending[seq])
        return self._buried + len(self._left) > passed

    def _candidates(self, need: int) -> list[int]:
        count = 1 if self._membership is None else self._membership.count
        rows = (row for row in self._tables.pending.values() if row.queue == self._queue.name)
        due = (row for row in rows if row.due(self._now) and row.seq not in self._left and self._matches(row))
        return [row.seq for row in nsmallest(need * count, due, key=lambda row: row.order)]

    def _matches(self, row: Pending) -> bool:
        want = self._want
        if want.upto is not None and row.seq > want.upto:
            return False
        if want.max_age is not None and row.created_at + span(want.max_age) <= self._now:
            return False
        if want.since is not None and row.created_at < micros(want.since):
            return False
        if want.until is not None and row.created_at >= micros(want.until):
            return False
        return holds(want.where, self._tables.messages[row.seq].message.metadata)

    def _visit(self, head: Pending) -> None:
        order = head.order
        if self._held_behind(head) and overdue(head.owed, self._queue, self._now) is None:
            self._left.add(head.seq)
        elif self._take(head):
            self._runs.append((order, [head, *self._followers(head)]))

    def _followers(self, head: Pending) -> list[Pending]:
        """Take those parked behind a head that may come with it, up to the first that may not."""
        taken: list[Pending] = []
        for row in self._parked_behind(head):
            enough = not self._need or len(taken) + 1 >= self._want.per_group
            if enough or row.time > self._now or not self._matches(row):
                break
            if self._take(row):
                taken.append(row)
        return taken

    def _held_behind(self, head: Pending) -> bool:
        """Whether somebody still holds a message that came with this head, where that locks the group."""
        near = self._parked_behind(head)[: self._want.behind] if self._queue.fifo else []
        return any(row.token is not None and row.time > self._now for row in near)

    def _parked_behind(self, head: Pending) -> list[Pending]:
        if head.group is None or self._want.per_group == 1:
            return []
        group = self._tables.groups[head.queue, head.group]
        return [self._tables.pending[seq] for seq in group.parked]

    def _take(self, row: Pending) -> bool:
        """Lease a row whose time has come, or bury it if it is overdue; whether it was leased."""
        if row.token is not None:
            self._tables.fail(row, VANISHED, row.time)
        reason = overdue(row.owed, self._queue, self._now)
        if reason is None:
            self._lease(row)
        else:
            self._tables.bury(row, reason, self._now)
            self._buried += 1
        return reason is None

    def _lease(self, row: Pending) -> None:
        lease = self._queue.lease if self._want.lease is None else self._want.lease
        row.attempts += 1
        row.receives += 1
        row.token, row.consumer, row.claimed_at = self.token, self._want.consumer, self._now
        row.time = lease_end(self._now, span(lease), row.deadline)
        self._need -= 1


def delivery(tables: Tables, row: Pending) -> Delivery:
    """A leased row as its holder sees it."""
    stored = tables.messages[row.seq]
    return Delivery(
        seq=row.seq,
        token=row.token or b"",
        queue=row.queue,
        uid=stored.message.id.bytes,
        body=stored.message.body,
        binary=stored.message.binary,
        metadata=dict(stored.message.metadata),
        attempt=row.attempts,
        max_attempts=tables.queues[row.queue].max_attempts,
        receives=row.receives,
        priority=row.priority,
        group=stored.message.group,
        created_at=moment(row.created_at),
        deadline=stored.message.deadline,
        lease_until=moment(row.time),
        source=row.source,
    )
