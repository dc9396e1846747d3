"""What a stream subscribes to: a queue, a subscription shared by many, or one of its own."""

import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

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
ALIVE = timedelta(seconds=60)
"""How long a subscription of a stream's own waits for it to come back."""
OLDEST = timedelta(hours=1)
"""How long a message waits in one: whoever does not read for so long does not want it."""
SETTINGS = {"max_attempts": None, "retention": timedelta(0), "max_age": OLDEST}


@dataclass(frozen=True, slots=True)
class Subscription:
    """The queue that a stream reads, and whether it is its own."""

    queue: str
    own: bool = False


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
    name = f"{KIND} {secrets.token_urlsafe(18)}"
    tags = {"rowmq": KIND, "topic": topic}

    def make() -> None:
        call.store.queues.put(name, {**SETTINGS, "tags": tags})
        call.store.consumers.beat(name, KIND, ALIVE)
        call.store.topics.bind(topic, name)

    await call.run(make)
    return Subscription(name, own=True)


async def _resumed(call: Call, name: str) -> Subscription:
    """A subscription that a stream had before: its name is known to nobody else."""
    found = await call.run(lambda: call.store.queues.get(name))
    if found is None or found.tags.get("rowmq") != KIND:
        raise QueueNotFound(name) if call.principal.may_everywhere(Right.CLAIM) else forbidden()
    call.demand(Right.CLAIM, found.tags["topic"])
    await call.run(lambda: take_back(call.store, name))
    return Subscription(name, own=True)


async def keep(call: Call, name: str) -> None:
    """Say that the stream of its own subscription is there."""
    await call.run(lambda: call.store.consumers.beat(name, KIND, ALIVE))


def clear(store: Store) -> None:
    """Drop the subscriptions of streams that have not come back."""
    alive = {each.queue for each in store.consumers.list()}
    for queue in lost(store.queues.list(), alive):
        event(logger, logging.INFO, "grpc.subscription_over", queue=queue, topic="")
        store.queues.drop(queue)


def lost(queues: Sequence[Queue], alive: set[str]) -> list[str]:
    """Which queues were a stream's own, and are nobody's now."""
    return [each.name for each in queues if each.tags.get("rowmq") == KIND and each.name not in alive]


def check(said: wire.Start) -> None:
    """Refuse a start that makes no sense."""
    if said.resume and (said.topic or said.queue):
        raise invalid("resume says it all: leave out topic and queue")
    if not (said.resume or said.topic or said.queue):
        raise invalid("a subscription needs a topic, a queue, or both")
