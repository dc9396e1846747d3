"""The store itself: the life of messages, with the other roles beside it."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from rowmq.core.clock import moment
from rowmq.core.delivery import Adopted, Claim, Delivery, Receipt, Settlement, Want
from rowmq.core.errors import Refused, RowMQError
from rowmq.core.history import Durability
from rowmq.core.message import Batch, Pushed
from rowmq.core.monitor import Monitor
from rowmq.core.outcome import Settled
from rowmq.core.store import Consumers, History, Queues, Schedules, Topics
from rowmq.stores.memory.claim import serve
from rowmq.stores.memory.consumers import MemoryConsumers
from rowmq.stores.memory.history import MemoryHistory
from rowmq.stores.memory.monitor import MemoryMonitor
from rowmq.stores.memory.push import perform, plan
from rowmq.stores.memory.queues import MemoryQueues
from rowmq.stores.memory.role import Role, atomic, refuse_transaction
from rowmq.stores.memory.schedules import MemorySchedules
from rowmq.stores.memory.settle import adopt, extend, settle
from rowmq.stores.memory.tables import Tables
from rowmq.stores.memory.topics import MemoryTopics


class MemoryStore(Role):
    """A store that lives as long as this object, for tests and as the specification of all others.

    It may be used from many threads. Two of them share nothing. A ``clock`` that a test moves by hand
    stands in for this process's wherever ``now`` is not given; only ``wait`` sleeps in real time.
    """

    queues: Queues
    topics: Topics
    consumers: Consumers
    schedules: Schedules
    history: History
    monitor: Monitor
    abreast = 1

    def __init__(self, clock: Callable[[], datetime] | None = None) -> None:
        super().__init__(Tables() if clock is None else Tables(clock))
        self.queues = MemoryQueues(self.tables)
        self.topics = MemoryTopics(self.tables)
        self.consumers = MemoryConsumers(self.tables)
        self.schedules = MemorySchedules(self.tables)
        self.history = MemoryHistory(self.tables)
        self.monitor = MemoryMonitor(self.tables)

    @atomic
    def now(self) -> datetime:
        """What the store's clock says."""
        return moment(self.tables.clock(None))

    @property
    def durability(self) -> Durability:
        """What an acknowledged write survives: nothing."""
        return Durability("C", "messages are in the memory of this process only")

    @atomic
    def push(
        self, batches: Sequence[Batch], *, tx: object = None, now: datetime | None = None
    ) -> list[Pushed | RowMQError]:
        """Store each batch whole or not at all, and answer each with its result or its error."""
        refuse_transaction(tx)
        at = self.tables.clock(now)
        return [self._push(batch, at) for batch in batches]

    def _push(self, batch: Batch, now: int) -> Pushed | RowMQError:
        try:
            return perform(self.tables, plan(self.tables, batch, now), now)
        except Refused as error:
            return error

    @atomic
    def claim(
        self, queue: str, wants: Sequence[Want], *, now: datetime | None = None
    ) -> list[list[Delivery]]:
        """Lease messages to each want, first wants first."""
        settings, at = self.tables.queue(queue), self.tables.clock(now)
        return [[] if settings.paused else serve(self.tables, settings, want, at) for want in wants]

    @atomic
    def extend(
        self, receipts: Sequence[Receipt | Claim], lease: timedelta, *, now: datetime | None = None
    ) -> list[datetime | None]:
        """Let leases end that long from now, and tell the new end of each, or None where it is lost."""
        at = self.tables.clock(now)
        return [extend(self.tables, receipt, lease, at) for receipt in receipts]

    @atomic
    def settle(
        self, settlements: Sequence[Settlement], *, tx: object = None, now: datetime | None = None
    ) -> list[Settled]:
        """Ack, retry, release or bury, in the given order."""
        refuse_transaction(tx)
        at = self.tables.clock(now)
        return [settle(self.tables, settlement, at) for settlement in settlements]

    @atomic
    def adopt(
        self, name: str, *, lease: timedelta | None = None, now: datetime | None = None
    ) -> Adopted | None:
        """Take over a named claim: a new token for what is left of it, so that the former run is fenced."""
        return adopt(self.tables, name, lease, self.tables.clock(now))

    @atomic
    def wait(self, queues: Sequence[str], timeout: timedelta) -> bool:
        """Sleep until something becomes claimable in one of the queues, the timeout, or the store's end."""
        tables = self.tables
        before = [tables.stirs[queue] for queue in queues]
        tables.lock.wait_for(
            lambda: tables.closed or before != [tables.stirs[queue] for queue in queues],
            timeout.total_seconds(),
        )
        return before != [tables.stirs[queue] for queue in queues]

    @atomic
    def migrate(self) -> list[str]:
        """Do nothing: there are no tables to bring up to date."""
        return []

    def close(self) -> None:
        """Forbid any further use, and end every wait."""
        with self.tables.lock:
            self.tables.closed = True
            self.tables.lock.notify_all()
