"""Results: what an ack was given is kept as long as the outcome is."""

import json

import pytest

from rowmq.core.delivery import Settlement
from rowmq.core.outcome import ACK, LARGEST_RESULT, Ack, Bury, Outcome, Retry, Settled, State
from rowmq.core.store import Store
from rowmq.testing.build import (
    after,
    claim,
    claim_one,
    dead_message,
    everything,
    message,
    messages,
    payloads,
    push,
    put_queue,
    record,
    settle,
    span,
    states,
)

RESULTS = (
    b"null",
    b"",
    b'{"a": [1, 2.5, "x"]}',
    '"日本語 🎉"'.encode(),
    b'"it\'s \\\\ %s :x ?"',
    bytes(range(256)),
    b"x" * LARGEST_RESULT,
)


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: repr(result[:20]))
def test_a_result_is_kept_byte_for_byte(store: Store, result: bytes) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    assert settle(store, delivery, Ack(result)) is Settled.SETTLED
    assert record(store, delivery.id).result == result
    assert [found.result for found in everything(store)] == [result]
    assert [found.result for found in store.history.scan(*store.history.bounds())] == [result]


def test_a_message_without_a_result_has_none_in_any_state(store: Store) -> None:
    put_queue(store)
    dead_message(store)
    push(store, *messages(3))
    settle(store, claim_one(store))
    claim_one(store)
    assert states(store) == {"ready": 1, "leased": 1, "done": 1, "dead": 1}
    assert [found.result for found in everything(store)] == [None] * 4


def test_acks_with_and_without_a_result_count_together(store: Store) -> None:
    put_queue(store)
    put_queue(store, "fifo", fifo=True)
    push(store, *messages(4))
    push(store, message("last", group="g"), queue="fifo")
    held = [*claim(store, 4), *claim(store, queue="fifo")]
    outcomes: list[Outcome] = [ACK, Ack(b"1"), Retry(), Ack(b"3"), Ack(b"4")]
    given = [Settlement(one.receipt, outcome) for one, outcome in zip(held, outcomes, strict=True)]
    assert set(store.settle(given, now=after(1))) == {Settled.SETTLED}
    found = [record(store, one.id, now=after(1)) for one in held]
    assert [one.result for one in found] == [None, b"1", None, b"3", b"4"]
    assert [one.state for one in found] == ["done", "done", "ready", "done", "done"]


def test_an_ack_repeated_with_another_result_leaves_the_first(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2))
    first, second = claim(store, 2)
    settle(store, first, Ack(b"1"))
    settle(store, second)
    for delivery in (first, second):
        assert settle(store, delivery, Ack(b"2")) is Settled.REPEATED
        assert settle(store, delivery, ACK) is Settled.REPEATED
    assert [record(store, one.id).result for one in (first, second)] == [b"1", None]


def test_an_ack_that_is_lost_leaves_no_result(store: Store) -> None:
    put_queue(store)
    push(store, message())
    former = claim_one(store)
    holder = claim_one(store, now=after(30))
    assert settle(store, former, Ack(b"1"), now=after(31)) is Settled.LOST
    assert settle(store, holder, Ack(b"2"), now=after(31)) is Settled.SETTLED
    assert settle(store, former, Ack(b"3"), now=after(32)) is Settled.LOST
    assert record(store, holder.id, now=after(32)).result == b"2"


def test_an_ack_with_a_result_lets_the_next_of_its_group_come(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2, group="g"))
    settle(store, claim_one(store), Ack(b"1"))
    assert payloads(claim(store, 5)) == [1]


def test_a_result_is_given_to_all_that_is_left_of_a_named_claim(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3))
    held = claim(store, 3, name="run")
    settle(store, held[0], Bury())
    adopted = store.adopt("run")
    assert adopted is not None
    settle(store, adopted.claim, Ack(b"7"))
    assert [record(store, one.id).result for one in held] == [None, b"7", b"7"]


def test_a_result_stays_as_long_as_the_outcome_when_the_payload_is_dropped(store: Store) -> None:
    put_queue(store, retention=span(0))
    push(store, message("secret"))
    delivery = claim_one(store)
    settle(store, delivery, Ack(b"7"))
    store.history.sweep(now=after(3599))
    found = record(store, delivery.id, now=after(3599))
    assert (found.state, found.body, found.result) == (State.DONE, None, b"7")
    store.history.sweep(now=after(3600))
    assert store.history.get(delivery.id, now=after(3600)) is None


def test_a_result_is_pruned_with_its_outcome(store: Store) -> None:
    put_queue(store, retention=span(60))
    said = message()
    push(store, said)
    settle(store, claim_one(store), Ack(json.dumps({"sum": 3}).encode()))
    assert store.history.sweep(now=after(60)).pruned == 1
    push(store, said, now=after(61))
    assert record(store, said.id, now=after(61)).result is None
