"""Clears up behind everybody: what is expired, exhausted, past retention or forgotten."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from rowmq.core.errors import InvalidSetting
from rowmq.core.history import Swept
from rowmq.core.store import Store
from rowmq.runtime.log import event
from rowmq.runtime.log import logger as default_logger
from rowmq.runtime.sampler import Sampler

ROLE = "sweeper"
BATCH = 1000
"""Rows of each kind in one transaction, so that nobody waits long for it."""
LEAD = 3
"""For how many rounds the lead is taken: a leader that dies is followed after so many."""


def _never() -> bool:
    return False


class Sweeper:
    """Sweeps while it leads: one of many is enough, and the others only ask whether it is still there.

    Correctness does not depend on the lead: two that sweep at once only do needless work.
    """

    def __init__(
        self, store: Store, name: str, every: float = 10.0, logger: logging.Logger | None = None
    ) -> None:
        if every <= 0:
            raise InvalidSetting(f"a sweeper sweeps every so many seconds, more than 0, not {every!r}")
        self.every = every
        self._store, self._name = store, name
        self._ttl = timedelta(seconds=LEAD * every)
        self._logger = logger or default_logger
        self.sampler = Sampler(store, name, logger)
        """What else is done for everybody, at its own pace."""

    def run_once(self, now: datetime | None = None, *, stop: Callable[[], bool] = _never) -> Swept | None:
        """Sweep until nothing is left or ``stop`` says so; the totals, or None if another one leads.

        ``more`` of the totals says that something is left.
        """
        if not self._leads(now):
            return None
        total = self._store.history.sweep(limit=BATCH, now=now)
        while total.more and not stop() and self._leads(now):
            total = _sum(total, self._store.history.sweep(limit=BATCH, now=now))
        self._tell(total)
        return total

    def _leads(self, now: datetime | None) -> bool:
        return self._store.consumers.lead(ROLE, self._name, self._ttl, now=now)

    def _tell(self, total: Swept) -> None:
        if total.buried or total.pruned:
            event(self._logger, logging.DEBUG, "swept", buried=total.buried, pruned=total.pruned)


def _sum(one: Swept, other: Swept) -> Swept:
    return Swept(
        buried=one.buried + other.buried,
        pruned=one.pruned + other.pruned,
        forgotten=one.forgotten + other.forgotten,
        more=other.more,
    )
