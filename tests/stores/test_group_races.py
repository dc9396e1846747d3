"""Groups that many push to and ack from at once."""

from __future__ import annotations

import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Lock
from typing import TYPE_CHECKING

import pytest

from rowmq.core.delivery import Want
from rowmq.core.message import Batch, Pushed
from rowmq.core.outcome import Settled
from rowmq.testing.build import message
from tests.stores.meeting import ack, opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.core.delivery import Delivery
    from rowmq.stores.sql.store import SQLStore


@pytest.fixture
def store(sql_url: str) -> Iterator[SQLStore]:
    with closing(opened(sql_url)) as store:
        yield store


class Log:
    """What was delivered, by group, in the order of delivery."""

    def __init__(self) -> None:
        self.seqs: dict[str, list[int]] = defaultdict(list)
        self.live: set[str] = set()
        self._lock = Lock()

    def began(self, delivery: Delivery) -> None:
        group = str(delivery.group)
        with self._lock:
            assert group not in self.live, f"two messages of {group} were out at once"
            self.live.add(group)
            self.seqs[group].append(delivery.receipt.seq)

    def ends(self, delivery: Delivery) -> None:
        with self._lock:
            self.live.discard(str(delivery.group))

    @property
    def count(self) -> int:
        with self._lock:
            return sum(map(len, self.seqs.values()))


PUSHERS, ROUNDS, GROUPS = 6, 10, ("a", "b", "c")


def churn(store: SQLStore, number: int) -> None:
    """Push to all groups, each thread in an order of its own."""
    turned = GROUPS[number % 3 :] + GROUPS[: number % 3]
    for _ in range(ROUNDS):
        (answer,) = store.push([Batch("q", [message(group=group) for group in turned])])
        assert isinstance(answer, Pushed), answer


def consume(store: SQLStore, log: Log, total: int) -> None:
    """Claim and ack several groups together until everything has been delivered."""
    end = time.monotonic() + 60
    while log.count < total and time.monotonic() < end:
        (batch,) = store.claim("q", [Want(limit=3)])
        for each in batch:
            log.began(each)
        for each in batch:
            log.ends(each)
        assert set(ack(store, *batch)) <= {Settled.SETTLED}


def test_groups_that_many_push_to_and_ack_from_keep_their_order(store: SQLStore) -> None:
    log, total = Log(), PUSHERS * ROUNDS * len(GROUPS)
    with ThreadPoolExecutor(2 * PUSHERS) as pool:
        work = [pool.submit(churn, store, number) for number in range(PUSHERS)]
        work += [pool.submit(consume, store, log, total) for _ in range(PUSHERS)]
        for each in work:
            each.result(timeout=90)
    assert log.count == total
    assert all(seqs == sorted(seqs) for seqs in log.seqs.values())
    assert store.queues.stats("q").done == total
