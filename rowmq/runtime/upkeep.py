"""The thread beside a worker's own: it fires schedules, sweeps and samples, whatever happens to the store."""

import logging
import random
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from rowmq.core.backoff import Backoff
from rowmq.core.errors import StoreError
from rowmq.runtime.log import event, first_line
from rowmq.runtime.log import logger as default_logger
from rowmq.runtime.sampler import EVERY, Sampler
from rowmq.runtime.scheduler import Scheduler
from rowmq.runtime.sweeper import Sweeper

JITTER = 0.25
"""How much sooner or later than its time a chore may come, so that workers do not all come at once."""
BACKOFF = Backoff(first=timedelta(seconds=0.1), cap=timedelta(seconds=5))


class Upkeep:
    """Runs a scheduler every second, a sweeper at its own pace and its sampler, until ``stop`` is set.

    Sweeper and sampler begin some time within their first period, as chance has it: workers that start
    together do not all begin with it. Scheduler and sweeper may be None. While the store is away both are
    tried again, after 5 seconds at the latest; that is logged when it begins and when it is over.
    """

    def __init__(
        self,
        scheduler: Scheduler | None,
        sweeper: Sweeper | None,
        stop: threading.Event,
        *,
        pace: float = 1.0,
        chance: Callable[[], float] = random.random,
        logger: logging.Logger | None = None,
    ) -> None:
        self._stop, self._logger = stop, logger or default_logger
        self._chores: list[Chore] = []
        if scheduler is not None:
            self._chores.append(Chore("schedules", pace, partial(_fire, scheduler)))
        if sweeper is not None:
            late = chance() * sweeper.every
            self._chores.append(Chore("sweep", sweeper.every, partial(self._sweep, sweeper), late))
            if sweeper.sampler.can:
                self._chores.append(
                    Chore("samples", EVERY, partial(_sample, sweeper.sampler), chance() * EVERY)
                )
        self._thread = threading.Thread(target=self._run, name="rowmq-upkeep", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until it has ended, after ``stop`` was set; False if it has not within the timeout."""
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while self._chores and not self._stop.wait(self._idle()):
            for chore in self._chores:
                if chore.due <= time.monotonic():
                    self._attempt(chore)

    def _idle(self) -> float:
        return max(0.0, min(chore.due for chore in self._chores) - time.monotonic())

    def _sweep(self, sweeper: Sweeper) -> bool:
        total = sweeper.run_once(stop=self._interrupted)
        return total is not None and total.more

    def _interrupted(self) -> bool:
        """Whether a long sweep should give way: schedules must not wait for it."""
        others = [chore for chore in self._chores if chore.name != "sweep"]
        return self._stop.is_set() or any(chore.due <= time.monotonic() for chore in others)

    def _attempt(self, chore: "Chore") -> None:
        try:
            chore.run()
        except Exception as error:  # noqa: BLE001 - the thread must outlive whatever goes wrong
            if not self._failing():
                self._complain(chore, error)
            chore.postpone()
        else:
            was_failing, chore.failures = self._failing(), 0
            if was_failing and not self._failing():
                event(self._logger, logging.INFO, "upkeep.recovered")

    def _failing(self) -> bool:
        return any(chore.failures for chore in self._chores)

    def _complain(self, chore: "Chore", error: Exception) -> None:
        """Say what is wrong; an error that is not the store's is our mistake, and worth its traceback."""
        event(
            self._logger,
            logging.WARNING,
            "upkeep.failed",
            exc_info=None if isinstance(error, StoreError) else error,
            chore=chore.name,
            error=type(error).__name__,
            reason=first_line(str(error)),
        )


class Chore:
    """Something to do again and again, so many seconds late at first. Its work says whether there is more."""

    def __init__(self, name: str, every: float, work: Callable[[], bool], late: float = 0.0) -> None:
        self.name, self.due, self.failures = name, time.monotonic() + late, 0
        self._every, self._work = every, work

    def run(self) -> None:
        """Do it, and set when to do it next."""
        more = self._work()
        self.due = time.monotonic() + (0.0 if more else self._every * _jittered())

    def postpone(self) -> None:
        """Try again a little later, and later each time it fails."""
        self.failures += 1
        wait = BACKOFF.delay(self.failures, random.random())  # noqa: S311 - no secret
        self.due = time.monotonic() + wait.total_seconds()


def _fire(scheduler: Scheduler) -> bool:
    scheduler.run_once()
    return False


def _sample(sampler: Sampler) -> bool:
    sampler.run_once()
    return False


def _jittered() -> float:
    return 1 + JITTER * (2 * random.random() - 1)  # noqa: S311 - no secret
