"""How a pending message ends, or goes on somewhere else."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import groupby

from rowmq.core.outcome import VANISHED, Reason, State, group_of
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.groups import Places, advance
from rowmq.stores.sql.lookup import queues_by_id
from rowmq.stores.sql.rows import Kept, Owing


def finish(
    cursor: Cursor, rows: Sequence[Owing], kept: Kept, now: int, *, reason: Reason | None = None
) -> None:
    """Write the outcome of messages of one queue: done, or dead for a reason."""
    seqs = [row.seq for row in rows]
    cursor.run(
        "finish",
        seqs=seqs,
        state=State.DEAD.value if reason else State.DONE.value,
        reason=reason and reason.value,
        now=now,
    )
    cursor.run("unpend", seqs=seqs)
    if reason is None and kept.queue.retention == timedelta(0):
        cursor.run("forget", seqs=seqs)
    advance(cursor, groups_of(rows), now)


def keep_results(cursor: Cursor, acked: Iterable[tuple[Owing, bytes | None]]) -> None:
    """Put results beside the outcomes that have just been written."""
    rows = [{"seq": row.seq, "result": result} for row, result in acked if result is not None]
    if rows:
        cursor.many("keep_result", rows)


def bury(cursor: Cursor, rows: Iterable[tuple[Owing, Reason]], kept: Kept, now: int) -> None:
    """Let messages of one queue be dead, or go to its dead-letter queue."""
    for reason, chosen in groupby(sorted(rows, key=lambda pair: pair[1]), key=lambda pair: pair[1]):
        buried = sorted(row for row, _ in chosen)
        target = (
            queues_by_id(cursor, [kept.dead_letter], now).get(kept.dead_letter) if kept.dead_letter else None
        )
        if target is None:
            finish(cursor, buried, kept, now, reason=reason)
        else:
            move(cursor, buried, target, now, source=kept.queue.name, reason=reason)


def move(
    cursor: Cursor,
    rows: Sequence[Owing],
    target: Kept,
    now: int,
    *,
    source: str | None = None,
    reason: Reason | None = None,
) -> None:
    """Owe messages to another queue, at once and with attempts at 0."""
    fifo = target.queue.fifo
    said = {"queue": target.id, "source": source, "reason": reason and reason.value, "now": now}
    free = [row.seq for row in rows if group_of(row.group_name, fifo=fifo) is None]
    if free:
        cursor.run("move", seqs=free, **said)
    grouped = [(row, name) for row in rows if (name := group_of(row.group_name, fifo=fifo)) is not None]
    places = Places(cursor, target.id, {name for _, name in grouped})
    for row, name in grouped:
        group, parked = places.take(name)
        cursor.run("move_into_group", seq=row.seq, group_id=group, parked=parked, **said)
    advance(cursor, groups_of(rows), now)
    cursor.pushed.add(target.id)


def fail(cursor: Cursor, failed: Iterable[tuple[Owing, str, int]], kept: Kept) -> None:
    """Keep attempts that went wrong, each with its error and when it ended."""
    rows = [
        {
            "seq": row.seq,
            "attempt": row.attempts,
            "queue": kept.queue.name,
            "consumer": row.consumer,
            "started_at": row.claimed_at,
            "ended_at": ended,
            "error": error,
        }
        for row, error, ended in failed
    ]
    if rows:
        cursor.many("fail", rows)


def note_vanished(cursor: Cursor, rows: Iterable[Owing], kept: Kept) -> None:
    """Keep the attempts of holders whose lease ended without an answer."""
    fail(cursor, [(row, VANISHED, row.time) for row in rows if row.token is not None], kept)


def groups_of(rows: Iterable[Owing]) -> set[int]:
    """The groups these rows are in."""
    return {row.group_id for row in rows if row.group_id is not None}
