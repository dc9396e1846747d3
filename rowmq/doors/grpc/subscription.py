"""What a stream subscribes to: a queue, a subscription shared by many, or one of its own."""

import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rowmq.core.errors import QueueNotFound
from rowmq.core.names import check_name
from rowmq.core.queue import Queue
from rowmq.core.store import Store
from rowmq.doors.grpc.call import Call
from rowmq.doors.grpc.leased import take_back
from rowmq.doors.grpc.status import forbidden, invalid
from rowmq.doors.right import Right
from rowmq.runtime.log import event, logger
from rowmq.stores.grpc import rowmq_pb2 as wire

KIND = "broadcast"
ALIVE = timedelta(seconds=75)
"""How long a beat of a stream with a subscription of its own counts: a minute after the next would be due."""
BEATS = 5
"""How many beats there are in that time."""
OLDEST = timedelta(hours=1)
"""How long a message waits in one: whoever does not read for so long does not want it."""
FIRST = "1970-01-01T00:00:00+00:00"
SETTINGS = {"max_attempts": None, "retention": timedelta(0), "max_age": OLDEST}


@dataclass(frozen=True, slots=True)
class Subscription:
    """The queue that a stream reads."""

    queue: str
    stream: str = ""
    """What the stream is called in the beats of a subscription of its own."""

    @property
    def own(self) -> bool:
        """Whether it is the stream's own."""
        return bool(self.stream)


async def subscription(call: Call, said: wire.Start) -> Subscription:
    """What a stream wants, made if need be, if its caller has the right to that."""
    if said.resume:
        return await _resumed(call, said.resume)
    if not said.topic:
        call.demand(Right.CLAIM, said.queue)
        return Subscription(check_name(said.queue))
    check_name(said.topic, "topic name")
    return await (_shared(call, said.topic, said.queue) if said.queue else _own(call, said.topic))


async def _shared(call: Call, topic: str, queue: str) -> Subscription:
    call.demand(Right.CLAIM, queue)
    if (topic, queue) not in await call.run(lambda: call.store.topics.bindings(topic)):
        call.demand(Right.MANAGE, topic, queue)
        await call.run(lambda: _bind(call.store, topic, queue))
    return Subscription(queue)


def _bind(store: Store, topic: str, queue: str) -> None:
    store.queues.put(queue)
    store.topics.bind(topic, queue)


async def _own(call: Call, topic: str) -> Subscription:
    call.demand(Right.CLAIM, topic)
    found = _named(f"{KIND} {secrets.token_urlsafe(18)}")
    await call.run(lambda: _make(call.store, topic, found))
    return found


def _named(queue: str) -> Subscription:
    return Subscription(queue, f"stream {secrets.token_urlsafe(9)}")


def _make(store: Store, topic: str, made: Subscription) -> None:
    tags = {"rowmq": KIND, "topic": topic, "since": store.now().isoformat()}
    store.queues.put(made.queue, {**SETTINGS, "tags": tags})
    store.consumers.beat(made.queue, made.stream, ALIVE)
    store.topics.bind(topic, made.queue)


async def _resumed(call: Call, name: str) -> Subscription:
    """A subscription that a stream had before: its name is known to nobody else."""
    found = await call.run(lambda: call.store.queues.get(name))
    if found is None or found.tags.get("rowmq") != KIND:
        raise QueueNotFound(name) if call.principal.may_everywhere(Right.CLAIM) else forbidden()
    call.demand(Right.CLAIM, found.tags["topic"])
    call.broker.streams.stop(name)
    taken = _named(name)
    await call.run(lambda: _take_over(call.store, taken))
    return taken


def _take_over(store: Store, taken: Subscription) -> None:
    """Have what the former stream holds, which finds at its next beat that it was retired."""
    store.consumers.beat(taken.queue, taken.stream, ALIVE)
    for name in _others(store, taken):
        store.consumers.retire(taken.queue, name)
    take_back(store, taken.queue)


def _others(store: Store, found: Subscription) -> list[str]:
    return [each.name for each in store.consumers.list(found.queue) if each.name != found.stream]


async def keep(call: Call, found: Subscription) -> bool:
    """Say that the stream of its own subscription is there; False if another is there instead."""
    return await call.run(lambda: _kept(call.store, found))


def _kept(store: Store, found: Subscription) -> bool:
    if not store.consumers.beat(found.queue, found.stream, ALIVE).joined:
        return True
    # It was retired by a stream that goes on with the subscription, or forgotten while the store was away.
    replaced = bool(_others(store, found))
    if replaced:
        store.consumers.retire(found.queue, found.stream)
    return not replaced


async def lease(call: Call, found: Subscription) -> timedelta:
    """How long messages of the subscription are held if nobody says else."""
    queue = await call.run(lambda: call.store.queues.get(found.queue))
    if queue is None:
        raise QueueNotFound(found.queue)
    return queue.lease


def clear(store: Store) -> None:
    """Drop the subscriptions of streams that have not come back."""
    queues, before = store.queues.list(), store.now() - ALIVE
    alive = {each.queue for each in store.consumers.list()}  # after the queues: who is in them has a beat
    for queue in lost(queues, alive, before):
        event(logger, logging.INFO, "grpc.subscription_over", queue=queue, topic="")
        store.queues.drop(queue)


def lost(queues: Sequence[Queue], alive: set[str], before: datetime) -> list[str]:
    """Which queues were a stream's own before then, and are nobody's now; younger ones are being made."""
    own = [each for each in queues if each.tags.get("rowmq") == KIND and each.name not in alive]
    return [each.name for each in own if datetime.fromisoformat(each.tags.get("since", FIRST)) < before]


def check(said: wire.Start) -> None:
    """Refuse a start that makes no sense."""
    if said.resume and (said.topic or said.queue):
        raise invalid("resume says it all: leave out topic and queue")
    if not (said.resume or said.topic or said.queue):
        raise invalid("a subscription needs a topic, a queue, or both")
