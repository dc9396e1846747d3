"""The stages role: what bulk writers set down becomes messages in one transaction, once."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rowmq.core.chunk import Past, pack, unpack
from rowmq.core.clock import micros
from rowmq.core.errors import InvalidSetting, RowMQError, StoreUnavailable
from rowmq.core.message import Batch, Message
from rowmq.core.names import check_name
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.database import Database
from rowmq.stores.sql.lookup import clock, queue_named
from rowmq.stores.sql.push import Push
from rowmq.stores.sql.rows import Kept, stamp
from rowmq.stores.sql.topics import publish

Write = Callable[[Cursor, Sequence[Message], Sequence[Past] | None], None]
"""How the messages of one chunk are stored."""


class SQLStages:
    """Staging and committing, in SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(
        self,
        job: str,
        stage: str,
        part: int,
        messages: Sequence[Message],
        *,
        pasts: Sequence[Past] | None = None,
        now: datetime | None = None,
    ) -> None:
        """Set messages down. Done again after a lost reply it would collide, so the row is made anew."""
        chunk, count, given = pack(messages, pasts), len(messages), stamp(now)

        def work(cursor: Cursor) -> None:
            cursor.run("stage_part_drop", job=job, stage=stage, part=part)
            when = clock(cursor, given)
            cursor.run("stage_put", job=job, stage=stage, part=part, count=count, chunk=chunk, now=when)

        self._database.run(work, repeatable=True)

    def commit(
        self,
        job: str,
        stages: Mapping[str, int],
        *,
        writer: str,
        number: int,
        queue: str | None = None,
        topic: str | None = None,
        known_ids: bool = False,
        now: datetime | None = None,
    ) -> bool:
        """Push what the stages hold, unless that was done before."""
        write, given = _way(queue, topic, stamp(now)), stamp(now)

        def work(cursor: Cursor) -> bool:
            cursor.attempt += known_ids  # a push then looks ids up before it inserts
            new = _is_next(cursor, writer, number, clock(cursor, given))
            if new:
                _move(cursor, job, stages, write)
            cursor.run("stage_drop", job=job)
            return new

        return self._database.run(work, repeatable=True)

    def last(self, writer: str) -> int | None:
        """The highest number that the writer has committed."""
        found = self._database.run(lambda cursor: cursor.one("batch_find", name=writer))
        return None if found is None else int(found[0])

    def drop(self, job: str) -> None:
        """Delete what the job has staged."""
        self._database.run(lambda cursor: cursor.run("stage_drop", job=job), repeatable=True)


def _is_next(cursor: Cursor, writer: str, number: int, now: int) -> bool:
    """Whether the writer's batch is new; then it is noted, so that it never is again."""
    last = cursor.one("batch_find", name=writer)
    if last is not None and number <= last[0]:
        return False
    cursor.run("batch_put" if last is None else "batch_set", name=writer, number=number, now=now)
    return True


def _move(cursor: Cursor, job: str, stages: Mapping[str, int], write: Write) -> None:
    parts: dict[str, list[int]] = {stage: [] for stage in stages}
    counts = dict.fromkeys(stages, 0)
    for stage, part, count in cursor.all("stage_parts", job=job):
        if stage in parts:
            parts[stage].append(part)
            counts[stage] += count
    if counts != stages:
        raise _missing(stages, counts)
    for stage, numbers in parts.items():
        for part in numbers:
            row = cursor.one("stage_chunk", job=job, stage=stage, part=part)
            if row is None:  # swept since it was counted
                raise _missing(stages, {})
            write(cursor, *unpack(row[0]))


def _missing(stages: Mapping[str, int], counts: Mapping[str, int]) -> StoreUnavailable:
    return StoreUnavailable(
        f"{sum(stages.values())} messages were staged and {sum(counts.values())} of them are there;"
        " nothing was written, write again"
    )


def _way(queue: str | None, topic: str | None, now: int | None) -> Write:
    if (queue is None) == (topic is None):
        raise InvalidSetting("say either a queue or a topic to write to")
    if topic is not None:
        check_name(topic, "topic name")
        return lambda cursor, messages, _: _publish(cursor, topic, messages, now)
    name = str(queue)
    return lambda cursor, messages, pasts: (
        _push(cursor, name, messages, now) if pasts is None else _restore(cursor, name, messages, pasts, now)
    )


def _publish(cursor: Cursor, topic: str, messages: Sequence[Message], now: int | None) -> None:
    publish(cursor, topic, messages, now)


def _push(cursor: Cursor, queue: str, messages: Sequence[Message], now: int | None) -> None:
    for answer in Push(cursor, now).run([Batch(queue, messages)]):
        if isinstance(answer, RowMQError):
            raise answer


def _restore(
    cursor: Cursor, queue: str, messages: Sequence[Message], pasts: Sequence[Past], now: int | None
) -> None:
    """Push messages and give those that are new here the past they had elsewhere."""
    kept = queue_named(cursor, queue, now)
    by_id = {message.id: past for message, past in zip(messages, pasts, strict=True)}
    stored = set(_seqs(cursor, messages))
    fresh = [message for message in messages if message.id not in stored]
    over = [message for message in fresh if by_id[message.id].state is not None]
    _push(cursor, queue, [message for message in messages if by_id[message.id].state is None], now)
    if over:
        Push(cursor, now).keep(over, kept)
    seqs = _seqs(cursor, fresh)
    _remember(cursor, kept, [(seqs[message.id], by_id[message.id]) for message in fresh])


def _seqs(cursor: Cursor, messages: Sequence[Message]) -> dict[Any, int]:
    id_in, id_out = cursor.dialect.id_in, cursor.dialect.id_out
    rows = cursor.all("messages_by_id", ids=[id_in(message.id) for message in messages]) if messages else []
    return {id_out(row[0]): row[1] for row in rows}


def _remember(cursor: Cursor, kept: Kept, pasts: Sequence[tuple[int, Past]]) -> None:
    if not pasts:
        return
    cursor.many("past_message", [{"seq": seq, "created_at": micros(past.created_at)} for seq, past in pasts])
    owed = [{"seq": seq, "attempts": past.attempts} for seq, past in pasts if past.state is None]
    over = [(seq, past) for seq, past in pasts if past.state is not None]
    if owed:
        cursor.many("past_pending", owed)
    if over:
        cursor.run("unpend", seqs=[seq for seq, _ in over])
        cursor.many("past_outcome", [_outcome(seq, past, kept) for seq, past in over])
    failed = [_failure(seq, past, kept) for seq, past in pasts if past.error is not None]
    if failed:
        cursor.many("fail", failed)


def _outcome(seq: int, past: Past, kept: Kept) -> dict[str, Any]:
    return {
        "seq": seq,
        "queue": kept.id,
        "state": past.state,
        "reason": past.reason,
        "attempts": past.attempts,
        "started_at": stamp(past.started_at),
        "finished_at": micros(past.finished_at or past.created_at),
    }


def _failure(seq: int, past: Past, kept: Kept) -> dict[str, Any]:
    return {
        "seq": seq,
        "attempt": max(past.attempts, 1),
        "queue": kept.queue.name,
        "consumer": None,
        "started_at": stamp(past.started_at),
        "ended_at": micros(past.finished_at or past.started_at or past.created_at),
        "error": past.error,
    }
