"""Queues, topics, consumers and schedules behind a server."""

import builtins
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from rowmq.core.delivery import Membership, check_ttl
from rowmq.core.errors import QueueNotFound
from rowmq.core.history import ConsumerInfo, Schedule, Stats
from rowmq.core.message import Message
from rowmq.core.names import check_name
from rowmq.core.outcome import State
from rowmq.core.queue import Queue, changed
from rowmq.stores.remote import reading, writing
from rowmq.stores.remote.queue_shapes import Depth, Purging, QueueList, QueueShape
from rowmq.stores.remote.role import Role, refuse_transaction
from rowmq.stores.remote.role_shapes import (
    Beating,
    ConsumerList,
    Fired,
    Firing,
    Leading,
    Led,
    Place,
    Published,
    Publishing,
    ScheduleList,
    ScheduleShape,
    TopicList,
    TopicShape,
)
from rowmq.stores.remote.shapes import Counted, Done
from rowmq.stores.remote.transport import segment


class RemoteQueues(Role):
    """The queues and their settings."""

    def put(
        self, name: str, changes: Mapping[str, Any] | None = None, *, now: datetime | None = None
    ) -> Queue:
        """Create the queue, or change the given settings of an existing one, and return it."""
        changed(Queue(name=name), changes or {})  # what no queue may have is refused here
        shape = writing.changes(changes or {})
        return reading.queue(self.send("PUT", f"/v1/queues/{segment(name)}", shape, QueueShape, now=now))

    def get(self, name: str) -> Queue | None:
        """The queue, or None."""
        with suppress(QueueNotFound):
            return reading.queue(self.look(f"/v1/queues/{segment(name)}", QueueShape))
        return None

    def list(self) -> list[Queue]:
        """All queues by name."""
        return [reading.queue(each) for each in self.look("/v1/queues", QueueList).queues]

    def drop(self, name: str, *, now: datetime | None = None) -> bool:
        """Delete the queue with everything in it; False if there is none."""
        with suppress(QueueNotFound):
            return self.send("DELETE", f"/v1/queues/{segment(name)}", None, Done, now=now).changed
        return False

    def purge(
        self,
        name: str,
        *,
        state: State | None = None,
        before: datetime | None = None,
        limit: int | None = None,
        now: datetime | None = None,
    ) -> int:
        """Delete what still waits in the queue (ready and scheduled), or what is in one state; how many."""
        shape = Purging(state=state, before=before, limit=limit)
        return self.send("POST", f"/v1/queues/{segment(name)}/purge", shape, Counted, now=now).count

    def stats(self, name: str, *, now: datetime | None = None) -> Stats:
        """Count the queue's messages by state."""
        found = self.look(f"/v1/queues/{segment(name)}/stats", Depth, now=now)
        counts = (found.ready, found.scheduled, found.leased, found.done, found.dead)
        return Stats(*counts, reading.maybe_span(found.oldest_age))


class RemoteTopics(Role):
    """Publish and subscribe."""

    def bind(self, topic: str, queue: str, *, now: datetime | None = None) -> bool:
        """Bind a queue; False if it was bound."""
        check_name(topic, "topic name")
        return self.send("PUT", _binding(topic, queue), None, Done, now=now).changed

    def unbind(self, topic: str, queue: str, *, now: datetime | None = None) -> bool:
        """Unbind a queue; False if it was not bound."""
        with suppress(QueueNotFound):
            return self.send("DELETE", _binding(topic, queue), None, Done, now=now).changed
        return False

    def publish(
        self, topic: str, messages: Sequence[Message], *, tx: object = None, now: datetime | None = None
    ) -> int:
        """Push a copy of each message to every bound queue, all or nothing, and return how many queues."""
        refuse_transaction(tx)
        check_name(topic, "topic name")
        shape = Publishing(messages=[writing.message(each) for each in messages])
        return self.send("POST", f"/v1/topics/{segment(topic)}/messages", shape, Published, now=now).queues

    def bindings(self, topic: str | None = None) -> list[tuple[str, str]]:
        """The bound (topic, queue) pairs, of one topic or all, sorted."""
        found = self._all() if topic is None else self._one(topic)
        return [(each.topic, queue) for each in found for queue in each.queues]

    def _all(self) -> list[TopicShape]:
        return self.look("/v1/topics", TopicList).topics

    def _one(self, topic: str) -> list[TopicShape]:
        with suppress(QueueNotFound):
            return [self.look(f"/v1/topics/{segment(topic)}", TopicShape)]
        return []


class RemoteConsumers(Role):
    """Who is consuming."""

    def beat(self, queue: str, consumer: str, ttl: timedelta, *, now: datetime | None = None) -> Membership:
        """Register the consumer, or keep it alive, and tell its place."""
        check_name(consumer, "consumer name")
        check_ttl("consumer", ttl)
        shape = Beating(ttl=ttl.total_seconds())
        found = self.send("PUT", _consumer(queue, consumer), shape, Place, now=now)
        return Membership(found.index, found.count, found.joined)

    def retire(self, queue: str, consumer: str) -> bool:
        """Forget the consumer at once; False if it was not registered."""
        with suppress(QueueNotFound):
            return self.send("DELETE", _consumer(queue, consumer), None, Done).changed
        return False

    def list(self, queue: str | None = None, *, now: datetime | None = None) -> list[ConsumerInfo]:
        """The consumers alive now, by queue and birth."""
        query = [] if queue is None else [("queue", queue)]
        found = self.look("/v1/consumers", ConsumerList, query=query, now=now).consumers
        return [ConsumerInfo(each.queue, each.name, each.born_at, each.alive_until) for each in found]

    def lead(self, role: str, consumer: str, ttl: timedelta, *, now: datetime | None = None) -> bool:
        """Take the lead of a role, or keep it, for that long from now; False while another has it."""
        check_name(role, "role")
        check_name(consumer, "consumer name")
        check_ttl("lead", ttl)
        shape = Leading(role=role, consumer=consumer, ttl=ttl.total_seconds())
        return self.send("POST", "/v1/lead", shape, Led, now=now).leads


class RemoteSchedules(Role):
    """Messages pushed by the clock."""

    def put(self, schedule: Schedule, *, now: datetime | None = None) -> None:
        """Create or replace the schedule of this name."""
        check_name(schedule.name, "schedule name")
        self.send("POST", "/v1/schedules", writing.schedule(schedule), ScheduleShape, now=now)

    def list(self, *, due: datetime | None = None) -> builtins.list[Schedule]:
        """All schedules by name, or only those, not paused, whose next tick is due then."""
        query = [] if due is None else [("due", due.isoformat())]
        found = self.look("/v1/schedules", ScheduleList, query=query).schedules
        return [reading.schedule(each) for each in found]

    def drop(self, name: str) -> bool:
        """Delete the schedule; False if there is none."""
        with suppress(QueueNotFound):
            return self.send("DELETE", f"/v1/schedules/{segment(name)}", None, Done).changed
        return False

    def fire(self, name: str, tick: datetime, following: datetime, *, now: datetime | None = None) -> bool:
        """Push the schedule's message for this tick and set the following one, at once and only once."""
        shape = Firing(tick=tick, following=following)
        return self.send("POST", f"/v1/schedules/{segment(name)}/fire", shape, Fired, now=now).fired


def _binding(topic: str, queue: str) -> str:
    return f"/v1/topics/{segment(topic)}/queues/{segment(queue)}"


def _consumer(queue: str, consumer: str) -> str:
    return f"/v1/queues/{segment(queue)}/consumers/{segment(consumer)}"
