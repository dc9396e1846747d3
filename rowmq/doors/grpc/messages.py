"""The life of messages: push, claim, extend, settle, and publish."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

from rowmq.core.delivery import Settlement
from rowmq.core.message import Batch
from rowmq.core.outcome import Settled
from rowmq.doors.grpc.call import Call
from rowmq.doors.grpc.fitting import fitting
from rowmq.doors.grpc.method import Method
from rowmq.doors.grpc.receipts import opened, sealing
from rowmq.doors.grpc.status import invalid
from rowmq.doors.right import Right
from rowmq.stores.grpc import reading, writing
from rowmq.stores.grpc import rowmq_pb2 as wire
from rowmq.stores.grpc.times import span, stamp

LONGEST_WAIT = timedelta(seconds=20)
LARGEST_BATCH = 10_000
"""How many messages, receipts or settlements one request may have."""
WINDOW, WINDOW_BYTES = 256, 16 * 2**20
"""How many batches of a stream may be under way, and how many bytes of them."""
STORED = "rowmq-stored"
NOTHING = timedelta(0)


async def push(call: Call, said: wire.PushRequest) -> wire.PushResponse:
    """Push a batch of messages to a queue, all or none."""
    _check_size(said.messages)
    return writing.pushed(await call.gather.push(Batch(said.queue, reading.messages(said.messages))))


async def claim(call: Call, said: wire.ClaimRequest) -> wire.ClaimResponse:
    """Claim messages under a lease, waiting for the first of them if told to; as many as an answer holds."""
    wait = min(span(said, "wait") or NOTHING, LONGEST_WAIT)
    found = await call.gather.claim(said.queue, reading.want(said), wait=wait)
    count = fitting(found)
    call.gather.give_back(found[count:])
    call.when_late(lambda: call.gather.give_back(found[:count]))
    receipt = sealing(call.broker.seal)
    return wire.ClaimResponse(messages=[writing.delivered(each, receipt(each)) for each in found[:count]])


async def extend(call: Call, said: wire.ExtendRequest) -> wire.ExtendResponse:
    """Let leases end that long from now."""
    _check_size(said.receipts)
    receipts = opened(call, said.receipts)
    lease = span(said, "lease")
    if lease is None or lease <= NOTHING:
        raise invalid("say how long the lease is to be: longer than 0")
    known = [each for each in receipts if each is not None]
    ends = iter(await call.gather.extend(known, lease) if known else ())
    results = [None if each is None else next(ends) for each in receipts]
    return wire.ExtendResponse(results=[wire.Extended(until=stamp(each)) for each in results])


async def settle(call: Call, said: wire.SettleRequest) -> wire.SettleResponse:
    """Say what became of claimed messages."""
    _check_size(said.settlements)
    receipts = opened(call, [each.receipt for each in said.settlements])
    known = [
        Settlement(receipt, reading.outcome(each))
        for receipt, each in zip(receipts, said.settlements, strict=True)
        if receipt is not None
    ]
    answers = iter(await call.gather.settle(known) if known else ())
    results = [Settled.LOST if each is None else next(answers) for each in receipts]
    return wire.SettleResponse(results=[writing.settled(each) for each in results])


async def publish(call: Call, said: wire.PublishRequest) -> wire.PublishResponse:
    """Publish a batch of messages to every queue bound to a topic, all or none."""
    _check_size(said.messages)
    return wire.PublishResponse(queues=await call.publish(said.topic, reading.messages(said.messages)))


async def publish_stream(
    call: Call, requests: AsyncIterator[wire.PublishRequest]
) -> wire.PublishStreamResponse:
    """Publish many batches; the answer says that all of them are stored."""
    flow = Flow(call)
    try:
        async for said in requests:
            await flow.add(said)
        return await flow.end()
    except BaseException:
        flow.cancel()
        raise


class Flow:
    """Batches of one stream on their way into the store, in order, a bounded number at a time."""

    def __init__(self, call: Call) -> None:
        self._call, self._topic = call, ""
        self._waiting: deque[tuple[asyncio.Task[int], int, int]] = deque()
        self._bytes = self._batches = self._messages = 0

    async def add(self, said: wire.PublishRequest) -> None:
        """Send a batch on its way, once there is room."""
        self._topic = said.topic or self._topic
        self._call.demand(Right.PUSH, self._topic)
        _check_size(said.messages)
        found = reading.messages(said.messages)
        size = sum(len(each.body) for each in found)
        while self._waiting and (len(self._waiting) >= WINDOW or self._bytes + size > WINDOW_BYTES):
            await self._first()
        task = asyncio.ensure_future(self._call.publish(self._topic, found))
        self._waiting.append((task, len(found), size))
        self._bytes += size

    async def end(self) -> wire.PublishStreamResponse:
        """Wait for all of them."""
        while self._waiting:
            await self._first()
        return wire.PublishStreamResponse(batches=self._batches, messages=self._messages)

    def cancel(self) -> None:
        """Stop, and tell how far it came."""
        for task, _, _ in self._waiting:
            task.cancel()
        self._call.context.set_trailing_metadata(((STORED, str(self._batches)),))

    async def _first(self) -> None:
        task, count, size = self._waiting.popleft()
        self._bytes -= size
        await task
        self._batches += 1
        self._messages += count


def _check_size(said: Any) -> None:
    if len(said) > LARGEST_BATCH:
        raise invalid(f"a request has at most {LARGEST_BATCH} messages, this one has {len(said)}")


def _queue(said: Any) -> tuple[str]:
    return (said.queue,)


def _topic(said: Any) -> tuple[str]:
    return (said.topic,)


METHODS = (
    Method(
        name="Push", handle=push, right=Right.PUSH, over=_queue,
        request=wire.PushRequest, response=wire.PushResponse,
    ),
    Method(
        name="Claim", handle=claim, right=Right.CLAIM, over=_queue,
        request=wire.ClaimRequest, response=wire.ClaimResponse,
    ),
    Method(
        name="Extend", handle=extend, right=Right.CLAIM,
        request=wire.ExtendRequest, response=wire.ExtendResponse,
    ),
    Method(
        name="Settle", handle=settle, right=Right.CLAIM,
        request=wire.SettleRequest, response=wire.SettleResponse,
    ),
    Method(
        name="Publish", handle=publish, right=Right.PUSH, over=_topic,
        request=wire.PublishRequest, response=wire.PublishResponse,
    ),
    Method(
        name="PublishStream", handle=publish_stream, right=Right.PUSH, streams_in=True,
        request=wire.PublishRequest, response=wire.PublishStreamResponse,
    ),
)  # fmt: skip
