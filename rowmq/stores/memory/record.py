"""A message as history shows it."""

from datetime import datetime

from rowmq.core.clock import moment
from rowmq.core.history import Record
from rowmq.stores.memory.row import Finished, Pending
from rowmq.stores.memory.tables import Tables


def record(tables: Tables, seq: int, now: int) -> Record | None:
    """The message in whatever state it is now; None while it is only kept for a topic's first queue."""
    row = tables.pending.get(seq) or tables.finished.get(seq)
    return None if row is None else _record(tables, row, now)


def _record(tables: Tables, row: Pending | Finished, now: int) -> Record:
    stored, message = tables.messages[row.seq], tables.messages[row.seq].message
    return Record(
        seq=row.seq,
        id=message.id,
        queue=row.queue,
        state=row.state(now) if isinstance(row, Pending) else row.state,
        body=stored.body,
        binary=message.binary,
        metadata=dict(message.metadata),
        priority=message.priority,
        group=message.group,
        key=message.key,
        created_at=moment(stored.created_at),
        scheduled_for=_moment(stored.scheduled_for),
        deadline=message.deadline,
        visible_at=moment(row.time) if isinstance(row, Pending) else None,
        attempts=row.attempts,
        receives=row.receives,
        consumer=row.consumer,
        started_at=_moment(row.claimed_at if isinstance(row, Pending) else row.started_at),
        finished_at=None if isinstance(row, Pending) else moment(row.finished_at),
        reason=row.reason,
        source=row.source,
        result=None if isinstance(row, Pending) else row.result,
    )


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else moment(micros)
