"""Group commit: what many callers ask for at the same time becomes one call of the store for each kind.

Callers are tasks of an event loop; one thread talks to the store. While it writes, the next batch gathers,
so the busier it is the more each commit carries. Settlements go before claims and claims before pushes:
under overload, leases stay honest.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from rowmq.core.delivery import Claim, Delivery, Receipt, Settlement, Want
from rowmq.core.errors import OutcomeUnknown, Overloaded, RowMQError, StoreError, StoreUnavailable
from rowmq.core.message import Batch, Message, Pushed
from rowmq.core.outcome import Release, Settled
from rowmq.core.store import Store
from rowmq.runtime.longpoll import LongPolls
from rowmq.runtime.publishing import Publishing

CALLERS = 10_000
"""How many callers may wait before the next one is turned away."""
LARGEST = 2000
"""How many callers of one kind share a call of the store."""
HEAVIEST = 16 * 2**20
"""How many bytes of pushes share one, unless a single caller has more."""
ROOM = 256 * 2**20
"""How many bytes of pushes may wait."""
LINGER = 0.02
"""Seconds for which the event loop goes on gathering, at most, while callers keep coming."""
HOPE = 0.002
"""Seconds for which it waits for half as many as came the last time: who was answered often asks again."""
HANDS = 4
"""Threads for everything that is not gathered."""
ASIDE = 4
"""Threads for what people look at and have done in bulk, so that programs never wait for it."""
Held = Receipt | Claim
T = TypeVar("T")
Called = Callable[[Sequence[Any]], Sequence[Any]]
"""One call of the store: what many callers asked for, and an answer for each."""
Around = Callable[[str, Called], Called]
"""Makes of a call and its verb another such call."""


@dataclass(slots=True, eq=False)
class Ask:
    """What one caller wants done, and where its answer goes."""

    what: Any
    future: asyncio.Future[Any]
    weight: int = 0


class Lane:
    """The asks of one kind that wait, and the one call of the store that answers many of them."""

    def __init__(self, call: Called) -> None:
        self._call = call
        self.waiting: list[Ask] = []

    def take(self) -> list[Ask]:
        """The asks of the next call. Only one thread takes, and only one adds, at the end."""
        count, weight = 0, 0
        for ask in self.waiting[:LARGEST]:
            weight += ask.weight
            if count and weight > HEAVIEST:
                break
            count += 1
        taken = self.waiting[:count]
        del self.waiting[:count]
        return taken

    def answers(self, asks: Sequence[Ask]) -> Sequence[Any]:
        """What each ask gets, its result or its error; a call that fails is made again for each alone.

        If the store is away, or nobody knows whether it wrote, that is everybody's answer.
        """
        try:
            return self._call([ask.what for ask in asks])
        except (StoreUnavailable, OutcomeUnknown) as error:
            return [error] * len(asks)
        except Exception as error:  # noqa: BLE001 - whatever it is, its caller gets it
            return [error] if len(asks) == 1 else [self.answers([ask])[0] for ask in asks]


class Gather:
    """The store, for the many callers of an event loop. Start it inside the loop, and close it there.

    A caller cancelled before its turn takes no part. One cancelled later: a push or settlement stands,
    a claim is given back with its attempt. ``around`` may hang something around each call of the store.
    """

    def __init__(self, store: Store, around: Around | None = None) -> None:
        self.store = store
        hung = around or _bare
        self._settles, self._extends = Lane(hung("settle", self._settle)), Lane(hung("extend", self._extend))
        self._claims, self._pushes = Lane(hung("claim", self._claim)), Lane(hung("push", store.push))
        self._publishes = Lane(hung("publish", Publishing(store)))
        self._lanes = (self._settles, self._extends, self._claims, self._pushes, self._publishes)
        self._changed = threading.Condition()
        self._closed = self._waking = False
        self._came = self._expected = 0
        self._since = 0.0
        self._bytes = 0
        self._hands = ThreadPoolExecutor(HANDS, thread_name_prefix="rowmq-hand")
        self._aside = ThreadPoolExecutor(ASIDE, thread_name_prefix="rowmq-aside")
        self._thread = threading.Thread(target=self._run, name="rowmq-gather", daemon=True)
        self._polls = LongPolls(store, self._claimed, self.give_back)
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begin, in the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        self._polls.start(self._loop)

    async def close(self) -> None:
        """Answer who waits for messages, do what was asked for, and end."""
        await self._polls.close()
        await asyncio.gather(*self._tasks)
        with self._changed:
            self._closed = True
            self._changed.notify()
        await self._loop.run_in_executor(None, self._thread.join)
        self._hands.shutdown(wait=False)
        self._aside.shutdown(wait=False)

    def rest(self) -> None:
        """Answer everybody who waits for messages, now and from now on, with what there is."""
        self._polls.rest()

    @property
    def resting(self) -> bool:
        """Whether nobody may wait for messages any more."""
        return self._polls.resting

    @property
    def waiting(self) -> int:
        """How many callers wait for the store."""
        return sum([len(lane.waiting) for lane in self._lanes])

    @property
    def polling(self) -> int:
        """How many callers wait for messages."""
        return self._polls.waiting

    async def push(self, batch: Batch) -> Pushed:
        """Push one batch; raises what the store answers it with."""
        weight = sum(len(message.body) for message in batch.messages)
        pushed: Pushed = await self._asked(self._pushes, batch, weight)
        self._polls.ring(batch.queue, len(batch.messages))
        return pushed

    async def publish(self, topic: str, messages: Sequence[Message]) -> int:
        """Publish one batch, and tell how many queues got it; raises what the store answers it with."""
        weight = sum(len(message.body) for message in messages)
        queues: int = await self._asked(self._publishes, (topic, messages), weight)
        return queues

    async def claim(self, queue: str, want: Want, *, wait: timedelta = timedelta(0)) -> list[Delivery]:
        """Claim for one caller, waiting up to that long for something to come."""
        if wait > timedelta(0):
            return await self._polls.claim(queue, want, wait.total_seconds())
        return (await self._claimed(queue, [want]))[0]

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        """Settle; an answer for each."""
        settled: list[Settled] = await self._asked(self._settles, settlements)
        return settled

    async def extend(self, receipts: Sequence[Held], lease: timedelta) -> list[datetime | None]:
        """Extend leases; the new end of each, or None."""
        ends: list[datetime | None] = await self._asked(self._extends, (receipts, lease))
        return ends

    async def wait(self, queues: Sequence[str], patience: timedelta) -> bool:
        """Whether something may have been pushed to one of the queues before the time was over."""
        return await self._polls.wait(queues, patience.total_seconds())

    def ring(self, queue: str, count: int = 1) -> None:
        """Let who waits for the queue look again: so many messages may have come back."""
        self._polls.ring(queue, count)

    async def run(self, call: Callable[[], T]) -> T:
        """Anything else, in a thread of a few."""
        return await self._loop.run_in_executor(self._hands, call)

    async def aside(self, call: Callable[[], T]) -> T:
        """What may take long, in a thread of a few others: nobody waits for it but who asks aside, too."""
        return await self._loop.run_in_executor(self._aside, call)

    def give_back(self, deliveries: Sequence[Delivery]) -> None:
        """Release what nobody is there for any more; the attempt does not count."""
        if deliveries and not self._closed:
            task = self._loop.create_task(self._release(deliveries))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _release(self, deliveries: Sequence[Delivery]) -> None:
        with suppress(StoreError):  # then they come back when their leases end
            await self.settle([Settlement(delivery.receipt, Release()) for delivery in deliveries])
            for queue, count in Counter(delivery.queue for delivery in deliveries).items():
                self._polls.ring(queue, count)

    async def _claimed(self, queue: str, wants: Sequence[Want]) -> list[list[Delivery]]:
        """One claim of one caller for any number of wants, given back if the caller has gone."""
        self._check_room(0)
        future: asyncio.Future[list[list[Delivery]]] = self._loop.create_future()
        self._put(self._claims, Ask((queue, wants), future))
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self._give_back_all(future.result())
            raise

    async def _asked(self, lane: Lane, what: Any, weight: int = 0) -> Any:
        self._check_room(weight)
        future: asyncio.Future[Any] = self._loop.create_future()
        self._put(lane, Ask(what, future, weight))
        return await future

    def _check_room(self, weight: int) -> None:
        if self._closed:
            raise StoreUnavailable("the server is stopping; ask again in a moment")
        if self.waiting >= CALLERS:
            raise Overloaded(f"more than {CALLERS} callers are waiting; ask again in a moment")
        if weight and self._bytes + weight > ROOM:
            raise Overloaded(f"more than {ROOM} bytes are waiting to be stored; push again in a moment")

    def _put(self, lane: Lane, ask: Ask) -> None:
        """Have it done soon, together with what else comes."""
        lane.waiting.append(ask)  # atomic; the lock is only for waking
        self._bytes += ask.weight
        self._came += 1
        if not self._waking:
            self._waking, self._since = True, time.monotonic()
            self._loop.call_soon(self._gathered, self._came)

    def _gathered(self, came: int) -> None:
        """Begin once nobody else came in a turn of the event loop and nobody is expected, or it is time."""
        spent = time.monotonic() - self._since
        if (self._came > came and spent < LINGER) or (self._came < self._expected and spent < HOPE):
            self._loop.call_soon(self._gathered, self._came)
        else:
            self._wake()

    def _wake(self) -> None:
        """Let the thread begin."""
        self._waking, self._expected = False, self._came + self.waiting // 2
        with self._changed:
            self._changed.notify()

    def _run(self) -> None:
        while self._next():
            for lane in self._lanes:
                self._serve(lane)

    def _next(self) -> bool:
        """Sleep until somebody asks; False when it is time to end and nothing is left."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or any(lane.waiting for lane in self._lanes))
            return any(lane.waiting for lane in self._lanes)

    def _serve(self, lane: Lane) -> None:
        taken = lane.take()
        if taken:
            asks = [ask for ask in taken if not ask.future.done()]
            answers = lane.answers(asks) if asks else []
            self._loop.call_soon_threadsafe(self._resolve, lane, taken, asks, answers)

    def _resolve(self, lane: Lane, taken: Sequence[Ask], asks: Sequence[Ask], answers: Sequence[Any]) -> None:
        """In the event loop: hand out the answers; what was claimed for one who has gone goes back."""
        self._bytes -= sum(ask.weight for ask in taken)
        for ask, answer in zip(asks, answers, strict=True):
            if ask.future.done():
                if lane is self._claims and not isinstance(answer, Exception):
                    self._give_back_all(answer)
            elif isinstance(answer, Exception):
                ask.future.set_exception(answer)
            else:
                ask.future.set_result(answer)

    def _give_back_all(self, answer: Sequence[Sequence[Delivery]]) -> None:
        self.give_back([delivery for deliveries in answer for delivery in deliveries])

    def _settle(self, asked: Sequence[Sequence[Settlement]]) -> list[Any]:
        answers = iter(self.store.settle([each for settlements in asked for each in settlements]))
        return [[next(answers) for _ in settlements] for settlements in asked]

    def _extend(self, asked: Sequence[tuple[Sequence[Held], timedelta]]) -> list[Any]:
        ends: dict[int, list[datetime | None]] = {}
        for lease in {lease for _, lease in asked}:
            places = [place for place, (_, each) in enumerate(asked) if each == lease]
            answers = iter(self.store.extend([held for place in places for held in asked[place][0]], lease))
            ends |= {place: [next(answers) for _ in asked[place][0]] for place in places}
        return [ends[place] for place in range(len(asked))]

    def _claim(self, asked: Sequence[tuple[str, Sequence[Want]]]) -> list[Any]:
        """One call for each queue; a queue that is not there is only its own callers' trouble."""
        answers: dict[int, Any] = {}
        for queue in dict.fromkeys(queue for queue, _ in asked):
            places = [place for place, (each, _) in enumerate(asked) if each == queue]
            try:
                found = iter(self.store.claim(queue, [want for place in places for want in asked[place][1]]))
            except RowMQError as error:
                answers |= dict.fromkeys(places, error)
            else:
                answers |= {place: [next(found) for _ in asked[place][1]] for place in places}
        return [answers[place] for place in range(len(asked))]


def _bare(_verb: str, call: Called) -> Called:
    return call
