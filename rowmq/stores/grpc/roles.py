"""Queues and topics behind a server's gRPC port."""

import builtins
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from rowmq.core.delivery import Membership, check_ttl
from rowmq.core.errors import QueueNotFound
from rowmq.core.history import ConsumerInfo, Stats
from rowmq.core.message import Message
from rowmq.core.names import check_name
from rowmq.core.outcome import State
from rowmq.core.queue import Queue, changed
from rowmq.stores.grpc import reading, writing
from rowmq.stores.grpc import rowmq_pb2 as wire
from rowmq.stores.grpc.elsewhere import refuse, refuse_clock, refuse_transaction
from rowmq.stores.grpc.times import length
from rowmq.stores.grpc.transport import Transport


class GrpcQueues:
    """The queues and their settings."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def put(
        self, name: str, changes: Mapping[str, Any] | None = None, *, now: datetime | None = None
    ) -> Queue:
        """Create the queue, or change the given settings of an existing one, and return it."""
        refuse_clock(now)
        changed(Queue(name=name), changes or {})  # what no queue may have is refused here
        asked = writing.changes(name, changes or {})
        return reading.queue(self._transport.ask("PutQueue", asked, wire.Queue, again=True))

    def get(self, name: str) -> Queue | None:
        """The queue, or None."""
        with suppress(QueueNotFound):
            return reading.queue(self._look("GetQueue", wire.QueueRequest(name=name), wire.Queue))
        return None

    def list(self) -> list[Queue]:
        """All queues by name."""
        found = self._look("ListQueues", wire.ListQueuesRequest(), wire.ListQueuesResponse)
        return [reading.queue(each) for each in found.queues]

    def drop(self, name: str, *, now: datetime | None = None) -> bool:
        """Delete the queue with everything in it; False if there is none."""
        refuse_clock(now)
        found = self._transport.ask("DropQueue", wire.QueueRequest(name=name), wire.DropQueueResponse)
        return bool(found.changed)

    def purge(
        self,
        name: str,
        *,
        state: State | None = None,
        before: datetime | None = None,
        limit: int | None = None,
        now: datetime | None = None,
    ) -> int:
        """Delete what still waits in the queue; how many."""
        refuse_clock(now)
        if state is not None or before is not None or limit is not None:
            refuse("to purge one state, what is old, or only some")
        found = self._transport.ask("PurgeQueue", wire.QueueRequest(name=name), wire.PurgeQueueResponse)
        return int(found.count)

    def stats(self, name: str, *, now: datetime | None = None) -> Stats:
        """Count the queue's messages by state."""
        refuse_clock(now)
        return reading.stats(self._look("GetStats", wire.QueueRequest(name=name), wire.Stats))

    def _look(self, method: str, asked: Any, gives: Any) -> Any:
        return self._transport.ask(method, asked, gives, changes=False)


class GrpcTopics:
    """Publish and subscribe."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def bind(self, topic: str, queue: str, *, now: datetime | None = None) -> bool:
        """Bind a queue; False if it was bound."""
        refuse_clock(now)
        check_name(topic, "topic name")
        return self._bound("Bind", topic, queue)

    def unbind(self, topic: str, queue: str, *, now: datetime | None = None) -> bool:
        """Unbind a queue; False if it was not bound."""
        refuse_clock(now)
        return self._bound("Unbind", topic, queue)

    def publish(
        self, topic: str, messages: Sequence[Message], *, tx: object = None, now: datetime | None = None
    ) -> int:
        """Push a copy of each message to every bound queue, all or nothing, and return how many queues."""
        refuse_transaction(tx)
        refuse_clock(now)
        check_name(topic, "topic name")
        asked = wire.PublishRequest(topic=topic, messages=[writing.message(each) for each in messages])
        return int(self._transport.ask("Publish", asked, wire.PublishResponse).queues)

    def bindings(self, topic: str | None = None) -> builtins.list[tuple[str, str]]:
        """The bound (topic, queue) pairs, of one topic or all, sorted."""
        asked = wire.ListBindingsRequest(topic=topic or "")
        found = self._transport.ask("ListBindings", asked, wire.ListBindingsResponse, changes=False)
        return [(each.topic, each.queue) for each in found.bindings]

    def _bound(self, method: str, topic: str, queue: str) -> bool:
        asked = wire.BindRequest(topic=topic, queue=queue)
        return bool(self._transport.ask(method, asked, wire.BindResponse).changed)


class GrpcConsumers:
    """Who is consuming."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def beat(self, queue: str, consumer: str, ttl: timedelta, *, now: datetime | None = None) -> Membership:
        """Register the consumer, or keep it alive, and tell its place."""
        refuse_clock(now)
        check_name(consumer, "consumer name")
        check_ttl("consumer", ttl)
        asked = wire.BeatRequest(queue=queue, consumer=consumer, ttl=length(ttl))
        found = self._transport.ask("Beat", asked, wire.Membership, again=True)
        return Membership(found.index, found.count, found.joined)

    def retire(self, queue: str, consumer: str) -> bool:
        """Forget the consumer at once; False if it was not registered."""
        asked = wire.RetireRequest(queue=queue, consumer=consumer)
        return bool(self._transport.ask("Retire", asked, wire.RetireResponse).changed)

    def list(self, queue: str | None = None, *, now: datetime | None = None) -> builtins.list[ConsumerInfo]:
        """The consumers alive now, by queue and birth."""
        refuse_clock(now)
        asked = wire.ListConsumersRequest(queue=queue or "")
        found = self._transport.ask("ListConsumers", asked, wire.ListConsumersResponse, changes=False)
        return [reading.consumer(each) for each in found.consumers]

    def lead(self, role: str, consumer: str, ttl: timedelta, *, now: datetime | None = None) -> bool:  # noqa: ARG002 - whoever asks
        """Leave every lead to the server."""
        return False
