"""Waking those of this process who wait for messages."""

import threading
import time
from collections.abc import Callable, Collection

from sqlalchemy import event
from sqlalchemy.orm import Session


class Waiters:
    """Counts pushes by queue, so that nobody who looked before a push sleeps through it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pushes: dict[int, int] = {}
        self._empty: dict[int, int] = {}
        self.bell: Callable[[], object] | None = None
        """Rung after each wake, for waiters that sleep on something else than this."""

    def seen(self, queues: Collection[int]) -> int:
        """How many pushes to these queues this process has heard of."""
        with self._changed:
            return sum(self._pushes.get(queue, 0) for queue in queues)

    def found_empty(self, queue: int, seen: int) -> None:
        """Note that a claim has found nothing, and what had been seen before it."""
        self._empty[queue] = seen

    def since(self, queues: Collection[int]) -> int:
        """What whoever waits now has seen: for a queue just found empty, what was seen before that."""
        with self._changed:
            return sum(self._empty.pop(queue, self._pushes.get(queue, 0)) for queue in queues)

    def wake(self, queues: Collection[int]) -> None:
        """Tell the waiters of these queues to look."""
        if not queues:
            return
        with self._changed:
            for queue in queues:
                self._pushes[queue] = self._pushes.get(queue, 0) + 1
            self._changed.notify_all()
        if self.bell is not None:
            self.bell()

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
        if not queues or not isinstance(tx, Session):
            return
        if self not in tx.info:
            tx.info[self] = set()
            event.listen(tx, "after_commit", self._committed)
            event.listen(tx, "after_rollback", self._rolled_back)
        tx.info[self].update(queues)

    def _committed(self, session: Session) -> None:
        if not session.in_nested_transaction():  # a savepoint's release is called a commit too
            self.wake(session.info[self])
            session.info[self].clear()

    def _rolled_back(self, session: Session) -> None:
        session.info[self].clear()
