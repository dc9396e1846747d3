"""Claiming for a worker: as much as its hands can soon do, and no more."""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from rowmq.core.delivery import Delivery, Want
from rowmq.core.errors import QueueNotFound, StoreError
from rowmq.core.queue import Queue
from rowmq.core.store import Store
from rowmq.runtime.claims import Claims
from rowmq.runtime.desk import Desk
from rowmq.runtime.log import event
from rowmq.runtime.terms import Terms

FULL_PAUSE = 0.02
"""Seconds between looks at other queues while one has no room."""
GLANCE = 0.01
"""Seconds between looks of a worker that stops as soon as there is nothing left."""
NAP = 0.25
"""Seconds after which a sleeper looks whether the worker has been stopped."""
LONGEST_PAUSE = 2.0
LOOKS = 20
"""Looks that find nothing before a queue counts as empty, if there are conditions: each is bounded."""
KEPT_IDLE, KEPT_BUSY = 1.0, 5.0
"""Seconds for which a queue's settings are believed."""
LARGE = 100
"""Messages of a claim beside which another one is worth having under way."""
BRIEF = 0.05
"""Seconds of such a claim at most: one that takes longer waits for others', as one more would."""
CLAIMED = 8 * 2**20
"""Bytes that a claim brings, about: more would be long on its way, and longer than needed in memory."""
WAITING = 4 * CLAIMED
"""Bytes that may wait for hands, about."""


class Source:
    """One queue that a worker claims from, and its settings as they lately were."""

    def __init__(self, store: Store, queue: str) -> None:
        self._store = store
        self.queue = queue
        self.settings = Queue(name=queue)
        """The queue's settings, at most some seconds old."""
        self._read_at = float("-inf")
        self._weight = 1.0

    def refresh(self, kept: float) -> None:
        """Read the settings again if they are older than that; never between a message and its handler."""
        now = time.monotonic()
        if now - self._read_at > kept:
            self.settings = self._store.queues.get(self.queue) or self.settings
            self._read_at = now

    def weigh(self, found: Sequence[Delivery]) -> None:
        """Look how long its messages are."""
        self._weight = max(1.0, sum(len(each.body) for each in found) / len(found))

    def fitting(self, size: int) -> int:
        """How many messages have about so many bytes, going by the last claim; at least one."""
        return max(1, int(size / self._weight))


class Fetcher:
    """One thread that claims from every queue with room, and sleeps when there is nothing.

    With ``abreast`` there are more, which sleep until large claims come back full and then claim beside the
    first; what they get may reach the hands in another order.

    ``deliver`` gets what was claimed, for how long, and when the claim began; ``idle`` says whether nothing
    is held, and ``behind`` whether more is finished than settlements keep up with.
    """

    def __init__(
        self,
        store: Store,
        desk: Desk,
        sources: Sequence[Source],
        terms: Terms,
        deliver: Callable[[Source, Sequence[Delivery], timedelta, float], object],
        idle: Callable[[], bool],
        behind: Callable[[], bool],
        abreast: int,
    ) -> None:
        self._store, self._desk, self._sources, self._terms = store, desk, sources, terms
        self._deliver, self._idle, self._behind = deliver, idle, behind
        self._stop = threading.Event()
        self._claims = Claims()
        self._pause = 0.0
        self._in_vain = 0
        self.on_empty: Callable[[], object] | None = None
        """Called when nothing was held and a look at every queue has found nothing."""
        self._threads = [
            threading.Thread(target=self._run, args=(look,), name="rowmq-fetcher", daemon=True)
            for look in [self._look, *[self._look_beside] * (abreast - 1)]
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Claim no more. Claims under way are delivered first; the threads end when they have slept."""
        self._stop.set()
        self._desk.room.set()
        self._claims.close()

    def join(self) -> None:
        """Wait until the threads have ended."""
        for thread in self._threads:
            thread.join(2 * NAP)

    def _run(self, look: Callable[[], object]) -> None:
        while not self._stop.is_set():
            try:
                look()
                self._pause = 0.0
            except StoreError as error:
                self._store_away(error)
            except Exception as error:  # noqa: BLE001 - a worker that stopped claiming would look alive
                if self._stop.is_set():
                    return  # it slept on while its worker was stopped and the store closed
                event(
                    self._terms.logger,
                    "error",
                    "worker.claim_failed",
                    worker=self._terms.name,
                    exc_info=error,
                )
                self._stop.wait(LONGEST_PAUSE)

    def _look(self) -> None:
        """Claim once from every queue, and rest if nothing came."""
        for source in self._sources:
            source.refresh(KEPT_BUSY)
        # Asked before: what is settled meanwhile may be there to be claimed again.
        idle, before = self._idle(), self._claims.found
        found, full = self._round()
        self._in_vain = 0 if found else self._in_vain + 1
        if found:
            return
        quiet = idle and not full and self._claims.is_quiet(before)
        if quiet and self.on_empty is not None and self._is_empty():
            self.on_empty()
        self._rest(full=full)

    def _look_beside(self) -> None:
        """Claim once more from every queue while there is plenty; the first thread does all the rest."""
        self._claims.wait_for_plenty()
        if not self._round(least=LARGE)[0]:
            self._desk.room.wait(self._terms.poll)

    def _is_empty(self) -> bool:
        """Whether nothing came because nothing is there."""
        terms = self._terms
        want = Want(where=terms.where, max_age=terms.max_age, since=terms.since, until=terms.until)
        return self._in_vain >= (LOOKS if want.conditional else 1) and not self._held_back()

    def _held_back(self) -> bool:
        """Whether a queue's rate, and not that it is empty, is why nothing came."""
        limited = [source.queue for source in self._sources if source.settings.rate is not None]
        return any(self._store.queues.stats(queue).ready for queue in limited)

    def _round(self, least: int = 1) -> tuple[int, bool]:
        """Claim once from every queue that has room: how many came, and whether one had none."""
        found, full = 0, False
        self._desk.room.clear()
        if self._stop.is_set():
            self._desk.room.set()  # nobody is to wait any more
        behind = self._behind()
        for source in self._sources:
            room = 0 if behind else self._desk.wanted(source.queue, source.fitting(WAITING))
            full = full or room < least
            if room >= least:
                found += self._claim(source, min(room, self._terms.batch, source.fitting(CLAIMED)))
        return found, full

    def _claim(self, source: Source, limit: int) -> int:
        terms = self._terms
        lease = terms.lease or source.settings.lease  # said, so that we know it even while settings change
        want = Want(
            limit=limit,
            lease=lease,
            consumer=terms.name,
            share=False,
            where=terms.where,
            max_age=terms.max_age,
            since=terms.since,
            until=terms.until,
        )
        with self._claims.under_way():
            if self._stop.is_set():
                return 0
            began = time.monotonic()
            try:
                (found,) = self._store.claim(source.queue, [want])
            except QueueNotFound:
                return 0  # deleted under us, and maybe made again
            if found:
                source.weigh(found)
                self._deliver(source, found, lease, began)
            brief = time.monotonic() - began < BRIEF
            self._claims.ended(len(found), plenty=brief and LARGE <= limit == len(found))
            return len(found)

    def _rest(self, *, full: bool) -> None:
        if full:
            self._desk.room.wait(FULL_PAUSE if len(self._sources) > 1 else self._terms.poll)
            return
        if self.on_empty is not None:
            self._stop.wait(GLANCE)
            return
        for source in self._sources:
            source.refresh(KEPT_IDLE)
        names = [source.queue for source in self._sources]
        until = time.monotonic() + self._poll()
        while not self._stop.is_set() and (left := until - time.monotonic()) > 0:
            if self._store.wait(names, timedelta(seconds=min(NAP, left))):
                return

    def _poll(self) -> float:
        """A queue with a rate has room again after a while, which nobody announces."""
        rates = [source.settings.rate for source in self._sources]
        return min([self._terms.poll, *(rate.period.total_seconds() for rate in rates if rate is not None)])

    def _store_away(self, error: StoreError) -> None:
        if self._stop.is_set():
            return
        self._claims.ended(0, plenty=False)  # one thread is enough to find out when it is back
        self._pause = min(2 * self._pause or 0.1, LONGEST_PAUSE)
        event(self._terms.logger, "warning", "worker.store_away", worker=self._terms.name, error=str(error))
        self._stop.wait(self._pause)
