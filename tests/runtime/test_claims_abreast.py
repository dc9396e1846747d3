"""A worker that has two claims under way, where its store gains by that."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import rowmq
from rowmq.runtime import fetcher
from rowmq.stores.memory import MemoryStore
from tests.runtime.working import PATIENCE, drain, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from rowmq.core.delivery import Delivery, Want


class Watched(MemoryStore):
    """A store whose large claims, but for the first, wait until two are under way, if there are ever two.

    Then ``met`` is set. The second of the two keeps what it got until the gate opens.
    """

    abreast = 2

    def __init__(self) -> None:
        super().__init__()
        self.under_way = self.large = 0
        self.patience = PATIENCE
        self.met, self.gate = threading.Event(), threading.Event()
        self.gate.set()
        self._counting = threading.Lock()

    def claim(
        self, queue: str, wants: Sequence[Want], *, now: datetime | None = None
    ) -> list[list[Delivery]]:
        if wants[0].limit < fetcher.LARGE:
            return super().claim(queue, wants, now=now)
        with self._counting:
            self.under_way += 1
            self.large += 1
            is_second, is_first = self.under_way == 2 and not self.met.is_set(), self.large == 1
        try:
            return self._claim(queue, wants, now, is_first=is_first, is_second=is_second)
        finally:
            with self._counting:
                self.under_way -= 1

    def _claim(
        self, queue: str, wants: Sequence[Want], now: datetime | None, *, is_first: bool, is_second: bool
    ) -> list[list[Delivery]]:
        found = super().claim(queue, wants, now=now)
        if is_second:
            self.met.set()
            self.gate.wait(PATIENCE)
        elif not is_first:
            self.met.wait(self.patience)
        return found


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No claim here is too long for another one beside it, however busy the machine is."""
    monkeypatch.setattr(fetcher, "BRIEF", 10 * PATIENCE)


@pytest.fixture
def store() -> Watched:
    return Watched()


@pytest.fixture
def mq(store: Watched) -> Iterator[rowmq.Client]:
    with rowmq.Client(store) as client:
        yield client


@pytest.fixture
def seen() -> list[int]:
    return []


@pytest.fixture
def most() -> int | None:
    """How many handlers may run at once, whatever the worker's concurrency."""
    return None


@pytest.fixture
def q(mq: rowmq.Client, seen: list[int], most: int | None) -> rowmq.QueueHandle:
    """A queue with 6,000 messages, whose handler notes what it gets."""
    queue = mq.queue("q")
    queue.handler(concurrency=most)(lambda message: seen.append(message.payload))
    queue.push_many(range(6000))
    return queue


def test_claims_go_abreast_while_large_ones_come_back_full(
    mq: rowmq.Client, store: Watched, q: rowmq.QueueHandle, seen: list[int]
) -> None:
    drain(mq, batch=500)
    assert store.met.is_set()
    assert Counter(seen) == Counter(range(6000))
    assert q.stats().done == 6000


@pytest.mark.usefixtures("q")
@pytest.mark.parametrize(("most", "concurrency"), [(None, 1), (1, 8)])
def test_a_single_hand_gets_everything_in_order(
    mq: rowmq.Client, store: Watched, seen: list[int], concurrency: int
) -> None:
    store.patience = 0.0
    drain(mq, concurrency=concurrency, batch=500)
    assert not store.met.is_set()
    assert seen == list(range(6000))


def test_beside_a_long_claim_there_is_no_other(
    mq: rowmq.Client, store: Watched, q: rowmq.QueueHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetcher, "BRIEF", 0.0)
    store.patience = 0.0
    drain(mq, batch=500)
    assert not store.met.is_set()
    assert q.stats().done == 6000


def test_a_worker_is_not_done_while_a_claim_beside_is_under_way(
    mq: rowmq.Client, store: Watched, q: rowmq.QueueHandle, seen: list[int]
) -> None:
    store.gate.clear()
    running = threading.Thread(target=drain, args=(mq,), kwargs={"batch": 500})
    running.start()
    assert store.met.wait(PATIENCE)
    eventually(lambda: q.stats().done >= 5500)  # all but what is held up
    running.join(3 * fetcher.NAP)
    assert running.is_alive()
    store.gate.set()
    running.join(PATIENCE)
    assert sorted(seen) == list(range(6000))
    assert q.stats().done == 6000


def test_what_a_claim_beside_brings_after_a_stop_is_handled_or_given_back(
    mq: rowmq.Client, store: Watched, q: rowmq.QueueHandle, seen: list[int]
) -> None:
    store.gate.clear()
    worker = mq.worker(batch=500, sweep=False, schedules=False)
    worker.start()
    assert store.met.wait(PATIENCE)
    eventually(lambda: q.stats().done >= 5500)
    threading.Timer(0.1, store.gate.set).start()
    worker.stop(PATIENCE)
    stats = q.stats()
    assert stats.leased == 0
    assert len(set(seen)) == len(seen) == stats.done == 6000 - stats.ready
    assert all(each.attempt == 1 for each in q.claim(limit=500))
