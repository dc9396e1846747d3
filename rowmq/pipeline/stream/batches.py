"""Batches of messages held under a name: taken, found again after a crash, and finished as a whole."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import accumulate
from typing import NamedTuple

from rowmq.core.delivery import LARGEST_CLAIM, Claim, Delivery, Settlement, Want
from rowmq.core.errors import InvalidSetting, QueueNotFound
from rowmq.core.outcome import ACK, Failure, Outcome, Release
from rowmq.core.queue import Guarantee, Queue
from rowmq.core.store import Store
from rowmq.core.where import Where
from rowmq.runtime.claimed import decided

LARGEST_BYTES = 64 * 2**20
"""Bytes of payload that one batch has by default: it passes through the driver."""
PER_GROUP = 100
LOOKS = 20
"""Looks that a claim with conditions gets before nothing found counts as nothing there: each is bounded."""


class Batch(NamedTuple):
    """Messages held together, and how often this batch has been begun."""

    claim: Claim
    deliveries: list[Delivery]
    runs: int
    queue: Queue
    """The queue's settings when it was begun, with the lease that the batch has."""


class Batches:
    """Takes batches from one queue, each under a name that claims only once."""

    def __init__(
        self,
        store: Store,
        queue: str,
        *,
        consumer: str,
        lease: timedelta | None = None,
        where: Where = (),
        max_age: timedelta | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        per_group: int = PER_GROUP,
        largest: int = LARGEST_BYTES,
    ) -> None:
        self._store, self._queue = store, queue
        self._lease, self._largest = lease, largest
        self._want = Want(
            limit=LARGEST_CLAIM,
            consumer=consumer,
            share=False,
            where=where,
            max_age=max_age,
            since=since,
            until=until,
            per_group=per_group,
            again=True,
        )

    def take(self, name: str, limit: int, *, upto: int | None = None) -> Batch | None:
        """Claim up to so many messages under a name, or get what is left of what it claimed before."""
        queue = self.settings()
        want = replace(self._want, name=name, limit=limit, lease=queue.lease, upto=upto)
        for _ in range(LOOKS if want.conditional else 1):
            (found,) = self._store.claim(self._queue, [want])
            if found:
                batch = Batch(Claim(name, found[0].token), found, 1, queue)
                return self.keep(batch, self._fitting(found))
        return None

    def adopt(self, name: str) -> Batch | None:
        """Take over what is left of a batch from a run that is over, and may not know it yet."""
        queue = self.settings()
        adopted = self._store.adopt(name, lease=queue.lease)
        return None if adopted is None else Batch(adopted.claim, adopted.deliveries, adopted.runs, queue)

    def keep(self, batch: Batch, count: int) -> Batch:
        """Keep the first of a batch, and give the others back as if they had not been tried."""
        others = batch.deliveries[count:]
        self._settle(others, Release())
        return batch._replace(deliveries=batch.deliveries[:count]) if others else batch

    def finish(self, claim: Claim) -> None:
        """Ack everything that is left of a batch."""
        self._store.settle([Settlement(claim, ACK)])

    def fail(self, batch: Batch, error: str) -> None:
        """Let every message of a batch come back after its backoff, or die if this was its last attempt."""
        for each in batch.deliveries:
            self._settle([each], decided(each, Failure(error=error), batch.queue.backoff))

    def settings(self) -> Queue:
        """The queue's settings, with our lease. Raises QueueNotFound, or InvalidSetting if Spark may not."""
        queue = self._store.queues.get(self._queue)
        if queue is None:
            raise QueueNotFound(self._queue)
        if queue.delivery == Guarantee.AT_MOST_ONCE:
            raise InvalidSetting(
                f"queue {self._queue!r} delivers at most once, and Spark may run a task or a batch twice:"
                " work on it with rowmq work, or with rowmq spark-work --mode workers"
            )
        return queue if self._lease is None else replace(queue, lease=self._lease)

    def _settle(self, deliveries: Sequence[Delivery], outcome: Outcome) -> None:
        if deliveries:
            self._store.settle([Settlement(each.receipt, outcome) for each in deliveries])

    def _fitting(self, deliveries: Sequence[Delivery]) -> int:
        """How many of the first messages stay within the bytes that a batch may have; at least one."""
        sizes = accumulate(len(each.body) for each in deliveries)
        return max(1, sum(size <= self._largest for size in sizes))
