"""Settling together what is finished at about the same time."""

import logging
import threading
import time
from collections.abc import Callable, Sequence

from rowmq.core.delivery import Settlement, settlements
from rowmq.core.errors import StoreError
from rowmq.core.outcome import Settled
from rowmq.core.store import Store
from rowmq.runtime.desk import Held
from rowmq.runtime.log import event

LARGEST = 1000
AHEAD = 4 * LARGEST
"""Finished messages that may wait for their settlement before no more are claimed."""
LINGER = 0.002
"""Seconds that a settlement waits for others while more are expected."""
LONGEST_PAUSE = 1.0


class Settler:
    """One thread that settles whatever has gathered, in one call of the store.

    While the store is away it goes on trying: a settlement repeated is the same settlement.
    """

    def __init__(
        self,
        store: Store,
        on_settled: Callable[[Sequence[Held], Sequence[Settled]], object],
        busy: Callable[[], bool],
        logger: logging.Logger,
    ) -> None:
        self._logger = logger
        self._store, self._on_settled, self._busy = store, on_settled, busy
        self._changed = threading.Condition()
        self._waiting: list[Held] = []
        self._settling = 0
        self._asleep = self._closed = False
        self._give_up = False
        self._thread = threading.Thread(target=self._run, name="rowmq-settler", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def put(self, held: Held) -> None:
        """Have a message settled soon, with its outcome."""
        self._waiting.append(held)  # atomic; the lock is only for waking
        if self._asleep:
            with self._changed:
                self._changed.notify()

    def is_behind(self) -> bool:
        """Whether so much is finished and not settled that nothing more should be begun."""
        return len(self._waiting) + self._settling > AHEAD

    def close(self, timeout: float | None) -> int:
        """Settle what is left and end; how many could not be settled in time."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(timeout)
        self._give_up = True
        return len(self._waiting) + self._settling if self._thread.is_alive() else 0

    def _run(self) -> None:
        while batch := self._next():
            self._settling = len(batch)
            self._on_settled(batch, self._settle(batch))
            self._settling = 0

    def _next(self) -> list[Held]:
        with self._changed:
            while not self._waiting and not self._closed:
                self._asleep = True
                self._changed.wait_for(lambda: self._waiting or self._closed)
            self._asleep = False
        if not self._closed and len(self._waiting) < LARGEST and self._busy():
            time.sleep(LINGER)
        count = min(LARGEST, len(self._waiting))
        batch = self._waiting[:count]
        del self._waiting[:count]
        return batch

    def _settle(self, batch: Sequence[Held]) -> Sequence[Settled]:
        deliveries, outcomes = [held.delivery for held in batch], [held.outcome for held in batch]
        return self._answers(settlements(deliveries, outcomes))

    def _answers(self, settlements: Sequence[Settlement]) -> Sequence[Settled]:
        pause = 0.05
        while True:
            try:
                return self._store.settle(settlements)
            except StoreError as error:
                event(
                    self._logger, "warning", "worker.settle_failed", count=len(settlements), error=str(error)
                )
                if self._give_up:
                    return [Settled.LOST] * len(settlements)
            except Exception as error:  # noqa: BLE001 - one that cannot be settled must not hold up the others
                return self._one_by_one(settlements, error)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _one_by_one(self, settlements: Sequence[Settlement], error: Exception) -> Sequence[Settled]:
        if len(settlements) > 1:
            return [self._answers([each])[0] for each in settlements]
        event(self._logger, "error", "worker.settle_refused", exc_info=error)
        return [Settled.LOST]
