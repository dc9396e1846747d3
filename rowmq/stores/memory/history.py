"""Looking things up, and putting things right."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from uuid import UUID

from rowmq.core.clock import micros
from rowmq.core.delivery import Receipt
from rowmq.core.errors import InvalidSetting
from rowmq.core.history import Amendment, FailedAttempt, LedgerEntry, Page, Record, Swept
from rowmq.core.outcome import State
from rowmq.core.where import Where, holds
from rowmq.stores.memory.amend import amend, lives
from rowmq.stores.memory.record import record
from rowmq.stores.memory.role import Role, atomic
from rowmq.stores.memory.sweep import sweep


class MemoryHistory(Role):
    """The history of a memory store."""

    @atomic
    def get(self, id: UUID, *, now: datetime | None = None) -> Record | None:
        """The message with this id, or None."""
        seq = self.tables.seqs.get(id)
        return None if seq is None else record(self.tables, seq, self.tables.clock(now))

    @atomic
    def receipt(self, id: UUID, *, now: datetime | None = None) -> Receipt | None:
        """The receipt of whoever holds the message now, or None."""
        row = self.tables.pending.get(self.tables.seqs.get(id, 0))
        if row is None or row.token is None or row.time <= self.tables.clock(now):
            return None
        return Receipt(row.seq, row.token)

    @atomic
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
        """A page of messages by seq: those now in the queue, in the state, created in [since, until)."""
        seqs = sorted(seq for seq in self.tables.messages if seq > after)
        found = [
            one
            for one in self._records(seqs, queue, state, now)
            if holds(where, one.metadata)
            and (since is None or one.created_at >= since)
            and (until is None or one.created_at < until)
        ][:limit]
        return Page(found, found[-1].seq if found and len(found) == limit else None)

    @atomic
    def failures(self, id: UUID) -> list[FailedAttempt]:
        """The message's failed attempts, oldest first."""
        return list(self.tables.failures.get(self.tables.seqs.get(id, 0), ()))

    @atomic
    def redrive(
        self, queue: str, *, to: str | None = None, limit: int | None = None, now: datetime | None = None
    ) -> int:
        """Give the queue's dead and dead-lettered messages another life, oldest first; how many."""
        for name in (queue, to):
            if name is not None:
                self.tables.queue(name)
        at = self.tables.clock(now)
        chosen = sorted(lives(self.tables, queue, to, at))[:limit]
        for seq, target in chosen:
            self.tables.restart(seq, target, at)
        return len(chosen)

    @atomic
    def amend(
        self, ids: Sequence[UUID], amendment: Amendment, *, to: str | None = None, now: datetime | None = None
    ) -> int:
        """Retry, kill, move or drop messages without holding them, oldest first; how many changed."""
        if amendment == Amendment.MOVE:
            if to is None:
                raise InvalidSetting("say which queue to move the messages to")
            self.tables.queue(to)
        seqs = sorted({self.tables.seqs[one] for one in ids if one in self.tables.seqs})
        return amend(self.tables, seqs, amendment, to, self.tables.clock(now))

    @atomic
    def scan(
        self,
        first: int,
        last: int,
        *,
        queue: str | None = None,
        state: State | None = None,
        now: datetime | None = None,
    ) -> list[Record]:
        """Every message with a seq in [first, last], by seq."""
        seqs = sorted(seq for seq in self.tables.messages if first <= seq <= last)
        return list(self._records(seqs, queue, state, now))

    @atomic
    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest seq stored; (0, 0) if there is none."""
        return min(self.tables.messages, default=0), max(self.tables.messages, default=0)

    @atomic
    def archive(
        self,
        seqs: Sequence[int],
        *,
        prune: bool = False,
        before: datetime | None = None,
        now: datetime | None = None,
    ) -> int:
        """Mark finished messages as archived, and with ``prune`` delete them; how many."""
        ended = self.tables.finished
        finished = sorted(
            seq
            for seq in set(seqs) & ended.keys()
            if before is None or ended[seq].finished_at < micros(before)
        )
        for seq in finished:
            self.tables.finished[seq].archived = True
        if prune:
            self.tables.erase(finished, "archive", self.tables.clock(now))
        return len(finished)

    @atomic
    def ledger(self, queue: str | None = None) -> list[LedgerEntry]:
        """What was deleted, oldest first."""
        return [entry for entry in self.tables.ledger if queue in (None, entry.queue)]

    @atomic
    def sweep(self, *, limit: int = 1000, now: datetime | None = None) -> Swept:
        """Do what no caller has come to do; each kind stops at ``limit`` rows."""
        return sweep(self.tables, limit, self.tables.clock(now))

    def _records(
        self, seqs: Iterable[int], queue: str | None, state: State | None, now: datetime | None
    ) -> Iterator[Record]:
        at = self.tables.clock(now)
        for seq in seqs:
            one = record(self.tables, seq, at)
            if one is not None and queue in (None, one.queue) and state in (None, one.state):
                yield one
