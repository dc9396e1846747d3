"""Move tasks under way: in the background, one server at a time, and again after a restart."""

import asyncio
import logging
from datetime import timedelta
from uuid import uuid4

from rowmq.core.errors import StoreError
from rowmq.doors.http.call import Broker
from rowmq.doors.http.sqs.errors import Fault
from rowmq.doors.http.sqs.known import Known
from rowmq.doors.http.sqs.moves import active_move, advance, advanced
from rowmq.runtime.log import event, first_line, logger

LEAD = timedelta(seconds=10)
"""How long a server that has gone silent keeps others from going on with its tasks."""
REST = 1.0


class Runner:
    """Runs the move tasks that queues have in their tags."""

    def __init__(self) -> None:
        self._me = uuid4().hex
        self._running: dict[str, asyncio.Task[None]] = {}
        self._resumed = False

    def start(self, broker: Broker, known: Known, source: str) -> None:
        """Go on with a queue's task, unless that is being done here."""
        running = self._running.get(source)
        if running is None or running.done():
            self._running[source] = asyncio.create_task(self._run(broker, known, source))

    async def resume(self, broker: Broker, known: Known) -> None:
        """Go on with what was under way when this server began; once."""
        if self._resumed:
            return
        self._resumed = True
        for queue in await broker.gather.run(broker.store.queues.list):
            if active_move(queue) is not None:
                self.start(broker, known, queue.name)

    async def _run(self, broker: Broker, known: Known, source: str) -> None:
        try:
            pause: float | None = 0.0
            while pause is not None:
                await asyncio.sleep(pause)
                pause = await self._step(broker, known, source)
        except Fault:
            return  # the queue has been deleted, and the task with it
        except Exception as error:  # noqa: BLE001 - whoever lists tasks starts it again
            event(logger, logging.WARNING, "sqs.move_stopped", queue=source, reason=first_line(str(error)))

    async def _step(self, broker: Broker, known: Known, source: str) -> float | None:
        """Move some messages; how long to wait for the next step, None if there is none for us."""
        try:
            return await self._moved(broker, known, source)
        except StoreError as error:
            event(logger, logging.WARNING, "sqs.move_waits", queue=source, reason=first_line(str(error)))
            return REST

    async def _moved(self, broker: Broker, known: Known, source: str) -> float | None:
        move = active_move(await known.look(broker, source))
        if move is None:
            return None
        store, run = broker.store, broker.gather.run
        if not await run(lambda: store.consumers.lead(f"sqs:move:{source}"[:255], self._me, LEAD)):
            return REST
        moved, status, reason = await run(lambda: advance(store, source, move))
        if moved or status != move.status:
            await known.change(
                broker, source, lambda queue: advanced(queue, move.handle, moved, status, reason)
            )
        return move.pause if status == "RUNNING" else None
