"""Waiting for messages: an entry in a list for each queue, not a thread, a connection or a query each."""

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from rowmq.core.delivery import Delivery, Want
from rowmq.core.errors import StoreError
from rowmq.core.store import Store
from rowmq.runtime.log import event, first_line, logger

SLICE = timedelta(seconds=0.25)
"""How long the listening thread sleeps at most before it looks again who waits for what."""
PAUSE = 0.005
"""Seconds between two wake-ups by the store, so that a busy one is not heard ten thousand times."""
POLL = 1.0
"""Seconds between two looks at a queue that nothing was heard of: a lease may have ended there."""
SHARE = 0.01
"""Seconds of that for each queue waited for, so that a thousand of them cost no more than a hundred."""
Claiming = Callable[[str, Sequence[Want]], Awaitable[list[list[Delivery]]]]


@dataclass(slots=True, eq=False)
class Waiter:
    """Somebody who waits for messages; without a want, only to hear that some may have come."""

    want: Want | None
    future: asyncio.Future[list[Delivery]]

    def answer(self, deliveries: list[Delivery]) -> None:
        """Let it go on, if it still waits."""
        if not self.future.done():
            self.future.set_result(deliveries)


class Line:
    """Those who wait for one queue, oldest first, and whether a claim for them is under way."""

    def __init__(self) -> None:
        self.waiters: dict[Waiter, None] = {}
        self.looking = False
        self.rung = 0
        self.seen = time.monotonic()

    def next(self, count: int) -> list[tuple[Waiter, Want]]:
        """Whom a claim is for: so many of those who take anything, and all who are choosy."""
        present = [(each, each.want) for each in self.waiters if each.want and not each.future.done()]
        plain = [(each, want) for each, want in present if not want.choosy]
        return plain[:count] + [(each, want) for each, want in present if want.choosy]


class LongPolls:
    """All who wait, by queue. Everything but the one thread's listening happens in the event loop."""

    def __init__(
        self, store: Store, claim: Claiming, give_back: Callable[[Sequence[Delivery]], None]
    ) -> None:
        self._store, self._claim, self._give_back = store, claim, give_back
        self._lines: dict[str, Line] = {}
        self._looks: set[asyncio.Task[None]] = set()
        self._resting = self._closed = False
        self._someone = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="rowmq-longpolls", daemon=True)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin."""
        self._loop = loop
        self._thread.start()
        self._ticking = loop.call_later(POLL, self._tick)

    @property
    def waiting(self) -> int:
        """How many wait; who waits for several queues counts for each."""
        return sum(len(line.waiters) for line in list(self._lines.values()))

    @property
    def resting(self) -> bool:
        """Whether nobody may wait any longer."""
        return self._resting

    def rest(self) -> None:
        """Let nobody wait any longer, now or later."""
        self._resting = True
        for line in self._lines.values():
            for waiter in line.waiters:
                waiter.answer([])

    async def close(self) -> None:
        """Rest, finish what is under way, and end the thread."""
        self.rest()
        self._ticking.cancel()
        self._closed = True
        self._someone.set()
        await asyncio.gather(*self._looks)
        await self._loop.run_in_executor(None, self._thread.join)

    async def claim(self, queue: str, want: Want, seconds: float) -> list[Delivery]:
        """What the want gets before the time is over."""
        if self._resting:
            return (await self._claim(queue, [want]))[0]
        waiter = self._enter([queue], want)
        self._look_at(queue, 1)
        try:
            return await self._until(waiter, [queue], seconds)
        except asyncio.CancelledError:
            if waiter.future.done() and not waiter.future.cancelled() and not waiter.future.exception():
                self._give_back(waiter.future.result())
            raise

    async def wait(self, queues: Sequence[str], seconds: float) -> bool:
        """Whether something may have come for one of the queues before the time was over."""
        if self._resting:
            return False
        end, names = time.monotonic() + seconds, list(dict.fromkeys(queues))
        await self._until(self._enter(names, None), names, seconds)
        return not self._resting and time.monotonic() < end

    def ring(self, queue: str, count: int = 1) -> None:
        """So many messages may have come."""
        line = self._lines.get(queue)
        if line is not None:
            for waiter in line.waiters:
                if waiter.want is None:
                    waiter.answer([])
            self._look_at(queue, count)

    def _enter(self, queues: Sequence[str], want: Want | None) -> Waiter:
        waiter = Waiter(want, self._loop.create_future())
        for queue in queues:
            self._lines.setdefault(queue, Line()).waiters[waiter] = None
        self._someone.set()
        return waiter

    async def _until(self, waiter: Waiter, queues: Sequence[str], seconds: float) -> list[Delivery]:
        timer = self._loop.call_later(seconds, waiter.answer, [])
        try:
            return await waiter.future
        finally:
            timer.cancel()
            for queue in queues:
                self._leave(queue, waiter)

    def _leave(self, queue: str, waiter: Waiter) -> None:
        line = self._lines[queue]
        line.waiters.pop(waiter, None)
        if not line.waiters and not line.looking:
            self._lines.pop(queue)

    def _look_at(self, queue: str, count: int) -> None:
        """Claim for who waits; if that is being done, have it done once more, for what came meanwhile."""
        line = self._lines[queue]
        line.rung += count
        if not line.looking:
            line.looking = True
            look = self._loop.create_task(self._look(queue, line))
            self._looks.add(look)
            look.add_done_callback(self._looks.discard)

    async def _look(self, queue: str, line: Line) -> None:
        while line.rung:
            count, line.rung = line.rung, 0
            while await self._serve(queue, line, count):
                count *= 2
        line.looking, line.seen = False, time.monotonic()
        if not line.waiters:
            self._lines.pop(queue, None)

    async def _serve(self, queue: str, line: Line, count: int) -> bool:
        """One claim, oldest waiter first; whether more may be there, and somebody to want it."""
        asked = line.next(count)
        if not asked:
            return False
        try:
            found = await self._claim(queue, [want for _, want in asked])
        except Exception as error:  # noqa: BLE001 - it is the answer of those it was for
            for waiter, _ in asked:
                if not waiter.future.done():
                    waiter.future.set_exception(error)
            return not isinstance(error, StoreError)
        for (waiter, _), deliveries in zip(asked, found, strict=True):
            self._hand(waiter, deliveries)
        return all(found)

    def _hand(self, waiter: Waiter, deliveries: list[Delivery]) -> None:
        """Give what was found, or give it back if its waiter has gone meanwhile."""
        if not deliveries:
            return
        if waiter.future.done():
            self._give_back(deliveries)
        else:
            waiter.answer(deliveries)

    def _tick(self) -> None:
        """Look at the queues that nothing was heard of for a while."""
        long_ago = time.monotonic() - max(POLL, SHARE * len(self._lines))
        for queue, line in list(self._lines.items()):
            if not line.looking and line.seen <= long_ago:
                self._look_at(queue, 1)
        self._ticking = self._loop.call_later(POLL / 4, self._tick)

    def _listen(self) -> None:
        """In the thread: wait for the store's hints, for all queues that somebody waits for."""
        while not self._closed:
            queues = list(self._lines)  # atomic
            if queues:
                self._hear(queues)
            else:
                self._someone.wait()
                self._someone.clear()

    def _hear(self, queues: Sequence[str]) -> None:
        try:
            woken = self._store.wait(queues, SLICE)
        except Exception as error:  # noqa: BLE001 - the thread must outlive whatever goes wrong; polls go on
            event(logger, logging.WARNING, "longpoll.failed", reason=first_line(str(error)))
            time.sleep(POLL)
        else:
            if woken and not self._closed:
                self._loop.call_soon_threadsafe(self._ring_all, queues)
                time.sleep(PAUSE)

    def _ring_all(self, queues: Sequence[str]) -> None:
        for queue in queues:
            self.ring(queue)
