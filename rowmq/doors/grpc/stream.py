"""Subscribe: messages one way, what became of them the other way."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from grpc import StatusCode

from rowmq.core.delivery import Delivery, Settlement, Want
from rowmq.core.errors import StoreError
from rowmq.core.outcome import ACK, Settled
from rowmq.core.where import holds
from rowmq.doors.grpc import subscription
from rowmq.doors.grpc.call import Call
from rowmq.doors.grpc.messages import LARGEST_BATCH, LONGEST_WAIT
from rowmq.doors.grpc.method import Method
from rowmq.doors.grpc.receipts import sealing
from rowmq.doors.grpc.status import Denied, invalid
from rowmq.doors.grpc.subscription import Subscription
from rowmq.doors.grpc.unsettled import Unsettled
from rowmq.doors.right import Right
from rowmq.stores.grpc import reading, writing
from rowmq.stores.grpc import rowmq_pb2 as wire
from rowmq.stores.grpc.times import span

CREDIT, MOST_CREDIT = 1000, LARGEST_BATCH
HEAVIEST = 32 * 2**20
"""How many bytes may be sent and not settled, unless a single message has more."""
FRAME = 2**20
"""How many bytes of messages go into one answer, unless a single one has more."""
SHORTEST = timedelta(seconds=0.1)
"""How often leases are extended at most."""
ANSWERS = 64
"""How many answers to settlements may wait for a client that does not read them."""
Responses = AsyncIterator[wire.SubscribeResponse]


async def subscribe(call: Call, requests: AsyncIterator[wire.SubscribeRequest]) -> Responses:
    """Have messages sent as they come, and settle them over the same stream."""
    start = await _start(requests)
    found = await subscription.subscription(call, start)
    yield wire.SubscribeResponse(
        started=wire.Started(queue=found.queue, resume=found.queue if found.own else "")
    )
    stream = Stream(call, found, start)
    stream.enter()
    try:
        async for response in stream.responses(requests):
            yield response
    finally:
        stream.close()


async def _start(requests: AsyncIterator[wire.SubscribeRequest]) -> wire.Start:
    async for said in requests:
        if said.HasField("start"):
            subscription.check(said.start)
            return said.start
        break
    raise invalid("the first request of a subscription starts it: it needs start")


class Stream:
    """A subscription under way: what was sent and is not settled yet is never more than its credit."""

    def __init__(self, call: Call, found: Subscription, said: wire.Start) -> None:
        if said.credit > MOST_CREDIT:
            raise invalid(f"credit is at most {MOST_CREDIT}, not {said.credit}")
        self._call, self._found, self._credit = call, found, said.credit or CREDIT
        self._where = reading.conditions(said.where)
        self._lease, self._consumer = span(said, "lease"), reading.optional(said, "consumer")
        self._want(1)  # what no want may have is refused now
        self._sent = Unsettled()
        self._guess = HEAVIEST // 16
        """How many bytes the next message may have: as many as the largest of the last ones."""
        self._answers: asyncio.Queue[wire.SubscribeResponse | Exception | None] = asyncio.Queue(ANSWERS)
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Event()

    def enter(self) -> None:
        """Be the one stream here that reads a subscription of its own."""
        if self._found.own:
            self._call.broker.streams.enter(self._found.queue, self)

    async def responses(self, requests: AsyncIterator[wire.SubscribeRequest]) -> Responses:
        """What goes to the client, until it says no more or something goes wrong."""
        for work in (self._read(requests), self._send(), self._hold()):
            self._begin(work)
        if self._found.own:
            self._begin(self._stay())
        while (answer := await self._answers.get()) is not None:
            if isinstance(answer, Exception):
                raise answer
            yield answer

    def replaced(self) -> None:
        """Another stream goes on with the subscription: stop, even if this one's client reads nothing."""
        self.close()
        while not self._answers.empty():
            self._answers.get_nowait()
        self._answers.put_nowait(Denied(StatusCode.ABORTED, "another stream goes on with this subscription"))

    def close(self) -> None:
        """End, and give back what was not settled."""
        self._call.broker.streams.leave(self._found.queue, self)
        for task in self._tasks:
            task.cancel()
        self._call.gather.give_back(self._sent.deliveries())
        self._sent.clear()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(self._told(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _told(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - whatever it is, the client is told
            await self._answers.put(error)

    async def _read(self, requests: AsyncIterator[wire.SubscribeRequest]) -> None:
        async for said in requests:
            if said.HasField("start"):
                raise invalid("a subscription is started once")
            await self._answers.put(await self._settle(said))
            if said.end:
                await self._end()
                break
        await self._answers.put(None)

    async def _end(self) -> None:
        """Nobody will come back. That requests cease says nothing: a broken connection looks the same."""
        if self._found.own:
            for other in self._tasks - {asyncio.current_task()}:  # they would miss the queue
                other.cancel()
            await self._call.run(lambda: self._call.store.queues.drop(self._found.queue))
            self._sent.clear()

    async def _settle(self, said: wire.SubscribeRequest) -> wire.SubscribeResponse:
        single = {each.receipt: each for each in said.settlements if each.receipt in self._sent}
        done = {text: number for text, number in self._sent.upto(said.upto).items() if text not in single}
        asked = [Settlement(self._sent[text], reading.outcome(each)) for text, each in single.items()]
        asked += [Settlement(self._sent[text], ACK) for text in done]
        answers = await self._call.gather.settle(asked) if asked else []
        known = dict(zip((*single, *done), answers, strict=True))
        self._free(known)
        return wire.SubscribeResponse(
            upto=said.upto,
            results=[writing.settled(known.get(each.receipt, Settled.LOST)) for each in said.settlements],
            lost=[number for text, number in done.items() if known[text] is Settled.LOST],
        )

    def _free(self, receipts: Iterable[str]) -> None:
        self._sent.free(receipts)
        self._room.set()

    async def _send(self) -> None:
        while True:
            limit = await self._limit()
            found = await self._call.gather.claim(self._found.queue, self._want(limit), wait=LONGEST_WAIT)
            if not found and self._call.gather.resting:
                raise Denied(StatusCode.UNAVAILABLE, "the server is stopping; subscribe again in a moment")
            self._guess = max((len(each.body) for each in found), default=self._guess)
            for frame in self._frames(await self._chosen(found)):
                await self._answers.put(frame)

    async def _limit(self) -> int:
        """How many may be claimed, once it is worth it."""
        while (room := self._credit - len(self._sent)) < max(1, self._credit // 10) or (
            self._sent and self._sent.bytes > HEAVIEST
        ):
            self._room.clear()
            await self._room.wait()
        return max(1, min(room, CREDIT, (HEAVIEST - self._sent.bytes) // max(self._guess, 1)))

    def _want(self, limit: int) -> Want:
        where = () if self._found.own else self._where
        return Want(limit=limit, lease=self._lease, consumer=self._consumer, share=False, where=where)

    async def _chosen(self, found: Sequence[Delivery]) -> list[Delivery]:
        """What meets the conditions; in a queue of its own, nobody else would ever take the others."""
        if not (self._found.own and self._where):
            return list(found)
        chosen = [each for each in found if holds(self._where, each.metadata)]
        others = [Settlement(each.receipt, ACK) for each in found if not holds(self._where, each.metadata)]
        if others:
            await self._call.gather.settle(others)
        return chosen

    def _frames(self, found: Sequence[Delivery]) -> list[wire.SubscribeResponse]:
        frames: list[wire.SubscribeResponse] = []
        receipt, size = sealing(self._call.broker.seal), 0
        for each in found:
            text = receipt(each)
            number = self._sent.add(text, each)
            if not frames or size + len(each.body) > FRAME:
                frames.append(wire.SubscribeResponse())
                size = 0
            size += len(each.body)
            frames[-1].messages.append(writing.delivered(each, text, number))
        return frames

    async def _hold(self) -> None:
        """Let nobody else have what the client still works on, as long as its stream lives."""
        while True:
            lease = self._lease or await subscription.lease(self._call, self._found)
            await asyncio.sleep(max(lease / 3, SHORTEST).total_seconds())
            with suppress(StoreError):  # it will be there again, or the claims tell
                if held := [each.receipt for each in self._sent.deliveries()]:
                    await self._call.gather.extend(held, lease)

    async def _stay(self) -> None:
        """Let the subscription live as long as its stream, and the stream as long as it is the only one."""
        while True:
            with suppress(StoreError):  # the same
                if not await subscription.keep(self._call, self._found):
                    return self.replaced()
            await asyncio.sleep((subscription.ALIVE / subscription.BEATS).total_seconds())


METHOD = Method(
    name="Subscribe",
    handle=subscribe,
    right=Right.CLAIM,
    request=wire.SubscribeRequest,
    response=wire.SubscribeResponse,
    streams_in=True,
    streams_out=True,
)
