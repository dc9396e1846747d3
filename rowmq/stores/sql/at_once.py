"""Pushing a few messages that are due as they come, in one statement where the database has one for it."""

from collections.abc import Sequence

from rowmq.core.clock import micros
from rowmq.core.message import Batch, Message, Pushed
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.dialect import Due
from rowmq.stores.sql.rows import metadata_text

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


def _is_plain(batch: Batch) -> bool:
    return 0 < len(batch.messages) <= LARGEST and all(map(_is_due, batch.messages))


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
