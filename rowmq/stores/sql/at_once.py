"""Pushes and claims that need no rule looked at: one statement, where the database has one for it."""

import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rowmq.core.clock import micros
from rowmq.core.delivery import Delivery, Want
from rowmq.core.message import Batch, Message, Pushed
from rowmq.core.queue import Guarantee, Queue
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.dialect import Due, Plain, Taken
from rowmq.stores.sql.floors import BEGINNING, Floors
from rowmq.stores.sql.rows import deliveries, metadata_text

Claimed = Callable[[], list[list[Delivery]]]
"""What was claimed for each want, to be read once the transaction is over."""
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
) -> Claimed | None:
    """Serve one plain want on a queue that had no rules when it was last looked up.

    None, and nothing taken, if it has now, or if something due needs a look: it may have been tried often
    enough, or its last holder vanished.
    """
    queue = floors.named(name)
    if queue is None or cursor.attempt or len(wants) != 1 or wants[0].choosy:
        return None
    (want,), token = wants, secrets.token_bytes(16)
    start = floors.of(queue, now) if cursor.dialect.floors else BEGINNING
    taken = _taken(cursor, Plain(name, queue, want, token, start, floors.is_busy(queue)), floors, now)
    if start != BEGINNING and taken is not None and taken.said is None:
        taken = _taken(cursor, Plain(name, queue, want, token, BEGINNING), floors, now)
    if taken is None:
        floors.forget(name)
        return None
    return partial(_delivered, taken, name, token)


def _taken(cursor: Cursor, asked: Plain, floors: Floors, now: int | None) -> Taken | None:
    """Take what is there, and note where that was."""
    started = time.monotonic()
    taken = cursor.dialect.claim_at_once(cursor, asked, now)
    if taken is None or not cursor.dialect.floors:
        return taken
    floors.name(asked.queue, taken.queue)  # it may have been made anew
    if asked.floors == BEGINNING:
        floors.looked_below(taken.queue, started)
    said: Any = taken.said() if taken.said else None
    places = list(zip(said.priority, said.visible_at, said.seq, strict=True)) if said else []
    floors.raise_to(taken.queue, places, limit=asked.want.limit)
    return taken._replace(said=lambda: said) if said else taken


def _delivered(taken: Taken, name: str, token: bytes) -> list[list[Delivery]]:
    if taken.said is None:
        return [[]]
    said: Any = taken.said()
    queue = Queue(name=name, max_attempts=taken.max_attempts)
    return [deliveries(said, said.until, queue, token, attempts=1)]


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
