"""The ids of queues, for those who wait for them again and again."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from rowmq.stores.recent import Recent

FRESH = 5.0
"""Seconds for which an id is believed: a queue that was dropped and made anew has another one."""
Id = TypeVar("Id")


class Ids(Generic[Id]):
    """Remembers the ids of queues for a while; a queue that there is not is looked up each time."""

    def __init__(
        self,
        look_up: Callable[[Sequence[str]], Mapping[str, Id]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look_up, self._clock = look_up, clock
        self._known: Recent[str, tuple[Id, float] | None] = Recent()

    def of(self, queues: Sequence[str]) -> set[Id]:
        """The ids of these queues, as far as they exist."""
        before = self._clock() - FRESH
        known = [self._known.get(name, None) for name in queues]
        fresh = {each[0] for each in known if each is not None and each[1] > before}
        return fresh if len(fresh) == len(set(queues)) else self._looked_up(queues)

    def _looked_up(self, queues: Sequence[str]) -> set[Id]:
        found, now = self._look_up(queues), self._clock()
        for name, id in found.items():
            self._known.note(name, (id, now))
        return set(found.values())
