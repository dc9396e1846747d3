"""The settings of queues, as they were a moment ago: no message should cost a look at them."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rowmq.core.queue import Queue
from rowmq.core.store import Store
from rowmq.doors.http.call import Broker
from rowmq.doors.http.sqs.errors import no_queue

FRESH = 1.0
"""Seconds for which settings read are taken for the present ones. AWS allows itself sixty."""
MOST = 10_000
Change = Callable[[Queue], Mapping[str, Any]]


class _Seen(NamedTuple):
    queue: Queue
    until: float


class Known:
    """Queues by name. What is changed through this process is known at once."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

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
        """Change settings according to what they are now; one such change of a queue after the other."""
        async with self._locks[name]:
            queue = await broker.gather.run(lambda: changed(broker.store, name, change))
            self._keep(queue)
            return queue

    def forget(self, name: str) -> None:
        """It is not what it was."""
        self._seen.pop(name, None)

    def _keep(self, queue: Queue) -> None:
        if len(self._seen) >= MOST:
            self._seen.clear()
        self._seen[queue.name] = _Seen(queue, time.monotonic() + FRESH)


def changed(store: Store, name: str, change: Change) -> Queue:
    """Read the queue, and change what is to be changed. Raises Fault if there is none."""
    queue = store.queues.get(name)
    if queue is None:
        raise no_queue()
    return store.queues.put(name, change(queue))
