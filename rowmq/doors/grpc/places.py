"""Queues, bindings, and the store as a whole."""

from datetime import timedelta
from typing import Any

from rowmq.core.errors import QueueNotFound
from rowmq.doors.grpc.call import Call
from rowmq.doors.grpc.messages import LONGEST_WAIT
from rowmq.doors.grpc.method import Method
from rowmq.doors.right import Right
from rowmq.stores.grpc import reading, writing
from rowmq.stores.grpc import rowmq_pb2 as wire
from rowmq.stores.grpc.times import span, stamp


async def bind(call: Call, said: wire.BindRequest) -> wire.BindResponse:
    """Bind a queue to a topic; who does it manages both."""
    return wire.BindResponse(changed=await call.run(lambda: call.store.topics.bind(said.topic, said.queue)))


async def unbind(call: Call, said: wire.BindRequest) -> wire.BindResponse:
    """Unbind a queue from a topic, leaving its messages where they are."""
    return wire.BindResponse(changed=await call.run(lambda: call.store.topics.unbind(said.topic, said.queue)))


async def list_bindings(call: Call, said: wire.ListBindingsRequest) -> wire.ListBindingsResponse:
    """List the bindings of one topic, or of all that the caller may read."""
    pairs = await call.run(lambda: call.store.topics.bindings(said.topic or None))
    return wire.ListBindingsResponse(
        bindings=[
            wire.Binding(topic=topic, queue=queue)
            for topic, queue in pairs
            if call.principal.may(Right.READ, topic)
        ]
    )


async def put_queue(call: Call, said: wire.PutQueueRequest) -> wire.Queue:
    """Create a queue, or change settings of one; who names a dead-letter queue manages that, too."""
    changes = reading.changes(said)
    if changes.get("dead_letter"):
        call.demand(Right.MANAGE, changes["dead_letter"])
    return writing.queue(await call.run(lambda: call.store.queues.put(said.name, changes)))


async def get_queue(call: Call, said: wire.QueueRequest) -> wire.Queue:
    """Look up a queue."""
    found = await call.run(lambda: call.store.queues.get(said.name))
    if found is None:
        raise QueueNotFound(said.name)
    return writing.queue(found)


async def list_queues(call: Call, said: wire.ListQueuesRequest) -> wire.ListQueuesResponse:  # noqa: ARG001
    """List the queues that the caller may read."""
    found = await call.run(call.store.queues.list)
    shown = [writing.queue(each) for each in found if call.principal.may(Right.READ, each.name)]
    return wire.ListQueuesResponse(queues=shown)


async def drop_queue(call: Call, said: wire.QueueRequest) -> wire.DropQueueResponse:
    """Delete a queue with everything in it."""
    return wire.DropQueueResponse(changed=await call.run(lambda: call.store.queues.drop(said.name)))


async def purge_queue(call: Call, said: wire.QueueRequest) -> wire.PurgeQueueResponse:
    """Delete what waits in a queue."""
    return wire.PurgeQueueResponse(count=await call.run(lambda: call.store.queues.purge(said.name)))


async def get_stats(call: Call, said: wire.QueueRequest) -> wire.Stats:
    """Count a queue's messages by state."""
    return writing.stats(await call.run(lambda: call.store.queues.stats(said.name)))


async def wait(call: Call, said: wire.WaitRequest) -> wire.WaitResponse:
    """Wait until something may have been pushed to one of the queues."""
    patience = min(span(said, "timeout") or timedelta(0), LONGEST_WAIT)
    return wire.WaitResponse(woken=await call.gather.wait(list(dict.fromkeys(said.queues)), patience))


async def beat(call: Call, said: wire.BeatRequest) -> wire.Membership:
    """Register as a consumer of a queue, or stay one."""
    ttl = span(said, "ttl") or timedelta(0)
    found = await call.run(lambda: call.store.consumers.beat(said.queue, said.consumer, ttl))
    return wire.Membership(index=found.index, count=found.count, joined=found.joined)


async def retire(call: Call, said: wire.RetireRequest) -> wire.RetireResponse:
    """Be a consumer no longer."""
    changed = await call.run(lambda: call.store.consumers.retire(said.queue, said.consumer))
    return wire.RetireResponse(changed=changed)


async def list_consumers(call: Call, said: wire.ListConsumersRequest) -> wire.ListConsumersResponse:
    """List the consumers that are alive, of one queue or of all that the caller may read."""
    found = await call.run(lambda: call.store.consumers.list(said.queue or None))
    shown = [each for each in found if call.principal.may(Right.READ, each.queue)]
    return wire.ListConsumersResponse(consumers=[writing.consumer(each) for each in shown])


async def get_store(call: Call, said: wire.GetStoreRequest) -> wire.Store:  # noqa: ARG001
    """What the store's clock says, and what an acknowledged write survives."""
    now, durability = await call.run(lambda: (call.store.now(), call.store.durability))
    return wire.Store(now=stamp(now), durability=durability.grade, because=durability.because)


def _name(said: Any) -> tuple[str]:
    return (said.name,)


def _queue(said: Any) -> tuple[str]:
    return (said.queue,)


def _both(said: wire.BindRequest) -> tuple[str, str]:
    return (said.topic, said.queue)


def _method(name: str, handle: Any, right: Right, over: Any, request: Any, response: Any) -> Method:
    return Method(name=name, handle=handle, right=right, over=over, request=request, response=response)


def _nobody(_said: Any) -> tuple[()]:
    """Whoever may enter: it is about no queue."""
    return ()


METHODS = (
    _method("Bind", bind, Right.MANAGE, _both, wire.BindRequest, wire.BindResponse),
    _method("Unbind", unbind, Right.MANAGE, _both, wire.BindRequest, wire.BindResponse),
    _method(
        "ListBindings", list_bindings, Right.READ, None, wire.ListBindingsRequest, wire.ListBindingsResponse
    ),
    _method("PutQueue", put_queue, Right.MANAGE, _name, wire.PutQueueRequest, wire.Queue),
    _method("GetQueue", get_queue, Right.READ, _name, wire.QueueRequest, wire.Queue),
    _method("ListQueues", list_queues, Right.READ, None, wire.ListQueuesRequest, wire.ListQueuesResponse),
    _method("DropQueue", drop_queue, Right.MANAGE, _name, wire.QueueRequest, wire.DropQueueResponse),
    _method("PurgeQueue", purge_queue, Right.MANAGE, _name, wire.QueueRequest, wire.PurgeQueueResponse),
    _method("GetStats", get_stats, Right.READ, _name, wire.QueueRequest, wire.Stats),
    _method("Wait", wait, Right.CLAIM, lambda said: said.queues, wire.WaitRequest, wire.WaitResponse),
    _method("Beat", beat, Right.CLAIM, _queue, wire.BeatRequest, wire.Membership),
    _method("Retire", retire, Right.CLAIM, _queue, wire.RetireRequest, wire.RetireResponse),
    _method(
        "ListConsumers",
        list_consumers,
        Right.READ,
        None,
        wire.ListConsumersRequest,
        wire.ListConsumersResponse,
    ),
    _method("GetStore", get_store, Right.READ, _nobody, wire.GetStoreRequest, wire.Store),
)
