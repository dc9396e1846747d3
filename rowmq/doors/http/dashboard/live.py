"""Pages that stay current: a stream of server-sent events that says which elements have changed.

``/ui/live`` takes the query of the front page, and keeps that current; ``/ui/live?queue=NAME`` a queue's
page. Elements are found by their ids: the key of the queue's name (the filter ``key``), ``-`` and one of
``ready``, ``scheduled``, ``leased``, ``dead``, ``oldest``, ``consumers``, ``paused``, ``done``, ``failed``,
``wait``, ``run`` (text), ``done-spark``, ``failed-spark`` (drawn); ``total-ready`` and so on for all queues
of the page; and ``chart-flow``, ``chart-losses``, ``chart-stands``, ``chart-waits``, ``chart-runs`` for the
charts. What a page does not have is passed over. A page that says with ``seen`` which samples it was made
from is sent what is drawn only once there are others.
"""

import time
from collections.abc import AsyncIterator, Sequence
from functools import partial

from rowmq.core.queue import Queue
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard import overview
from rowmq.doors.http.dashboard.board import board_of
from rowmq.doors.http.dashboard.frame import HEADERS
from rowmq.doors.http.dashboard.hub import BEAT, SLICE, Hub, Look, Viewer
from rowmq.doors.http.dashboard.look import Scope, Sight
from rowmq.doors.http.dashboard.standing import monitor_of
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right

STREAM = "text/event-stream; charset=utf-8"
AGAIN = b"retry: 2000\n\n"
"""Browsers that lose the stream come again after two seconds."""
ALIVE = b": alive\n\n"


class Asked(overview.Asked, frozen=True, kw_only=True):
    """Which page is watched: the front page with its query, or that of one queue."""

    queue: str | None = None
    seen: str = ""


class Watcher(Viewer):
    """A page that somebody has open."""

    def __init__(self, call: Call, asked: Asked) -> None:
        super().__init__()
        self._call, self._asked = call, asked
        self._names: list[str] | None = None

    def is_known(self) -> bool:
        """Whether his session or token still counts, and lets him read what he watches."""
        call, queue = self._call, self._asked.queue
        try:
            call.principal = board_of(call.request).sessions.known(call.broker, call.request)
        except Refusal:
            return False
        return queue is None or call.principal.may(Right.READ, queue)

    def choose(self, queues: Sequence[Queue]) -> Sequence[Queue]:
        """The queues on the page."""
        if self._asked.queue is not None:
            return [each for each in queues if each.name == self._asked.queue]
        return overview.choose(queues, self._call.principal, self._asked).shown

    def scope(self, queues: Sequence[Queue]) -> Scope:
        """One queue, or all that he may read."""
        if self._asked.queue is not None:
            return self._asked.reach, frozenset({self._asked.queue})
        return self._asked.reach, overview.choose(queues, self._call.principal, self._asked).allowed

    def offer(self, sight: Sight) -> None:
        """Tell what has changed; and if other queues are there now, that the page has to be loaded again."""
        chosen = self.choose(sight.queues)
        names = [each.name for each in chosen]
        if self._names is not None and names != self._names:
            self.say("stale", None)
        self._names = names
        cells = sight.of(chosen, self.scope(sight.queues))
        if self._asked.seen == sight.mark:
            self.know({id: cell for id, cell in cells.items() if cell.kind == "html"})
        self.say_changed(cells)


async def live(call: Call) -> Answer:
    """What changes on a page, as it does."""
    asked: Asked = call.query
    if asked.queue is not None:
        call.demand(Right.READ, asked.queue)
    board = board_of(call.request)
    board.hub.check_room()
    look = partial(board.looker.look, call.broker.store, monitor_of(call))
    return Answer(200, _stream(call, Watcher(call, asked), board.hub, look), STREAM, HEADERS)


async def _stream(call: Call, viewer: Viewer, hub: Hub, look: Look) -> AsyncIterator[bytes]:
    """As long as somebody reads it and the server runs."""
    hub.enter(viewer, call.broker.gather, look)
    heard = time.monotonic()
    try:
        yield AGAIN
        while not (viewer.over or call.broker.gather.resting or call.request.gone()):
            piece = await viewer.take(SLICE * 4)
            if not piece and time.monotonic() - heard > BEAT:
                piece = ALIVE
            if piece:
                heard = time.monotonic()
                yield piece
    finally:
        hub.leave(viewer)


ROUTES = (Route("GET", "/ui/live", live, Right.READ, late=True, query=Asked, lasts=True),)
