"""Publish and subscribe: who is bound, and what is kept while nobody is."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from rowmq.core.clock import moment, span
from rowmq.core.message import DEDUP_WINDOW, Batch, Message, derived_id
from rowmq.core.names import check_name
from rowmq.core.store import BACKLOG, GRACE
from rowmq.stores.memory.push import merge, perform, plan, store, stored_as
from rowmq.stores.memory.role import Role, atomic, refuse_transaction
from rowmq.stores.memory.row import Stored, Topic
from rowmq.stores.memory.tables import Tables


class MemoryTopics(Role):
    """The topics of a memory store."""

    @atomic
    def bind(self, topic: str, queue: str, *, now: datetime | None = None) -> bool:
        """Bind a queue, and give it what was kept; False if it was bound."""
        check_name(topic, "topic name")
        self.tables.queue(queue)
        at = self.tables.clock(now)
        entry = _topic(self.tables, topic, at)
        if queue in entry.queues:
            return False
        _hand_over(self.tables, entry, queue, at)
        entry.first_bound_at = entry.first_bound_at if entry.queues else at
        entry.queues.add(queue)
        return True

    @atomic
    def unbind(self, topic: str, queue: str, *, now: datetime | None = None) -> bool:
        """Unbind a queue, leaving its messages where they are; False if it was not bound."""
        return unbind(self.tables, topic, queue, self.tables.clock(now))

    @atomic
    def publish(
        self, topic: str, messages: Sequence[Message], *, tx: object = None, now: datetime | None = None
    ) -> int:
        """Push a copy of each message to every bound queue, or keep them all; how many queues."""
        refuse_transaction(tx)
        check_name(topic, "topic name")
        at = self.tables.clock(now)
        entry = self.tables.topics.setdefault(topic, Topic())
        if not entry.queues:
            _keep(self.tables, topic, messages, at)
        batches = [Batch(queue, _copies(messages, queue)) for queue in sorted(entry.queues)]
        for planned in [plan(self.tables, batch, at) for batch in batches]:
            perform(self.tables, planned, at)
        return len(entry.queues)

    @atomic
    def bindings(self, topic: str | None = None) -> list[tuple[str, str]]:
        """The bound (topic, queue) pairs, of one topic or all, sorted."""
        pairs = ((name, queue) for name, entry in self.tables.topics.items() for queue in entry.queues)
        return sorted(pair for pair in pairs if topic in (None, pair[0]))


def unbind(tables: Tables, topic: str, queue: str, now: int) -> bool:
    """Unbind a queue; after the last one the topic is as new."""
    if topic not in tables.topics:
        return False
    entry = _topic(tables, topic, now)
    if queue not in entry.queues:
        return False
    entry.queues.remove(queue)
    if not entry.queues:
        _forget_kept(tables, entry, now)
        del tables.topics[topic]
    return True


def forget_late(tables: Tables, entry: Topic, now: int) -> None:
    """Delete what a topic has kept, once its grace is over."""
    if entry.first_bound_at is not None and now > entry.first_bound_at + span(GRACE):
        _forget_kept(tables, entry, now)


def _topic(tables: Tables, name: str, now: int) -> Topic:
    entry = tables.topics.setdefault(name, Topic())
    forget_late(tables, entry, now)
    return entry


def _forget_kept(tables: Tables, entry: Topic, now: int) -> None:
    tables.erase(entry.kept, "topic", now)
    entry.kept.clear()


def _keep(tables: Tables, topic: str, messages: Sequence[Message], now: int) -> None:
    hidden = BACKLOG + topic
    fresh = [message for message in merge(messages)[0] if stored_as(tables, hidden, message) is None]
    for message in fresh:
        stored = store(tables, hidden, message, timedelta(0), now)
        tables.topics[topic].kept.append(stored.seq)


def _hand_over(tables: Tables, entry: Topic, queue: str, now: int) -> None:
    kept = [_as_published(tables.messages[seq]) for seq in entry.kept]
    perform(tables, plan(tables, Batch(queue, _copies(kept, queue)), now), now)


def _as_published(stored: Stored) -> Message:
    """The kept message, its delay counted from when it was published."""
    at = None if stored.scheduled_for is None else moment(stored.scheduled_for)
    return replace(stored.message, at=at, delay=None, window=DEDUP_WINDOW)


def _copies(messages: Sequence[Message], queue: str) -> list[Message]:
    return [replace(message, id=derived_id(message.id, queue)) for message in messages]
