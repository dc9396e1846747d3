"""Pushes and claims that need no rule looked at: one statement, where the database has one for it."""

import secrets
import time
from collections.abc import Sequence

from rowmq.core.clock import micros, span
from rowmq.core.delivery import Delivery, Want
from rowmq.core.message import Batch, Message, Pushed
from rowmq.core.queue import Guarantee, Queue
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.dialect import Due
from rowmq.stores.sql.floors import Floors
from rowmq.stores.sql.rows import PRIORITY, VISIBLE_AT, Owing, deliveries, in_order, metadata_text

LARGEST = 100
"""The longest batch pushed this way: in longer ones the round trips saved no longer show."""


def push_at_once(cursor: Cursor, batches: Sequence[Batch], now: int | None) -> Pushed | None:
    """Push one small plain batch, as the first and only thing of its transaction.

    None, and nothing done, if it takes more than one statement. A collision of ids is run again the long
    way, which looks at what is stored.
    """
    if cursor.attempt or cursor.joined or len(batches) != 1 or not _is_plain(batches[0]):
        return None
    (batch,) = batches
    rows = [_due(cursor, message) for message in batch.messages]
    stored = cursor.dialect.insert_at_once(cursor, batch.queue, rows, now)
    if stored is None:
        return None
    cursor.pushed.add(stored.queue)
    return Pushed([message.id for message in batch.messages], stored.seqs)


def claim_at_once(
    cursor: Cursor, name: str, wants: Sequence[Want], floors: Floors, now: int | None
) -> list[Delivery] | None:
    """Serve one plain want on an idle queue that had no rules when it was last looked up.

    None, and nothing taken, if it has now, or if something due has been delivered before: that may be the
    last time, or somebody's who vanished.
    """
    if len(wants) != 1 or wants[0].choosy or not floors.are_low(name):
        return None
    (want,), started, token = wants, time.monotonic(), secrets.token_bytes(16)
    lease = None if want.lease is None else span(want.lease)
    taken = cursor.dialect.claim_at_once(cursor, name, want, lease, token, now)
    if taken is None:
        floors.forget(name)
        return None
    floors.looked_below(taken.queue, started)
    rows = in_order(taken.rows)
    times = list(zip(map(PRIORITY, rows), map(VISIBLE_AT, rows), strict=True))
    floors.raise_to(taken.queue, times, limit=want.limit)
    if not rows:
        return []
    *said, ends = zip(*rows, strict=True)
    queue = Queue(name=name, max_attempts=taken.max_attempts)
    return deliveries(Owing._make(said), ends, queue, token, attempts=1)


def has_no_rules(queue: Queue) -> bool:
    """Whether whatever is due may be delivered, the first time at least."""
    return (
        not queue.paused
        and queue.rate is None
        and queue.max_age is None
        and queue.delivery == Guarantee.AT_LEAST_ONCE
    )


def _is_plain(batch: Batch) -> bool:
    possible = 0 < len(batch.messages) <= LARGEST and "\0" not in batch.queue
    return possible and all(map(_is_due, batch.messages))


def _is_due(message: Message) -> bool:
    return message.key is None and message.group is None and message.at is None and message.delay is None


def _due(cursor: Cursor, message: Message) -> Due:
    deadline = None if message.deadline is None else micros(message.deadline)
    return Due(
        cursor.dialect.id_in(message.id),
        message.body,
        message.binary,
        metadata_text(message),
        message.priority,
        deadline,
    )
