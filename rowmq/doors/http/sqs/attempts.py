"""Receives that may be repeated: the same attempt gets the same messages."""

import time
from collections.abc import Sequence
from typing import NamedTuple

from rowmq.core.delivery import Delivery

REMEMBERED = 300.0
"""Seconds for which an attempt can be repeated."""
MOST = 10_000


class _Made(NamedTuple):
    deliveries: Sequence[Delivery]
    until: float


class Attempts:
    """What was received under a ReceiveRequestAttemptId, in this process."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], _Made] = {}

    def find(self, queue: str, attempt: str) -> Sequence[Delivery]:
        """What the attempt got, if it got anything and is not too long ago."""
        made = self._made.get((queue, attempt))
        return made.deliveries if made is not None and made.until > time.monotonic() else ()

    def keep(self, queue: str, attempt: str, deliveries: Sequence[Delivery]) -> None:
        """Remember what an attempt got; the oldest ones are forgotten first."""
        self._made.pop((queue, attempt), None)
        if deliveries:
            self._made[queue, attempt] = _Made(deliveries, time.monotonic() + REMEMBERED)
        while len(self._made) > MOST:
            del self._made[next(iter(self._made))]
