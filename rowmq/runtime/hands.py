"""The hands of a worker: threads for plain functions, one event loop for async ones."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

from rowmq.runtime.desk import Desk, Handful, Held
from rowmq.runtime.log import event, logger

PATIENCE = 5.0
"""Seconds that cancelled handlers have for coming to their end."""


class Threads:
    """Threads that run plain functions; they are only there if there are any."""

    def __init__(self, desk: Desk, count: int, run: Callable[[Handful], object]) -> None:
        self._desk, self._run = desk, run
        self._count = count
        self._started = False

    def need(self) -> None:
        """Begin, if that has not been done: there is a plain function."""
        if self._started:
            return
        self._started = True
        for number in range(self._count):
            threading.Thread(target=self._work, name=f"rowmq-handler-{number}", daemon=True).start()

    def _work(self) -> None:
        handful = self._desk.take()
        while handful is not None:
            self._run(handful)
            handful = self._desk.take(handful)


class Loop:
    """An event loop in a thread of its own, for async functions; it is only there if there are any."""

    desk: Desk

    def __init__(self, run: Callable[[Held], Awaitable[None]]) -> None:
        self._run = run
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None
        self._closed = False

    def need(self) -> None:
        """Begin, if that has not been done: there is an async function."""
        if self._loop is not None:
            return
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._serve, args=(self._loop,), name="rowmq-loop", daemon=True
        )
        self._thread.start()

    def wake(self) -> None:
        """Something may be waiting; called from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._take_all)

    def close(self) -> None:
        """End; what still runs is cancelled, and what does not heed that is left alone."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._closed = True
        asyncio.run_coroutine_threadsafe(self._cancel_all(loop), loop)
        thread.join(PATIENCE)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._closed:
            try:
                loop.run_forever()
            except BaseException as error:  # noqa: BLE001 - a task that a handler made wants to exit
                event(logger, "error", "worker.loop_failed", exc_info=error)
        loop.close()

    def _take_all(self, done: Held | None = None) -> None:
        held = self.desk.take_async(done)
        while held is not None:
            self._begin(held)
            held = self.desk.take_async()

    def _begin(self, held: Held) -> None:
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._one(held))
        self._tasks.add(task)
        held.cancel = lambda: loop.call_soon_threadsafe(task.cancel)

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            self._take_all(held)

        task.add_done_callback(ended)

    async def _one(self, held: Held) -> None:
        await self._run(held)

    async def _cancel_all(self, loop: asyncio.AbstractEventLoop) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        loop.stop()
