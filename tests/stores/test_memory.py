"""The store in memory with a clock that its user moves."""

from datetime import UTC, datetime, timedelta

from rowmq.core.delivery import Settlement, Want
from rowmq.core.message import Batch
from rowmq.core.outcome import Release
from rowmq.stores.memory import MemoryStore
from rowmq.testing.build import T0, message


class Clock:
    def __init__(self) -> None:
        self.moment = T0

    def __call__(self) -> datetime:
        return self.moment


def test_a_clock_moved_by_hand_counts_wherever_no_moment_is_given() -> None:
    clock = Clock()
    store = MemoryStore(clock)
    store.queues.put("q", {"lease": timedelta(seconds=30)})
    store.push([Batch("q", [message(delay=timedelta(hours=1))])])
    assert store.claim("q", [Want()]) == [[]]
    clock.moment += timedelta(hours=1)
    ((delivery,),) = store.claim("q", [Want()])
    assert delivery.lease_until == store.now() + timedelta(seconds=30) == T0 + timedelta(seconds=3630)
    store.settle([Settlement(delivery.receipt, Release(delay=timedelta(days=1)))])
    clock.moment += timedelta(days=1)
    assert store.queues.stats("q").ready == 1
    assert store.consumers.lead("role", "a", timedelta(seconds=1))
    assert not store.consumers.lead("role", "b", timedelta(seconds=1))
    clock.moment += timedelta(seconds=1)
    assert store.consumers.lead("role", "b", timedelta(seconds=1))


def test_without_one_it_goes_by_the_clock_of_this_process() -> None:
    before = datetime.now(UTC)
    assert before <= MemoryStore().now() <= datetime.now(UTC)
