"""Whether the store has answered all the time."""

import time
from collections.abc import Callable
from datetime import timedelta


class Steady:
    """For how long the store has answered. Whoever could not reach it meanwhile is not gone for that."""

    def __init__(self, pause: timedelta, clock: Callable[[], float] = time.monotonic) -> None:
        self._pause, self._clock = pause.total_seconds(), clock
        self._since = self._last = clock()

    def answered(self) -> None:
        """The store has answered; after a longer pause than is usual, it begins anew."""
        now = self._clock()
        if now - self._last > self._pause:
            self._since = now
        self._last = now

    def lasts(self, span: timedelta) -> bool:
        """Whether it has for that long."""
        return self._last - self._since >= span.total_seconds()
