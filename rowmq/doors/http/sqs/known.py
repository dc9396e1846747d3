"""The settings of queues, as they were a moment ago: no message should cost a look at them."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import uuid4
from zlib import crc32

from rowmq.core.errors import StoreUnavailable
from rowmq.core.queue import Queue
from rowmq.core.store import Store
from rowmq.doors.http.call import Broker
from rowmq.doors.http.sqs.errors import no_queue

FRESH = 1.0
"""Seconds for which settings read are taken for the present ones. AWS allows itself sixty."""
MOST = 10_000
LEAD = timedelta(seconds=5)
"""How long a server that dies in the middle of a change keeps others from theirs."""
OVER = timedelta(microseconds=1)
PATIENCE, PAUSE = 10.0, 0.005
SLOTS = 64
Change = Callable[[Queue], Mapping[str, Any]]


class _Seen(NamedTuple):
    queue: Queue
    until: float


class Known:
    """Queues by name. What is changed through this process is known at once."""

    def __init__(self) -> None:
        self._me = uuid4().hex
        self._seen: dict[str, _Seen] = {}
        self._locks = [asyncio.Lock() for _ in range(SLOTS)]

    async def get(self, broker: Broker, name: str) -> Queue:
        """The queue. Raises Fault if there is none."""
        seen, now = self._seen.get(name), time.monotonic()
        if seen is not None and seen.until > now:
            return seen.queue
        if seen is not None:  # one looks, and the others go by what was seen until that one knows better
            self._seen[name] = seen._replace(until=now + FRESH)
        return await self.look(broker, name)

    async def look(self, broker: Broker, name: str) -> Queue:
        """The queue as it is in this moment. Raises Fault if there is none."""
        queue = await broker.gather.run(lambda: broker.store.queues.get(name))
        if queue is None:
            self.forget(name)
            raise no_queue()
        self._keep(queue)
        return queue

    async def change(self, broker: Broker, name: str, change: Change) -> Queue:
        """Change settings according to what they are now; one such change after the other, on all servers."""
        async with self._locks[slot(name)]:
            queue = await broker.gather.run(lambda: changed(broker.store, name, change, self._me))
            self._keep(queue)
            return queue

    def forget(self, name: str) -> None:
        """It is not what it was."""
        self._seen.pop(name, None)

    def _keep(self, queue: Queue) -> None:
        if len(self._seen) >= MOST:
            self._seen.clear()
        self._seen[queue.name] = _Seen(queue, time.monotonic() + FRESH)


def changed(store: Store, name: str, change: Change, me: str) -> Queue:
    """Read the queue, and change what is to be changed. Raises Fault if there is none."""
    with _alone(store, f"sqs:change:{slot(name)}", me):
        queue = store.queues.get(name)
        if queue is None:
            raise no_queue()
        return store.queues.put(name, change(queue))


def slot(name: str) -> int:
    """Which of a few locks a queue shares with others: a store remembers every lead that there ever was."""
    return crc32(name.encode()) % SLOTS


@contextmanager
def _alone(store: Store, role: str, me: str) -> Iterator[None]:
    """Keep other servers of the store from doing the same: what both read, only one may write."""
    end = time.monotonic() + PATIENCE
    while not store.consumers.lead(role, me, LEAD):
        if time.monotonic() > end:
            raise StoreUnavailable(f"another server has been changing {role!r} for too long")
        time.sleep(PAUSE)
    try:
        yield
    finally:
        store.consumers.lead(role, me, OVER)
