"""Everything the store keeps, and the steps that every role is made of."""

import time
from bisect import insort
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Condition
from uuid import UUID

from rowmq.core.clock import micros, moment
from rowmq.core.delivery import Membership
from rowmq.core.errors import QueueNotFound, StoreUnavailable
from rowmq.core.history import FailedAttempt, LedgerEntry, Schedule
from rowmq.core.monitor import MOST_LOOKED, Sample
from rowmq.core.outcome import Reason, State, group_of
from rowmq.core.queue import Queue
from rowmq.core.rate import Bucket
from rowmq.core.sampling import Position
from rowmq.core.store import BACKLOG
from rowmq.stores.memory.row import (
    Failed,
    Finished,
    Group,
    Known,
    Lead,
    Member,
    NamedClaim,
    Pending,
    Stored,
    Topic,
)


def own_clock() -> datetime:
    """This process's clock."""
    return moment(time.time_ns() // 1000)


def _newest() -> deque[Failed]:
    return deque(maxlen=MOST_LOOKED)


@dataclass(slots=True)
class Tables:
    """The rows of one store, and the lock that whoever reads or changes them must hold.

    Every stored message is either pending, or finished, or kept for a topic's first queue.
    """

    tells_time: Callable[[], datetime] = own_clock
    lock: Condition = field(default_factory=Condition)
    closed: bool = False
    stirs: Counter[str] = field(default_factory=Counter)
    last_seq: int = 0
    queues: dict[str, Queue] = field(default_factory=dict)
    messages: dict[int, Stored] = field(default_factory=dict)
    seqs: dict[UUID, int] = field(default_factory=dict)
    pending: dict[int, Pending] = field(default_factory=dict)
    groups: dict[tuple[str, str], Group] = field(default_factory=dict)
    finished: dict[int, Finished] = field(default_factory=dict)
    failures: dict[int, list[FailedAttempt]] = field(default_factory=dict)
    dedup: dict[tuple[str, str], Known] = field(default_factory=dict)
    claims: dict[str, NamedClaim] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)
    consumers: dict[tuple[str, str], Member] = field(default_factory=dict)
    leads: dict[str, Lead] = field(default_factory=dict)
    buckets: dict[str, Bucket] = field(default_factory=dict)
    schedules: dict[str, Schedule] = field(default_factory=dict)
    ledger: list[LedgerEntry] = field(default_factory=list)
    failed: dict[str, deque[Failed]] = field(default_factory=lambda: defaultdict(_newest))
    last_failure: int = 0
    samples: list[Sample] = field(default_factory=list)
    sampled: Position | None = None

    def check_open(self) -> None:
        """Raise StoreUnavailable once the store has been closed."""
        if self.closed:
            raise StoreUnavailable("this memory store has been closed")

    def clock(self, now: datetime | None) -> int:
        """The moment that counts: the one given, or what the store's clock says."""
        return micros(self.tells_time() if now is None else now)

    def queue(self, name: str) -> Queue:
        """The queue of this name. Raises QueueNotFound."""
        try:
            return self.queues[name]
        except KeyError:
            raise QueueNotFound(name) from None

    def stir(self, queue: str) -> None:
        """Wake whoever waits for something to happen in the queue."""
        self.stirs[queue] += 1
        self.lock.notify_all()

    def membership(self, queue: str, consumer: str | None, now: int) -> Membership | None:
        """The consumer's place among those alive in the queue, or None if it is not one of them."""
        alive = [name for (of, name), one in self.consumers.items() if of == queue and one.alive_until > now]
        if consumer not in alive:
            return None
        return Membership(alive.index(consumer), len(alive), joined=False)

    def holding(self, seq: int, token: bytes, now: int) -> Pending | None:
        """The row if this token still holds it, which in a fifo queue ends with the lease."""
        row = self.pending.get(seq)
        if row is None or row.token is None or row.token != token:
            return None
        return None if self.queues[row.queue].fifo and row.time <= now else row

    def enter(self, row: Pending) -> None:
        """Let a row wait in its queue, parked if its group has a head there."""
        self.pending[row.seq] = row
        group = self.groups.get((row.queue, row.group)) if row.group is not None else None
        row.parked = group is not None
        if group is not None:
            insort(group.parked, row.seq)
        elif row.group is not None:
            self.groups[row.queue, row.group] = Group(row.seq)
        self.stir(row.queue)

    def leave(self, row: Pending, now: int) -> None:
        """Take a row out of its queue; if it was the head of its group, the next one is."""
        del self.pending[row.seq]
        if row.group is None:
            return
        if row.parked:
            self.groups[row.queue, row.group].parked.remove(row.seq)
        else:
            self._promote(row.queue, row.group, now)

    def _promote(self, queue: str, name: str, now: int) -> None:
        group = self.groups[queue, name]
        if not group.parked:
            del self.groups[queue, name]
            return
        group.head = group.parked.pop(0)
        head = self.pending[group.head]
        head.parked, head.time = False, max(head.time, now)
        self.stir(queue)

    def put_back(self, row: Pending, at: int) -> None:
        """Take a row from its holder and let it come back then, in its old place in its group."""
        row.let_go()
        row.time = at
        self.stir(row.queue)

    def fail(self, row: Pending, error: str, ended_at: int) -> None:
        """Keep a record of the row's failed attempt."""
        started_at = None if row.claimed_at is None else moment(row.claimed_at)
        attempt = FailedAttempt(row.attempts, row.queue, row.consumer, started_at, moment(ended_at), error)
        self.failures.setdefault(row.seq, []).append(attempt)
        self.last_failure += 1
        self.failed[row.queue].append(Failed(self.last_failure, row.seq, attempt))

    def finish(
        self, row: Pending, state: State, reason: Reason | None, now: int, *, result: bytes | None = None
    ) -> None:
        """Write down what became of a row that is owed no longer."""
        self.leave(row, now)
        self.finished[row.seq] = Finished(
            seq=row.seq,
            queue=row.queue,
            state=state,
            reason=reason,
            finished_at=now,
            token=row.token,
            attempts=row.attempts,
            receives=row.receives,
            consumer=row.consumer,
            started_at=row.claimed_at,
            source=row.source,
            result=result,
        )
        if state == State.DONE and self.queues[row.queue].retention == timedelta(0):
            self.messages[row.seq].drop_body()

    def bury(self, row: Pending, reason: Reason, now: int) -> None:
        """Let a row be dead, or go to the dead-letter queue if there is one."""
        dead_letter = self.queues[row.queue].dead_letter
        if dead_letter is None:
            self.finish(row, State.DEAD, reason, now)
        else:
            self.leave(row, now)
            self.start(row.seq, dead_letter, now, receives=row.receives, source=row.queue, reason=reason)

    def start(
        self,
        seq: int,
        queue: str,
        time: int,
        *,
        receives: int = 0,
        source: str | None = None,
        reason: Reason | None = None,
    ) -> None:
        """Let a stored message begin a life in a queue, due at a time, never attempted there."""
        stored = self.messages[seq]
        row = Pending(
            seq=seq,
            queue=queue,
            priority=stored.message.priority,
            group=group_of(stored.message.group, fifo=self.queues[queue].fifo),
            created_at=stored.created_at,
            deadline=stored.deadline,
            time=time,
            receives=receives,
            source=source,
            reason=reason,
        )
        self.enter(row)

    def restart(self, seq: int, queue: str, now: int) -> None:
        """Give a pending or finished message another life in a queue."""
        row = self.pending.get(seq)
        if row is None:
            self.start(seq, queue, now, receives=self.finished.pop(seq).receives)
        elif row.queue != queue:
            self.leave(row, now)
            self.start(seq, queue, now, receives=row.receives)
        else:  # where it is already, it keeps its place in its group
            row.attempts, row.source, row.reason = 0, None, None
            self.put_back(row, now)

    def erase(self, seqs: Iterable[int], action: str, now: int) -> int:
        """Delete messages for good, leave a ledger entry for each queue, and tell how many."""
        erased = defaultdict(list)
        for seq in seqs:
            erased[self._place(seq)].append(seq)
            self._erase(seq, now)
        for queue, gone in sorted(erased.items()):
            entry = LedgerEntry(moment(now), queue, action, len(gone), min(gone), max(gone))
            self.ledger.append(entry)
        return sum(map(len, erased.values()))

    def _place(self, seq: int) -> str:
        row = self.pending.get(seq) or self.finished.get(seq)
        return self.messages[seq].queue.removeprefix(BACKLOG) if row is None else row.queue

    def _erase(self, seq: int, now: int) -> None:
        if seq in self.pending:
            self.leave(self.pending[seq], now)
        self.finished.pop(seq, None)
        self.failures.pop(seq, None)
        del self.seqs[self.messages.pop(seq).message.id]
