"""How full the queues are, read from the store when somebody asks, but not whenever somebody asks."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from rowmq.core.errors import QueueNotFound, StoreError
from rowmq.core.history import Stats
from rowmq.core.outcome import State
from rowmq.core.store import Store
from rowmq.runtime.log import event, first_line, logger

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily

PATIENCE = 2.0
"""Seconds a reader waits for a scan: a store that hangs must not break the whole scrape."""
KEPT = 60.0
"""Seconds after which an old scan stands no longer for one that is late."""
SHARE = 9
"""A scan that took a second is not repeated for nine, so that scanning is a tenth of the time at most."""


class Metric(NamedTuple):
    """One metric, as the code makes it and the documentation shows it."""

    name: str
    type: str
    labels: tuple[str, ...]
    meaning: str


GAUGES = (
    Metric("depth", "gauge", ("queue", "state"), "Messages in each state: " + ", ".join(State)),
    Metric(
        "oldest_age_seconds", "gauge", ("queue",), "Age of the longest-waiting ready message, 0 if none is"
    ),
    Metric("up", "gauge", (), "Whether the store answered: 1 or 0"),
)


class Scan(NamedTuple):
    """What one look at the store found."""

    up: bool
    queues: dict[str, Stats]


DOWN = Scan(up=False, queues={})


class Depth:
    """A Prometheus collector of the queues' depth and age, at most one scan of the store in ``every``."""

    def __init__(
        self, store: Store, namespace: str, every: timedelta, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._namespace, self._every = store, namespace, every.total_seconds()
        self._clock = clock
        self._lock = threading.Lock()
        self._scan = DOWN
        self._under_way: threading.Event | None = None
        self._due = self._kept_until = 0.0

    def describe(self) -> "list[GaugeMetricFamily]":
        """The metrics without numbers, so that registering does not ask the store."""
        return list(self._families().values())

    def collect(self) -> "list[GaugeMetricFamily]":
        """The metrics as of the latest scan."""
        scan, families = self.latest(), self._families()
        families["up"].add_metric((), float(scan.up))
        for name, stats in scan.queues.items():
            for state in State:
                families["depth"].add_metric((name, state), float(getattr(stats, state)))
            age = stats.oldest_age or timedelta(0)
            families["oldest_age_seconds"].add_metric((name,), age.total_seconds())
        return list(families.values())

    def latest(self) -> Scan:
        """The last scan, or a new one if its time has come; a store that does not answer is down."""
        under_way = self._begun()
        if under_way is None or under_way.wait(PATIENCE):
            return self._scan
        return self._scan if self._clock() < self._kept_until else DOWN

    def _begun(self) -> threading.Event | None:
        with self._lock:
            if self._under_way is None and self._clock() >= self._due:
                self._under_way = threading.Event()
                threading.Thread(target=self._run, name="rowmq-depth", daemon=True).start()
            return self._under_way

    def _run(self) -> None:
        start = self._clock()
        scan = self._looked()
        end = self._clock()
        took = end - start if scan.up else 0.0  # a store that was away is looked for again soon
        with self._lock:
            self._scan = scan
            self._due = end + max(self._every, SHARE * took)
            self._kept_until = self._due + max(KEPT, 2 * took)
            under_way, self._under_way = self._under_way, None
        if under_way is not None:
            under_way.set()

    def _looked(self) -> Scan:
        try:
            return Scan(up=True, queues=dict(self._stats()))
        except Exception as error:  # noqa: BLE001 - whatever it is, the other metrics must still be read
            if self._scan.up:  # when it goes down, not for as long as it is
                event(
                    logger, logging.WARNING, "metrics.store_down",
                    error=type(error).__name__, reason=first_line(str(error)),
                )  # fmt: skip
            return DOWN

    def _stats(self) -> Iterator[tuple[str, Stats]]:
        for queue in self._store.queues.list():
            try:
                yield queue.name, self._store.queues.stats(queue.name)
            except QueueNotFound:  # dropped since it was listed
                continue

    def _families(self) -> "dict[str, GaugeMetricFamily]":
        from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - an extra

        return {
            each.name: GaugeMetricFamily(f"{self._namespace}_{each.name}", each.meaning, labels=each.labels)
            for each in GAUGES
        }


class StoreClock:
    """What the store's clock says, without asking it each time.

    A message's ``created_at`` is the store's time, and this machine's may be minutes off. So the store is
    asked once a minute what time it is, and in between the monotonic clock here, which nobody sets, says
    how much later it must be there. The error is half a round trip and a minute's drift at most.
    """

    AGAIN = 60.0

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._lock = threading.Lock()
        self._asked: float | None = None
        self._answer: tuple[datetime, float] | None = None

    def now(self) -> datetime | None:
        """The store's time, or None as long as the store has never answered. Never waits."""
        if self._answer is None:
            return None
        moment, at = self._answer
        return moment + timedelta(seconds=self._clock() - at)

    def ask(self) -> None:
        """Ask the store, unless somebody has within the last minute."""
        with self._lock:
            start = self._clock()
            if self._asked is not None and start < self._asked + self.AGAIN:
                return
            self._asked = start
        with suppress(StoreError):  # then the last answer serves on
            moment = self._store.now()
            self._answer = moment, (start + self._clock()) / 2
