"""The history role."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from uuid import UUID

from rowmq.core.delivery import Receipt
from rowmq.core.errors import InvalidSetting, QueueNotFound
from rowmq.core.history import Amendment, FailedAttempt, LedgerEntry, Page, Record, Swept
from rowmq.core.outcome import State
from rowmq.core.where import Where, holds
from rowmq.stores.redis.server import Server
from rowmq.stores.redis.sweep import sweep
from rowmq.stores.redis.values import entry, failure, records, row, seq_text, stamp

LARGEST_LOOK = 1000
"""How many messages one script reads."""
CHUNK = 1000
"""How many messages one script changes."""
LAST = 2**53
_PARTS = {State.DONE: ("done",), State.DEAD: ("dead",), None: ("open", "done", "dead")}


class RedisHistory:
    """The history of a Redis store."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def get(self, id: UUID, *, now: datetime | None = None) -> Record | None:
        """The message with this id, or None."""
        answer = self._server.call("get", id.bytes, stamp(now))
        return None if answer is None else records(answer[1], [answer[2]], int(answer[0]))[0]

    def receipt(self, id: UUID, *, now: datetime | None = None) -> Receipt | None:
        """The receipt of whoever holds the message now, or None."""
        answer = self._server.call("get", id.bytes, stamp(now))
        if answer is None:
            return None
        at, (seq, (message,), _), _ = answer
        held = row(message)
        return Receipt(int(seq), held.token) if held.token and (held.at or 0) > int(at) else None

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
        found: list[Record] = []
        for one in self._records(queue, state, after, LAST, limit, now):
            young = since is None or one.created_at >= since
            if young and (until is None or one.created_at < until) and holds(where, one.metadata):
                found.append(one)
            if len(found) == limit:
                return Page(found, found[-1].seq if found else None)
        return Page(found, None)

    def failures(self, id: UUID) -> list[FailedAttempt]:
        """The message's failed attempts, oldest first."""
        return list(map(failure, self._server.call("failures", id.bytes)))

    def redrive(
        self, queue: str, *, to: str | None = None, limit: int | None = None, now: datetime | None = None
    ) -> int:
        """Give the queue's dead and dead-lettered messages another life, oldest first; how many."""
        count, after = 0, b"0"
        while after and (limit is None or count < limit):
            most = CHUNK if limit is None else min(CHUNK, limit - count)
            done, after = self._server.call("redrive", queue, to or "", stamp(now), after, most)
            if done == b"missing":
                raise QueueNotFound(after.decode())
            count += done
        return count

    def amend(
        self, ids: Sequence[UUID], amendment: Amendment, *, to: str | None = None, now: datetime | None = None
    ) -> int:
        """Retry, kill, move or drop messages without holding them, oldest first; how many changed."""
        if amendment == Amendment.MOVE and to is None:
            raise InvalidSetting("say which queue to move the messages to")
        target = to if amendment == Amendment.MOVE and to else ""
        count, chosen = 0, list(dict.fromkeys(each.bytes for each in ids))
        for start in range(0, max(1, len(chosen)), CHUNK):
            some = chosen[start : start + CHUNK]
            answer = self._server.call("amend", str(amendment), target, stamp(now), *some)
            if answer is None:
                raise QueueNotFound(target)
            count += answer
        return count

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
        return list(self._records(queue, state, first - 1, last, LARGEST_LOOK, now))

    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest seq stored; (0, 0) if there is none."""
        lowest, highest = self._server.call("bounds")
        return int(lowest), int(highest)

    def archive(
        self,
        seqs: Sequence[int],
        *,
        prune: bool = False,
        before: datetime | None = None,
        now: datetime | None = None,
    ) -> int:
        """Mark finished messages as archived, and with ``prune`` delete them; how many."""
        count, chosen = 0, sorted(set(seqs))
        for start in range(0, len(chosen), CHUNK):
            some = map(seq_text, chosen[start : start + CHUNK])
            count += self._server.call("archive", int(prune), stamp(now), stamp(before), *some)
        return count

    def ledger(self, queue: str | None = None) -> list[LedgerEntry]:
        """What was deleted, oldest first."""
        entries: list[LedgerEntry] = []
        while len(entries) % LARGEST_LOOK == 0:
            more = self._server.call("ledger", len(entries), len(entries) + LARGEST_LOOK - 1)
            if not more:
                break
            entries += map(entry, more)
        return [each for each in entries if queue in (None, each.queue)]

    def sweep(self, *, limit: int = 1000, now: datetime | None = None) -> Swept:
        """Do what no caller has come to do; each kind stops at ``limit`` rows."""
        return sweep(self._server, limit, now)

    def _records(
        self, queue: str | None, state: State | None, after: int, last: int, some: int, now: datetime | None
    ) -> Iterator[Record]:
        """Records by seq, a bounded number of them read at a time."""
        if queue == "" or not after < last:
            return
        parts = _PARTS.get(state, ("open",))
        look, place = max(1, min(some, LARGEST_LOOK)), str(max(after, 0)).encode()
        while place:
            given = (queue or "", stamp(now), place, last, look, state or "", *parts)
            place, at, found, results = self._server.call("find", *given)
            yield from records(found, results, int(at))
