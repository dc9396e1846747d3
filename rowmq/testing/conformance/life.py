"""The life of a store itself: waiting, migrating, and what it promises to survive."""

import threading
import time
from datetime import timedelta

from rowmq.core.delivery import Want
from rowmq.core.message import Batch
from rowmq.core.store import Store
from rowmq.testing.build import message, put_queue

SOON = timedelta(milliseconds=50)
LATE = timedelta(seconds=20)


def push_now(store: Store, queue: str = "q") -> None:
    """Push by the store's own clock, which is the one that waiting goes by."""
    store.push([Batch(queue, [message()])])


def test_a_wait_ends_soon_after_a_push_from_elsewhere(store: Store) -> None:
    put_queue(store)
    timer = threading.Timer(0.2, push_now, (store,))
    timer.start()
    started = time.monotonic()
    woken = store.wait(["other", "q"], LATE)
    timer.join()
    assert woken
    assert time.monotonic() - started < LATE.total_seconds() / 2


def test_a_wait_ends_at_its_timeout_when_nothing_is_pushed(store: Store) -> None:
    put_queue(store)
    started = time.monotonic()
    store.wait(["q"], SOON)
    assert time.monotonic() - started < LATE.total_seconds() / 2


def test_what_is_pushed_by_the_stores_own_clock_can_be_claimed_at_once(store: Store) -> None:
    put_queue(store)
    push_now(store)
    assert len(store.claim("q", [Want()])[0]) == 1


def test_a_store_tells_what_its_clock_says(store: Store) -> None:
    put_queue(store)
    before = store.now()
    said = message()
    store.push([Batch("q", [said])])
    found = store.history.get(said.id)
    assert found is not None
    assert before <= found.created_at <= store.now()
    assert before.utcoffset() == timedelta(0)


def test_a_migrated_store_has_nothing_left_to_migrate(store: Store) -> None:
    assert store.migrate() == []


def test_a_store_tells_what_its_writes_survive(store: Store) -> None:
    durability = store.durability
    assert durability.grade in {"A", "B", "C"}
    assert durability.because
