"""Whether there can be anything new for a topic: so that who asks all the time does not cost all the time."""

import time
from collections import OrderedDict

LOOK = 0.25
"""Seconds after which one looks all the same: others publish too, and leases end."""
TOPICS = 10_000


class News:
    """How often each topic was published to here, as far as anybody may want to know."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._last = 0

    def ring(self, topic: str) -> None:
        """Something was published to the topic."""
        self._last += 1
        self._counts[topic] = self._last
        self._counts.move_to_end(topic)
        if len(self._counts) > TOPICS:
            self._counts.popitem(last=False)

    def count(self, topic: str) -> int:
        """A number that is another one after each publication."""
        return self._counts.get(topic, 0)


class Look:
    """When somebody looked last and found no more: not worth repeating before there is news."""

    __slots__ = ("_at", "_count")

    def __init__(self, count: int) -> None:
        self._count, self._at = count, time.monotonic()

    def stale(self, count: int) -> bool:
        """Whether it is worth to look again."""
        return count != self._count or time.monotonic() - self._at > LOOK
