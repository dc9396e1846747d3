"""History behind a server: looking things up, putting things right, and clearing up."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rowmq.core.delivery import Receipt
from rowmq.core.errors import StoreUnavailable
from rowmq.core.history import Amendment, FailedAttempt, LedgerEntry, Page, Record, Swept
from rowmq.core.outcome import State
from rowmq.core.where import Where
from rowmq.stores.remote import receiving, writing
from rowmq.stores.remote.history_shapes import (
    Amending,
    Archiving,
    Bounds,
    FailureList,
    Finding,
    HolderReceipt,
    LedgerList,
    PageShape,
    RecordShape,
    Sweeping,
    SweptShape,
)
from rowmq.stores.remote.queue_shapes import Redriving
from rowmq.stores.remote.role import Role
from rowmq.stores.remote.shapes import LARGEST_BATCH, LARGEST_SEQ, Counted, Problem
from rowmq.stores.remote.transport import error_of, segment

_LINES = msgspec.json.Decoder(RecordShape)


class _Trouble(msgspec.Struct):
    problem: Problem


_TROUBLE = msgspec.json.Decoder(_Trouble)


class RemoteHistory(Role):
    """Looking things up, putting things right, and clearing up."""

    def get(self, id: UUID, *, now: datetime | None = None) -> Record | None:
        """The message with this id, or None."""
        found = self.maybe("GET", f"/v1/messages/{id}", RecordShape, now=now)
        return None if found is None else receiving.record(found)

    def receipt(self, id: UUID, *, now: datetime | None = None) -> Receipt | None:
        """The receipt of whoever holds the message now; None if nobody does, or the lease has ended."""
        found = self.maybe("GET", f"/v1/messages/{id}/receipt", HolderReceipt, now=now)
        return None if found is None or found.receipt is None else receiving.receipt(found.receipt)

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
        shape = Finding(
            queue=queue,
            state=state,
            where=writing.conditions(where),
            since=since,
            until=until,
            after=max(after, 0),
            limit=limit,
        )
        page = self.send("POST", "/v1/find", shape, PageShape, now=now, reads=True)
        return Page([receiving.record(each) for each in page.messages], page.after)

    def failures(self, id: UUID) -> list[FailedAttempt]:
        """The message's failed attempts, oldest first."""
        found = self.maybe("GET", f"/v1/messages/{id}/failures", FailureList)
        return (
            []
            if found is None
            else [
                FailedAttempt(*(getattr(each, name) for name in FailedAttempt._fields))
                for each in found.failures
            ]
        )

    def redrive(
        self, queue: str, *, to: str | None = None, limit: int | None = None, now: datetime | None = None
    ) -> int:
        """Give the queue's dead messages, and those waiting in it that were dead-lettered, another life."""
        shape = Redriving(to=to, limit=limit)
        return self.send("POST", f"/v1/queues/{segment(queue)}/redrive", shape, Counted, now=now).count

    def amend(
        self, ids: Sequence[UUID], amendment: Amendment, *, to: str | None = None, now: datetime | None = None
    ) -> int:
        """Retry, kill, move (``to`` a queue) or drop messages without holding them; how many changed."""
        count = 0
        for start in range(0, max(len(ids), 1), LARGEST_BATCH):
            shape = Amending(ids=list(ids[start : start + LARGEST_BATCH]), amendment=amendment, to=to)
            count += self.send("POST", "/v1/amend", shape, Counted, now=now).count
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
        """Every message with a seq in [first, last]."""
        query = [("first", str(max(first, 0))), ("last", str(min(max(last, 0), LARGEST_SEQ)))]
        query += [(name, value) for name, value in (("queue", queue), ("state", state)) if value is not None]
        return _records(self.transport.ask("GET", "/v1/scan", query=query, now=now) or b"")

    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest seq stored; (0, 0) if there is none."""
        found = self.look("/v1/bounds", Bounds)
        return found.first, found.last

    def archive(
        self,
        seqs: Sequence[int],
        *,
        prune: bool = False,
        before: datetime | None = None,
        now: datetime | None = None,
    ) -> int:
        """Mark finished messages as archived; with ``prune`` delete them. How many."""
        count = 0
        for start in range(0, len(seqs), LARGEST_BATCH):
            shape = Archiving(seqs=list(seqs[start : start + LARGEST_BATCH]), prune=prune, before=before)
            count += self.send("POST", "/v1/archive", shape, Counted, now=now).count
        return count

    def ledger(self, queue: str | None = None) -> list[LedgerEntry]:
        """What was deleted, oldest first."""
        found = self.look("/v1/ledger", LedgerList, query=[] if queue is None else [("queue", queue)])
        return [
            LedgerEntry(each.at, each.queue, each.action, each.count, each.first_seq, each.last_seq)
            for each in found.entries
        ]

    def sweep(self, *, limit: int = 1000, now: datetime | None = None) -> Swept:
        """Do what no caller has come to do."""
        found = self.send("POST", "/v1/sweep", Sweeping(limit=limit), SweptShape, now=now)
        return Swept(found.buried, found.pruned, found.forgotten, found.more)


def _records(lines: bytes) -> list[Record]:
    """Messages, one a line; if the last line tells of a problem, that is the answer."""
    last = lines.rstrip(b"\n").rpartition(b"\n")[2]
    if last.startswith(b'{"problem":'):
        raise error_of(_TROUBLE.decode(last).problem)
    try:
        return [receiving.record(each) for each in _LINES.decode_lines(lines)]
    except msgspec.DecodeError as error:
        raise StoreUnavailable(f"the server's answer cannot be read: {error}") from None
