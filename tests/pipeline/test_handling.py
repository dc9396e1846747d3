"""Handlers on executors, without Spark: what becomes of each message, and how a batch is parted."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

import rowmq
from rowmq import testing
from rowmq.core.delivery import Claim, Delivery
from rowmq.core.errors import InvalidSetting
from rowmq.core.outcome import Reason
from rowmq.core.queue import Queue
from rowmq.pipeline.handlers.handling import Handling
from rowmq.pipeline.stream.batches import Batch, Batches
from rowmq.pipeline.stream.parcel import Parcel, parcels, slices, still_held
from rowmq.pipeline.stream.receipt import receipt_from, receipt_text
from rowmq.runtime.registry import Job, Unreadable, is_async
from rowmq.testing.build import message, messages, push

if TYPE_CHECKING:
    from collections.abc import Callable

    from rowmq.core.store import Store
    from rowmq.runtime.claimed import ClaimedMessage


@pytest.fixture
def clock() -> testing.Clock:
    return testing.Clock()


@pytest.fixture
def store(clock: testing.Clock) -> Store:
    found = testing.connect(clock).store
    found.queues.put("q", {"max_attempts": 2})
    return found


def taken(store: Store, count: int = 100, name: str = "batch") -> Batch:
    batch = Batches(store, "q", consumer="test").take(name, count)
    assert batch is not None
    return batch


def handling(store: Store, handler: Callable[[ClaimedMessage], Any], **job: Any) -> Handling:
    made = Job("handler", handler, is_async(handler), **job)
    return Handling(store, lambda _: made)


def pushed(store: Store, clock: testing.Clock, *given: Any, **options: Any) -> None:
    push(store, *(message(each, **options) for each in given), now=clock.now())


def states(store: Store, batch: Batch) -> list[str]:
    records = [store.history.get(each.id) for each in batch.deliveries]
    return [each.state.value for each in records if each is not None]


def test_a_message_that_succeeds_stays_in_its_batch(store: Store, clock: testing.Clock) -> None:
    pushed(store, clock, 1, 2)
    batch = taken(store)
    run = handling(store, lambda _: None)
    assert [each.delivery.payload for each in run.run(batch.deliveries)] == [1, 2]
    assert states(store, batch) == ["leased", "leased"]
    assert run.counts == {"done": 2}


def test_a_message_that_fails_leaves_its_batch_at_once_and_alone(store: Store, clock: testing.Clock) -> None:
    def handle(message: ClaimedMessage) -> None:
        if message.payload == 2:
            raise ValueError("two")

    pushed(store, clock, 1, 2, 3)
    batch = taken(store)
    run = handling(store, handle)
    assert [each.delivery.payload for each in run.run(batch.deliveries)] == [1, 3]
    assert states(store, batch) == ["leased", "scheduled", "leased"]
    assert run.counts == {"done": 2, "retried": 1}
    Batches(store, "q", consumer="test").finish(batch.claim)
    assert states(store, batch) == ["done", "scheduled", "done"]
    (failure,) = store.history.failures(batch.deliveries[1].id)
    assert "ValueError: two" in failure.error


def test_the_last_attempt_buries(store: Store, clock: testing.Clock) -> None:
    def handle(message: ClaimedMessage) -> None:
        raise ValueError

    pushed(store, clock, 1)
    handling(store, handle).run(taken(store).deliveries)
    clock.move(60)
    batch = taken(store, name="again")
    run = handling(store, handle)
    run.run(batch.deliveries)
    found = store.history.get(batch.deliveries[0].id)
    assert found is not None
    assert (found.state, found.reason) == ("dead", Reason.EXHAUSTED)
    assert run.counts == {"dead": 1}


def test_kill_buries_and_retry_says_when(store: Store, clock: testing.Clock) -> None:
    def handle(message: ClaimedMessage) -> None:
        raise rowmq.Kill("no") if message.payload == 1 else rowmq.Retry(after=7)

    pushed(store, clock, 1, 2)
    batch = taken(store)
    handling(store, handle).run(batch.deliveries)
    dead, later = (store.history.get(each.id) for each in batch.deliveries)
    assert dead is not None
    assert later is not None
    assert dead.reason == Reason.KILLED
    assert later.visible_at == clock.now() + timedelta(seconds=7)


def test_snooze_brings_it_back_without_counting(store: Store, clock: testing.Clock) -> None:
    pushed(store, clock, 1)
    batch = taken(store)
    run = handling(store, lambda _: rowmq.Snooze(after=9))
    assert run.run(batch.deliveries) == []
    found = store.history.get(batch.deliveries[0].id)
    assert found is not None
    assert (found.state, found.attempts) == ("scheduled", 0)
    assert run.counts == {"released": 1}


def test_what_a_handler_returns_is_reported_where_results_are_kept(
    store: Store, clock: testing.Clock
) -> None:
    pushed(store, clock, 20)
    batch = taken(store)
    (done,) = handling(store, lambda message: message.payload + 1, results=True).run(batch.deliveries)
    assert json.loads(done.result or b"") == 21


def test_an_async_handler_runs_too(store: Store, clock: testing.Clock) -> None:
    async def handle(message: ClaimedMessage) -> int:
        return int(message.payload)

    pushed(store, clock, 5)
    (done,) = handling(store, handle, results=True).run(taken(store).deliveries)
    assert done.result == b"5"


def test_a_handler_that_took_too_long_has_failed(store: Store, clock: testing.Clock) -> None:
    pushed(store, clock, 1)
    run = handling(store, lambda _: time.sleep(0.02), timeout=0.01)
    assert run.run(taken(store).deliveries) == []
    assert run.counts == {"retried": 1}


def test_a_message_no_function_can_be_given_is_invalid(store: Store, clock: testing.Clock) -> None:
    def nobody(delivery: Delivery) -> Job:
        raise Unreadable("nobody here")

    pushed(store, clock, 1)
    batch = taken(store)
    Handling(store, nobody).run(batch.deliveries)
    found = store.history.get(batch.deliveries[0].id)
    assert found is not None
    assert found.reason == Reason.INVALID


def test_a_message_settled_by_its_handler_is_left_as_it_is(store: Store, clock: testing.Clock) -> None:
    pushed(store, clock, 1)
    batch = taken(store)
    handling(store, lambda message: message.ack(result="mine")).run(batch.deliveries)
    found = store.history.get(batch.deliveries[0].id)
    assert found is not None
    assert (found.state, found.result) == ("done", b'"mine"')


def test_behind_a_message_that_comes_back_its_group_comes_back_in_order(
    store: Store, clock: testing.Clock
) -> None:
    def handle(message: ClaimedMessage) -> None:
        seen.append(message.payload)
        if message.payload == "a1":
            raise ValueError

    seen: list[str] = []
    push(store, *(message(each, group=each[0]) for each in ("a1", "a2", "b1", "a3")), now=clock.now())
    run = handling(store, handle)
    batch = taken(store)
    run.run(batch.deliveries)
    Batches(store, "q", consumer="test").finish(batch.claim)
    assert seen == ["a1", "b1"]
    assert run.counts == {"retried": 1, "released": 2, "done": 1}
    clock.move(60)
    again = taken(store, name="again").deliveries
    assert [(each.payload, each.attempt) for each in again] == [("a1", 2), ("a2", 1), ("a3", 1)]


def test_behind_a_message_that_is_dead_its_group_goes_on(store: Store, clock: testing.Clock) -> None:
    def handle(message: ClaimedMessage) -> None:
        if message.payload == 1:
            raise rowmq.Kill("no")

    pushed(store, clock, 1, 2, group="g")
    assert [each.delivery.payload for each in handling(store, handle).run(taken(store).deliveries)] == [2]


def test_a_fifo_queue_is_one_group(store: Store, clock: testing.Clock) -> None:
    def handle(message: ClaimedMessage) -> None:
        raise ValueError

    store.queues.put("q", {"fifo": True})
    pushed(store, clock, 1, 2, 3)
    run = handling(store, handle)
    run.run(taken(store).deliveries)
    assert run.counts == {"retried": 1, "released": 2}


def batch_of(store: Store, count: int = 1000, *, fifo: bool = False) -> Batch:
    return taken(store, count)._replace(queue=Queue(name="q", fifo=fifo))


def test_a_batch_is_parted_evenly_and_in_order(store: Store, clock: testing.Clock) -> None:
    push(store, *messages(10), now=clock.now())
    parts = [[each.payload for each in part.open()] for part in parcels(batch_of(store), 3)]
    assert parts == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_a_small_batch_is_one_part_unless_more_are_asked_for(store: Store, clock: testing.Clock) -> None:
    push(store, *messages(10), now=clock.now())
    assert len(parcels(batch_of(store))) == 1


def test_a_large_batch_has_more_parts_than_asked_for(store: Store, clock: testing.Clock) -> None:
    push(store, *(message(b"x" * 2**23) for _ in range(5)), now=clock.now())
    assert len(parcels(batch_of(store), 1)) == 3


def test_a_group_stays_in_one_part_in_order(store: Store, clock: testing.Clock) -> None:
    push(store, *(message(number, group=f"g{number % 7}") for number in range(70)), now=clock.now())
    parts = [part.open() for part in parcels(batch_of(store), 4)]
    assert sorted(each.payload for part in parts for each in part) == list(range(70))
    for group in range(7):
        (home,) = [part for part in parts if any(each.group == f"g{group}" for each in part)]
        of_group = [each.payload for each in home if each.group == f"g{group}"]
        assert of_group == sorted(of_group)
    assert len(parts) > 1


def test_a_fifo_queue_stays_in_one_part(store: Store, clock: testing.Clock) -> None:
    store.queues.put("q", {"fifo": True})
    push(store, *messages(10), now=clock.now())
    (part,) = parcels(batch_of(store, fifo=True), 4)
    assert [each.payload for each in part.open()] == list(range(10))


def test_a_parcel_has_messages_as_they_were_claimed(store: Store, clock: testing.Clock) -> None:
    pushed(store, clock, {"a": [1, "é"]}, b"\x00\xff", metadata={"k": "v"}, group="g")
    batch = taken(store)
    assert Parcel.of(batch.deliveries, timedelta(seconds=1)).open() == batch.deliveries


def test_what_an_executor_reads_comes_in_pieces_of_some_rows_and_some_bytes(
    store: Store, clock: testing.Clock
) -> None:
    push(store, *messages(2500), message(b"x" * 2**22), message(1), now=clock.now())
    pieces = list(slices(taken(store, 5000).deliveries))
    assert [len(each) for each in pieces] == [1000, 1000, 501, 1]


def test_of_a_part_read_again_only_what_is_still_held_comes(store: Store, clock: testing.Clock) -> None:
    def handle(message: ClaimedMessage) -> None:
        raise ValueError

    pushed(store, clock, 1, 2, 3)
    batch = taken(store)
    handling(store, handle).run(batch.deliveries[:1])
    held = still_held(store, batch.deliveries, timedelta(seconds=30))
    assert [each.payload for each in held] == [2, 3]


def test_a_receipt_is_read_as_it_was_written(store: Store, clock: testing.Clock) -> None:
    pushed(store, clock, 1)
    receipt = taken(store).deliveries[0].receipt
    assert receipt_from(receipt_text(receipt)) == receipt


@pytest.mark.parametrize("text", ["", "x.00", "1.zz"])
def test_what_is_no_receipt_is_refused(text: Any) -> None:
    with pytest.raises(InvalidSetting, match="no receipt"):
        receipt_from(text)


def test_a_claim_knows_its_name(store: Store, clock: testing.Clock) -> None:
    pushed(store, clock, 1)
    batch = taken(store, name="mine")
    assert batch.claim == Claim("mine", batch.deliveries[0].token)
