"""Waking those of this process who wait for messages."""

import threading
import time
from collections.abc import Collection
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Connection
from sqlalchemy.orm import Session


class Waiters:
    """Counts pushes by queue, so that nobody who looked before a push sleeps through it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pushes: dict[int, int] = {}

    def seen(self, queues: Collection[int]) -> int:
        """How many pushes to these queues this process has heard of."""
        with self._changed:
            return sum(self._pushes.get(queue, 0) for queue in queues)

    def wake(self, queues: Collection[int]) -> None:
        """Tell the waiters of these queues to look."""
        if not queues:
            return
        with self._changed:
            for queue in queues:
                self._pushes[queue] = self._pushes.get(queue, 0) + 1
            self._changed.notify_all()

    def wait(self, queues: Collection[int], seen: int, timeout: float) -> bool:
        """Sleep until these queues have had more pushes than were seen, or the timeout."""
        end = time.monotonic() + timeout
        with self._changed:
            while sum(self._pushes.get(queue, 0) for queue in queues) == seen:
                left = end - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    return sum(self._pushes.get(queue, 0) for queue in queues) != seen
        return True

    def wake_after(self, tx: object, queues: Collection[int]) -> None:
        """Wake once the caller's transaction commits, where that can be watched; pollers find it anyway."""
        if not queues or not isinstance(tx, Session | Connection):
            return
        target: Any = tx
        name = "after_commit" if isinstance(tx, Session) else "commit"

        def committed(*_: object) -> None:
            self.wake(queues)

        event.listen(target, name, committed, once=True)
