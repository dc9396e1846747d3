"""The numbers of queues, for those who wait for them again and again."""

import time
from collections.abc import Callable, Sequence

from rowmq.stores.recent import Recent
from rowmq.stores.redis.server import Server

FRESH = 5.0
"""Seconds for which a number is believed: a queue that was dropped and made anew has another one."""


class Ids:
    """Remembers the numbers of queues for a while; one that there is not is looked for each time."""

    def __init__(self, server: Server, clock: Callable[[], float] = time.monotonic) -> None:
        self._server, self._clock = server, clock
        self._known: Recent[str, tuple[bytes, float]] = Recent()

    def of(self, queues: Sequence[str]) -> set[bytes]:
        """The numbers of these queues, as far as they exist."""
        before = self._clock() - FRESH
        known = [self._known.get(name, (b"", before)) for name in queues]
        if all(at > before for _, at in known):
            return {id for id, _ in known}
        return self._looked_up(queues)

    def _looked_up(self, queues: Sequence[str]) -> set[bytes]:
        found, now = self._server.call("ids", *queues), self._clock()
        for name, id in zip(queues, found, strict=True):
            if id is not None:
                self._known.note(name, (id, now))
        return {id for id in found if id is not None}
