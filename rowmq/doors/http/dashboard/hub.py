"""Those who watch pages, and the one loop that looks for all of them."""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence

from rowmq.core.errors import StoreError
from rowmq.doors.http.dashboard.look import Sight, Watching
from rowmq.doors.http.dashboard.row import Cell
from rowmq.doors.http.refusal import Refusal
from rowmq.runtime.gather import Gather
from rowmq.runtime.log import event, first_line, logger

MOST = 300
"""How many may watch at once in one process."""
PAUSE, TIMES, LONGEST = 0.9, 20.0, 1.5
"""Seconds between two looks: at least; so many times as long as the last one took; and at most."""
PATIENCE = 2.0
"""Seconds until the next look after one that failed."""
SLICE = 0.25
"""Seconds in which it is noticed that the server stops, or that nobody watches any more."""
BEAT = 10.0
"""Seconds after which something is sent although nothing has changed, so that nobody hangs up."""
Look = Callable[[Sequence[Watching]], Sight]
"""One look at the store, away from the event loop."""


class Viewer(Watching):
    """Somebody who watches: what he was sent, and what he is to be sent next."""

    def __init__(self) -> None:
        self._ended = False
        self._sent: dict[str, Cell] = {}
        self._next: list[bytes] = []
        self._woken = asyncio.Event()

    @property
    def over(self) -> bool:
        """Whether his stream is to end: not before he was sent all that was said to him."""
        return self._ended and not self._next

    def is_known(self) -> bool:
        """Whether he may still watch."""
        raise NotImplementedError

    def offer(self, sight: Sight) -> None:
        """Let him have what has changed since he last took something."""
        raise NotImplementedError

    def say(self, word: str, what: object) -> None:
        """Have an event sent to him."""
        self._next.append(f"event: {word}\ndata: {json.dumps(what)}\n\n".encode())
        self._woken.set()

    def know(self, cells: Mapping[str, Cell]) -> None:
        """Take these for what he sees already."""
        self._sent.update(cells)

    def say_changed(self, cells: Mapping[str, Cell]) -> None:
        """Have sent to him what is not as he knows it."""
        changes = [_change(id, cell) for id, cell in cells.items() if self._sent.get(id) != cell]
        self.know(cells)
        if changes:
            self.say("change", changes)

    def end(self) -> None:
        """Let his stream end."""
        self._ended = True
        self._woken.set()

    async def take(self, patience: float) -> bytes:
        """What is to be sent next, waiting up to that long; nothing if there was nothing."""
        try:
            async with asyncio.timeout(patience):
                await self._woken.wait()
        except TimeoutError:
            return b""
        self._woken.clear()
        taken, self._next = b"".join(self._next), []
        return taken


def _change(id: str, cell: Cell) -> list[str | None]:
    return [id, cell.kind, cell.value, cell.looks]


class Hub:
    """Looks at the store while anybody watches, and tells each what has changed."""

    def __init__(self) -> None:
        self._viewers: set[Viewer] = set()
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._viewers)

    def check_room(self) -> None:
        """Refuse one more than there may be."""
        if len(self._viewers) >= MOST:
            raise Refusal(
                503,
                f"{MOST} pages are being watched already; this one does not change by itself",
                {"retry-after": "10"},
            )

    def enter(self, viewer: Viewer, gather: Gather, look: Look) -> None:
        """Have somebody watch; the first one starts the loop."""
        self._viewers.add(viewer)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run(gather, look))

    def leave(self, viewer: Viewer) -> None:
        """Forget somebody."""
        self._viewers.discard(viewer)

    async def _run(self, gather: Gather, look: Look) -> None:
        failing = False
        while self._viewers and not gather.resting:
            started = time.monotonic()
            try:
                await self._look(gather, look)
                pause, failing = pause_after(time.monotonic() - started), False
            except Exception as error:  # noqa: BLE001 - the loop must outlive whatever goes wrong
                if not failing:
                    _complain(error)
                    self._say_trouble()
                pause, failing = PATIENCE, True
            await self._rest(gather, pause)
        for viewer in self._viewers:
            viewer.end()

    async def _look(self, gather: Gather, look: Look) -> None:
        for viewer in [each for each in self._viewers if not each.is_known()]:
            viewer.say("over", None)
            viewer.end()
            self.leave(viewer)
        watching = list(self._viewers)
        if watching:
            sight = await gather.aside(lambda: look(watching))
            for viewer in watching:
                viewer.offer(sight)

    async def _rest(self, gather: Gather, pause: float) -> None:
        end, fresh = time.monotonic() + pause, len(self._viewers)
        while self._viewers and not gather.resting and time.monotonic() < end:
            if len(self._viewers) > fresh:
                return  # somebody new need not wait
            await asyncio.sleep(min(SLICE, max(0.0, end - time.monotonic())))

    def _say_trouble(self) -> None:
        for viewer in self._viewers:
            viewer.say("trouble", "The store does not answer")


def pause_after(took: float) -> float:
    """Seconds to rest after a look: a store that is slow is asked less often, and pages stay current.

    >>> pause_after(0.01), pause_after(0.06), pause_after(0.4)
    (0.9, 1.2, 1.5)
    """
    return min(LONGEST, max(PAUSE, TIMES * took))


def _complain(error: Exception) -> None:
    event(
        logger,
        logging.WARNING,
        "http.live",
        exc_info=None if isinstance(error, StoreError) else error,
        error=type(error).__name__,
        reason=first_line(str(error)),
    )
