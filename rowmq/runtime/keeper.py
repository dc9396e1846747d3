"""Keeping what a worker holds: leases, its registration, and an eye on handlers that take too long."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Protocol

from rowmq.core.errors import RowMQError, StoreError
from rowmq.core.store import Store
from rowmq.runtime.desk import Held
from rowmq.runtime.log import event

BEAT = 10.0
MISSED = 3
LONGEST_TICK = 1.0
SHORTEST_TICK = 0.02
TICKS_PER_LEASE = 8


class Holder(Protocol):
    """Who holds messages, and hears of those that are lost or late."""

    def held(self) -> Sequence[Held]:
        """Everything held now."""

    def lose(self, lost: Sequence[Held]) -> None:
        """These went on without us."""

    def doubt(self, doubtful: Sequence[Held]) -> None:
        """The leases of these are over, for all we know."""

    def time_out(self, late: Held) -> None:
        """This handler has used up its time."""


class Keeper:
    """One thread that extends leases at half their length, from the claim on, and beats for the worker."""

    def __init__(
        self, store: Store, holder: Holder, name: str, queues: Iterable[str], logger: logging.Logger
    ) -> None:
        self._logger = logger
        self._store, self._holder = store, holder
        self._name, self._queues = name, list(queues)
        self._awake = threading.Event()
        self._closed = False
        self._next_beat = 0.0
        self.tick = LONGEST_TICK
        """Seconds between looks, a small part of the shortest lease."""
        self._thread = threading.Thread(target=self._run, name="rowmq-keeper", daemon=True)

    def start(self) -> None:
        """Register, and begin."""
        self._beat()
        self._thread.start()

    def mind(self, lease: timedelta) -> None:
        """Look often enough for leases of this length."""
        tick = max(SHORTEST_TICK, min(self.tick, lease.total_seconds() / TICKS_PER_LEASE))
        if tick < self.tick:
            self.tick = tick
            self._awake.set()  # it may be in the middle of a longer sleep

    def close(self) -> None:
        """End, and have the worker forgotten."""
        self._closed = True
        self._awake.set()
        self._thread.join(LONGEST_TICK)
        for queue in self._queues:
            self._guarded(lambda queue=queue: self._store.consumers.retire(queue, self._name))  # type: ignore[misc]

    def _run(self) -> None:
        while not self._closed:
            self._awake.wait(self.tick)
            self._awake.clear()
            self._guarded(self._time_out)
            self._guarded(self._extend)
            if time.monotonic() >= self._next_beat:
                self._beat()

    def _extend(self) -> None:
        now = time.monotonic()
        due = [each for each in self._holder.held() if each.expires - now <= each.lease.total_seconds() / 2]
        ours = [each for each in due if not each.settled]
        for lease in {each.lease for each in ours}:
            self._extend_all([each for each in ours if each.lease == lease], lease)

    def _extend_all(self, due: Sequence[Held], lease: timedelta) -> None:
        asked = time.monotonic()
        try:
            ends = self._store.extend([each.receipt for each in due], lease)
        except StoreError:
            self._holder.doubt([each for each in due if each.started and each.expires <= time.monotonic()])
            raise
        for each, end in zip(due, ends, strict=True):
            if end is not None:
                each.expires, each.in_doubt = asked + lease.total_seconds(), False
                each.extended(end)
        self._lose([each for each, end in zip(due, ends, strict=True) if end is None])

    def _lose(self, lost: Sequence[Held]) -> None:
        """Tell the holder, except of those that were settled meanwhile."""
        gone = [each for each in lost if not each.finished and not each.settled]
        if gone:
            self._holder.lose(gone)

    def _time_out(self) -> None:
        now = time.monotonic()
        for each in self._holder.held():
            limit = each.lane.job.timeout
            if limit is None or each.finished or each.settled:
                continue  # settled: maybe in a transaction that is still open, and would block us
            if each.started and now - each.started > limit:
                self._holder.time_out(each)

    def _beat(self) -> None:
        self._next_beat = time.monotonic() + BEAT
        ttl = timedelta(seconds=BEAT * MISSED)
        for queue in self._queues:
            self._guarded(lambda queue=queue: self._store.consumers.beat(queue, self._name, ttl))  # type: ignore[misc]

    def _guarded(self, call: Callable[[], object]) -> None:
        """Whatever happens, go on: what must be done is tried again at the next look."""
        try:
            call()
        except RowMQError as error:
            event(self._logger, "warning", "worker.keeping_failed", worker=self._name, error=str(error))
        except Exception as error:  # noqa: BLE001 - without its keeper a worker would lose all it holds
            event(self._logger, "error", "worker.keeping_failed", worker=self._name, exc_info=error)
