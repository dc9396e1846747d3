"""What an adapter in Python is made of: a system's calls, and the four ways in which systems run handlers.

It runs in its system's own environment, so this file needs nothing but Python.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import struct
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence
    from concurrent.futures import Future

STEP = struct.Struct("=qq")
PIPE = "PEERS_PIPE"
"""The environment variable with the number of the pipe that handlers in other processes write to."""


class NotOffered(Exception):
    """The system has no such thing, by its own documentation."""


class Peer:
    """One system, as its documentation says to use it."""

    limit: int | None = None
    """The largest batch that it takes; None if it takes any."""
    clients: tuple[str, ...] = ()
    """The packages that it speaks to its store with."""

    def __init__(self) -> None:
        self.handled: list[None] = []
        self.told: Callable[[int, int], None] | None = None
        """Who is told of each message and of when its handler began; nobody while work is timed."""

    # ---- what a system says and does --------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Its version and its settings."""
        raise NotImplementedError

    def open(self, url: str, *, make: bool) -> None:
        """Connect, and make what is needed in an empty place."""
        raise NotImplementedError

    def push(self, message: dict[str, Any]) -> None:
        """Push one message; it is durable on return."""
        raise NotImplementedError

    def push_many(self, messages: Sequence[dict[str, Any]]) -> None:
        """Push many in one call."""
        raise NotOffered(f"it has no call for {len(messages)} messages")

    def start(self) -> None:
        """Begin to work in the background: ``handle`` for each message, then the ack."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop working, in good order."""
        raise NotImplementedError

    def left(self) -> int:
        """How many messages are not finished."""
        raise NotImplementedError

    def close(self) -> None:
        """End what was started beside this process."""

    def servers(self) -> list[int]:
        """The processes it has started that are servers and not clients."""
        return []

    def seed(self, finished: int, body: str) -> int:
        """Make so many finished messages with that JSON in them; how many there are."""
        raise NotOffered(f"nothing to seed {finished} finished messages of {len(body)} bytes with")

    def cycle(self, count: int, seconds: float, size: int, waiting: int, *, fifo: bool) -> dict[str, Any]:
        """Send, receive and delete, one by one: what SQS has."""
        raise NotOffered(f"only SQS has this: {count}, {seconds}, {size}, {waiting}, {fifo}")

    # ---- what all share ---------------------------------------------------------------------------------

    def handle(self, number: int) -> None:
        """The handler, which does nothing but be counted. A list counts in many threads without a lock."""
        self.handled.append(None)
        if self.told is not None:
            self.told(number, time.monotonic_ns())

    def push_each(self, messages: Iterator[dict[str, Any]], until: float) -> int:
        """Push one by one, as fast as one caller can; how many."""
        count = 0
        for message in messages:
            self.push(message)
            count += 1
            if time.monotonic() > until:
                break
        return count

    def push_batches(self, messages: Iterator[dict[str, Any]], batch: int, until: float) -> int:
        """Push in batches; how many."""
        count, size = 0, min(batch, self.limit or batch)
        while some := list(itertools.islice(messages, size)):
            self.push_many(some)
            count += len(some)
            if time.monotonic() > until:
                break
        return count


class AsyncPeer(Peer):
    """A system that lives on an event loop, which runs in a thread of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Do it on the loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Do it on the loop meanwhile; what goes wrong is printed, for the runner to show."""
        found = asyncio.run_coroutine_threadsafe(work, self.loop)
        found.add_done_callback(lambda it: None if it.cancelled() else print(it.exception(), file=sys.stderr))
        return found

    async def apush(self, message: dict[str, Any]) -> None:
        """Push one message."""
        raise NotImplementedError

    def push(self, message: dict[str, Any]) -> None:
        self.run(self.apush(message))

    def push_each(self, messages: Iterator[dict[str, Any]], until: float) -> int:
        return int(self.run(self._push_each(messages, until)))

    async def _push_each(self, messages: Iterator[dict[str, Any]], until: float) -> int:
        count = 0
        for message in messages:
            await self.apush(message)
            count += 1
            if time.monotonic() > until:
                break
        return count


class PullPeer(Peer):
    """A system without workers: a loop takes messages and finishes them, and runs no handler."""

    def __init__(self) -> None:
        super().__init__()
        self._over = threading.Event()
        self._thread = threading.Thread()

    def take(self) -> list[int]:
        """Take some messages and finish them; their numbers."""
        raise NotImplementedError

    def start(self) -> None:
        self._over.clear()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _loop(self) -> None:
        while not self._over.is_set():
            numbers = self.take()
            for number in numbers:
                self.handle(number)
            if not numbers:
                time.sleep(IDLE)


IDLE = 0.001
"""How long a loop without workers sleeps when it found nothing: short, for the sake of its latency."""


class PipePeer(Peer):
    """A system whose handlers run in processes of its own: they tell of each message through a pipe."""

    def __init__(self) -> None:
        super().__init__()
        self._read, write = os.pipe()
        os.set_inheritable(write, True)  # noqa: FBT003 - what it takes
        os.environ[PIPE] = str(write)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        rest = b""
        while given := rest + os.read(self._read, 1 << 16):
            whole = len(given) // STEP.size * STEP.size
            for number, began in STEP.iter_unpack(given[:whole]):
                self.handled.append(None)
                if self.told is not None:
                    self.told(number, began)
            rest = given[whole:]


def tell(number: int) -> None:
    """Say in a handler's process that a message is being handled."""
    os.write(int(os.environ[PIPE]), STEP.pack(number, time.monotonic_ns()))
