"""The topics role: a publish is a push to every bound queue."""

import json
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import NamedTuple

from rowmq.core.clock import moment, span
from rowmq.core.errors import RowMQError
from rowmq.core.message import Batch, Message, derived_id
from rowmq.core.names import check_name
from rowmq.core.queue import Queue
from rowmq.core.store import BACKLOG, GRACE
from rowmq.stores.sql.cursor import Cursor, Row
from rowmq.stores.sql.database import Database
from rowmq.stores.sql.deleting import CHUNK, erase
from rowmq.stores.sql.lookup import clock, queue_named, queues_by_name
from rowmq.stores.sql.push import Push
from rowmq.stores.sql.rows import EMPTY, Kept, queue_columns, stamp


class _Topic(NamedTuple):
    id: int
    name: str
    bound_at: int | None
    """When the first of its present bindings was made, while what was kept is still there for others."""
    now: int

    @property
    def backlog(self) -> str:
        return BACKLOG + self.name

    @property
    def gracious(self) -> bool:
        """Whether a queue bound now still gets what was kept."""
        return self.bound_at is None or self.now <= self.bound_at + span(GRACE)


class SQLTopics:
    """Publish and subscribe, in SQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def bind(self, topic: str, queue: str, *, now: datetime | None = None) -> bool:
        """Bind a queue, and give it what was kept if it is among the first."""
        check_name(topic, "topic name")
        given = stamp(now)

        def work(cursor: Cursor) -> bool:
            found = _locked(cursor, topic, given, alone=True)
            kept = queue_named(cursor, queue, found.now)
            if not found.gracious:
                _discard(cursor, found)
            bound = cursor.all("topic_queues", topic=found.id)
            if queue in {row[0] for row in bound}:
                return False
            cursor.run("bind", topic=found.id, queue=kept.id)
            _hand_over(cursor, found, queue)
            if not bound:
                cursor.run("topic_bound", topic=found.id, at=found.now)
            return True

        return self._database.run(work)

    def unbind(self, topic: str, queue: str, *, now: datetime | None = None) -> bool:
        """Unbind a queue; after the last one the topic is as new."""
        given = stamp(now)

        def work(cursor: Cursor) -> bool:
            if cursor.one("topic_find", name=topic) is None:
                return False
            return _unbind(cursor, topic, queue, given)

        return self._database.run(work)

    def publish(
        self, topic: str, messages: Sequence[Message], *, tx: object = None, now: datetime | None = None
    ) -> int:
        """Push to every bound queue, or keep."""
        check_name(topic, "topic name")
        given = stamp(now)
        return self._database.run(
            lambda cursor: publish(cursor, topic, messages, given), tx=tx, repeatable=True
        )

    def bindings(self, topic: str | None = None) -> list[tuple[str, str]]:
        """The bound pairs."""
        rows = self._database.read(lambda cursor: cursor.all("bindings"))
        return sorted((row[0], row[1]) for row in rows if topic in (None, row[0]))


def publish(cursor: Cursor, topic: str, messages: Sequence[Message], now: int | None) -> int:
    """Push a copy of each message to every bound queue, or keep them; how many queues."""
    found = _locked(cursor, topic, now, alone=False)
    names = sorted(row[0] for row in cursor.all("topic_queues", topic=found.id))
    if names:
        with cursor.savepoint() if cursor.joined else nullcontext():
            _push(cursor, [_copies(messages, name) for name in names], found.now)
    else:
        _keep(cursor, found, messages)
    return len(names)


def _locked(cursor: Cursor, name: str, now: int | None, *, alone: bool) -> _Topic:
    """The topic, made if need be. Publishers share it; whoever changes its bindings has it alone."""
    row = cursor.one("topic_find", name=name)
    if row is None:
        cursor.run("topic_make", name=name)
        row = cursor.one("topic_find", name=name)
    assert row is not None  # noqa: S101 - it was just made, and topics are never deleted
    cursor.all("topic_alone" if alone else "topic_share", topic=row[0])
    found = cursor.one("topic_find", name=name) or row
    return _Topic(found[0], name, found[1], clock(cursor, now))


def _unbind(cursor: Cursor, topic: str, queue: str, now: int | None) -> bool:
    found = _locked(cursor, topic, now, alone=True)
    if not found.gracious:
        _discard(cursor, found)
    if not cursor.run("unbind", topic=found.id, queue=queue):
        return False
    if not cursor.all("topic_queues", topic=found.id):
        _discard(cursor, found)
        cursor.run("topic_bound", topic=found.id, at=None)
    return True


def unbind_everywhere(cursor: Cursor, queue: str, now: int | None) -> None:
    """Unbind a queue from every topic it is bound to."""
    for topic in sorted(row[0] for row in cursor.all("bindings") if row[1] == queue):
        _unbind(cursor, topic, queue, now)


def _copies(messages: Sequence[Message], queue: str) -> Batch:
    return Batch(queue, [message.copied(derived_id(message.id, queue)) for message in messages])


def _push(cursor: Cursor, batches: Sequence[Batch], now: int) -> None:
    for answer in Push(cursor, now).run(batches):
        if isinstance(answer, RowMQError):
            raise answer


def _backlog(cursor: Cursor, topic: _Topic) -> Kept | None:
    return queues_by_name(cursor, [topic.backlog], topic.now).get(topic.backlog)


def _keep(cursor: Cursor, topic: _Topic, messages: Sequence[Message]) -> None:
    """Put messages where the first to bind will find them, plainly: their group and key wait for a queue."""
    if _backlog(cursor, topic) is None:
        settings = queue_columns(Queue(name="backlog"), None) | {"name": topic.backlog, "now": topic.now}
        cursor.run("queue_insert", **settings)
    kept = _backlog(cursor, topic)
    assert kept is not None  # noqa: S101 - it was just made
    Push(cursor, topic.now).keep(messages, kept)


def _hand_over(cursor: Cursor, topic: _Topic, queue: str) -> None:
    """Copy what was kept into a newly bound queue, in order."""
    kept = _backlog(cursor, topic)
    after = 0
    while kept is not None:
        rows = cursor.all("backlog", queue=kept.id, after=after, limit=CHUNK)
        if not rows:
            return
        _push(cursor, [_copies([_said(row, cursor) for row in rows], queue)], topic.now)
        after = rows[-1][0]


def _said(row: Row, cursor: Cursor) -> Message:
    _seq, id, body, binary, metadata, priority, group, key, scheduled, deadline = row
    return Message(
        id=cursor.dialect.id_out(id),
        body=body,
        binary=bool(binary),
        metadata=json.loads(metadata) if metadata else EMPTY,
        at=None if scheduled is None else moment(scheduled),
        priority=priority,
        deadline=None if deadline is None else moment(deadline),
        key=key,
        group=group,
    )


def _discard(cursor: Cursor, topic: _Topic) -> int:
    """Delete what was kept, once everybody who was to have it has it."""
    kept = _backlog(cursor, topic)
    total = 0
    while kept is not None:
        seqs = [row[0] for row in cursor.all("seqs_of_queue", queue=kept.id, limit=CHUNK)]
        if not seqs:
            break
        erase(cursor, topic.name, "topic", seqs, topic.now)
        total += len(seqs)
    return total


def discard_old_backlogs(cursor: Cursor, now: int) -> int:
    """Delete what topics kept for those whose grace is over."""
    over = cursor.all("topics_over", before=now - span(GRACE), prefix=BACKLOG)
    return sum(_discard(cursor, _locked(cursor, name, now, alone=True)) for (name,) in over)
