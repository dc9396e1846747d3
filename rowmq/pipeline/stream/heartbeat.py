"""Keeping the lease of a batch while Spark works on it."""

import threading
from datetime import timedelta

from rowmq.core.delivery import Claim
from rowmq.core.errors import RowMQError
from rowmq.core.store import Store
from rowmq.runtime.log import event, logger

BEATS_PER_LEASE = 3
TRIES_PER_LEASE = 10
"""How often in the length of a lease extending is tried while the store is away."""


class Heartbeat:
    """One daemon thread that extends the claim held now, at a third of its lease.

    It lives in the driver's process and ends with it: the leases of a driver that died run out.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: tuple[Claim, timedelta] | None = None
        self._pause: float | None = None
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._thread: threading.Thread | None = None

    def hold(self, claim: Claim, lease: timedelta) -> None:
        """Keep this claim from now on, and no other."""
        with self._lock:
            self._held = claim, lease
            self._pause = lease.total_seconds() / BEATS_PER_LEASE
        self._changed.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="rowmq-heartbeat", daemon=True)
            self._thread.start()

    def drop(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._held = self._pause = None
        self._changed.set()

    def _run(self) -> None:
        while True:
            if self._changed.wait(self._pause):
                self._changed.clear()  # another claim, or none: its time begins now
            else:
                self._beat()

    def _beat(self) -> None:
        held = self._held
        if held is None:
            return
        claim, lease = held
        try:
            (until,) = self._store.extend([claim], lease)
        except RowMQError as error:
            event(logger, "warning", "stream.keeping_failed", claim=claim.name, error=str(error))
            self._next(held, lease.total_seconds() / TRIES_PER_LEASE)
            return
        if until is not None:
            self._next(held, lease.total_seconds() / BEATS_PER_LEASE)
        elif self._next(held, None):
            event(logger, "warning", "stream.claim_lost", claim=claim.name)

    def _next(self, held: tuple[Claim, timedelta], pause: float | None) -> bool:
        """When to beat again, or never; but not if another claim, or none, is held by now."""
        with self._lock:
            if self._held is not held:
                return False
            self._pause = pause
            if pause is None:
                self._held = None
            return True
