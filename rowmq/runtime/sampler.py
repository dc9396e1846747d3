"""Samples what happens to queues, for whoever looks after them."""

import logging
from datetime import datetime, timedelta

from rowmq.core.errors import StoreError
from rowmq.core.monitor import Monitor
from rowmq.core.store import Store
from rowmq.runtime.log import event, first_line
from rowmq.runtime.log import logger as default_logger

ROLE = "sampler"
EVERY = 20.0
"""Seconds between looks whether a minute is over."""
LEAD = timedelta(seconds=3 * EVERY)
"""For how long the lead is taken: a leader that dies is followed after that."""


class Sampler:
    """Samples while it leads, if the store can. Whatever goes wrong is logged once, and tried again.

    Correctness does not depend on the lead: two that sample at once only do needless work.
    """

    def __init__(self, store: Store, name: str, logger: logging.Logger | None = None) -> None:
        self._store, self._name = store, name
        self._monitor: Monitor | None = getattr(store, "monitor", None)
        self._logger = logger or default_logger
        self._failing = False

    @property
    def can(self) -> bool:
        """Whether the store has samples at all."""
        return self._monitor is not None

    def run_once(self, now: datetime | None = None) -> int:
        """Take the samples that are due; how many, and none if another one leads or it goes wrong."""
        try:
            taken = self._sample(now)
        except Exception as error:  # noqa: BLE001 - nobody's work may end because nobody can watch it
            self._complain(error)
            return 0
        if self._failing:
            event(self._logger, logging.INFO, "samples.recovered")
        self._failing = False
        return taken

    def _sample(self, now: datetime | None) -> int:
        if self._monitor is None or not self._store.consumers.lead(ROLE, self._name, LEAD, now=now):
            return 0
        return self._monitor.sample(now=now)

    def _complain(self, error: Exception) -> None:
        if not self._failing:
            event(
                self._logger,
                logging.WARNING,
                "samples.failed",
                exc_info=None if isinstance(error, StoreError) else error,
                error=type(error).__name__,
                reason=first_line(str(error)),
            )
        self._failing = True
