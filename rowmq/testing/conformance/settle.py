"""Settling: what becomes of a claimed message, and who may still say so."""

from uuid import uuid4

import pytest

from rowmq.core.delivery import Receipt, Settlement
from rowmq.core.history import Amendment, FailedAttempt
from rowmq.core.outcome import ACK, Bury, Outcome, Reason, Release, Retry, Settled, State
from rowmq.core.store import Store
from rowmq.testing.build import (
    T0,
    after,
    claim,
    claim_one,
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

OUTCOMES: list[Outcome] = [
    ACK,
    Retry(),
    Retry(delay=span(60), error="x"),
    Release(),
    Release(delay=span(60)),
    Bury(),
    Bury(reason=Reason.INVALID, error="x"),
]
ERRORS = ("plain", "naïve 日本語 🎉", "line\none\ttwo", 'it\'s "quoted" \\ %s :x ? ${}', "", "x" * 100_000)


# Ack.


def test_an_acked_message_is_done_and_stays_in_the_history(store: Store) -> None:
    put_queue(store)
    push(store, message({"a": 1}, priority=3))
    delivery = claim_one(store, consumer="w", now=after(1))
    assert settle(store, delivery, now=after(5)) is Settled.SETTLED
    assert states(store, now=after(5)) == {"done": 1}
    found = record(store, delivery.id, now=after(5))
    assert (found.state, found.reason, found.queue, found.source) == (State.DONE, None, "q", None)
    assert (found.started_at, found.finished_at, found.visible_at) == (after(1), after(5), None)
    assert (found.attempts, found.receives, found.consumer, found.priority) == (1, 1, "w", 3)
    assert (found.payload, found.created_at) == ({"a": 1}, T0)


def test_a_done_message_never_comes_again(store: Store) -> None:
    put_queue(store)
    push(store, message())
    settle(store, claim_one(store))
    assert claim(store, 10, now=after(1_000_000)) == []


def test_an_ack_repeated_with_the_token_that_won_is_repeated(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    settle(store, delivery)
    before = record(store, delivery.id)
    assert settle(store, delivery, now=after(1)) is Settled.REPEATED
    assert settle(store, delivery, now=after(5000)) is Settled.REPEATED
    assert record(store, delivery.id, now=after(5000)) == before


def test_an_ack_counts_after_the_lease_has_ended_while_nobody_has_claimed_anew(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    assert settle(store, delivery, now=after(500)) is Settled.SETTLED
    assert states(store, now=after(500)) == {"done": 1}
    assert store.history.failures(delivery.id) == []


@pytest.mark.parametrize("outcome", OUTCOMES[1:])
def test_a_done_message_takes_no_other_outcome(store: Store, outcome: Outcome) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    settle(store, delivery)
    assert settle(store, delivery, outcome) is Settled.LOST
    assert states(store) == {"done": 1}


def test_acks_count_in_a_paused_queue(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    put_queue(store, paused=True)
    assert settle(store, delivery) is Settled.SETTLED


# Fencing.


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_former_holder_settles_nothing_after_another_claim(store: Store, outcome: Outcome) -> None:
    put_queue(store)
    push(store, message())
    former = claim_one(store, consumer="former")
    holder = claim_one(store, consumer="holder", now=after(30))
    before = record(store, holder.id, now=after(31))
    failed = store.history.failures(holder.id)
    assert settle(store, former, outcome, now=after(31)) is Settled.LOST
    assert record(store, holder.id, now=after(31)) == before
    assert store.history.failures(holder.id) == failed
    assert settle(store, holder, now=after(31)) is Settled.SETTLED
    assert settle(store, former, outcome, now=after(32)) is Settled.LOST


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("first", [Retry(), Retry(delay=span(10), error="x"), Release(), Bury()])
def test_a_settled_receipt_settles_nothing_more(store: Store, first: Outcome, outcome: Outcome) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    settle(store, delivery, first)
    before = record(store, delivery.id)
    assert settle(store, delivery, outcome) is Settled.LOST
    assert record(store, delivery.id) == before


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_receipt_that_never_was_settles_nothing(store: Store, outcome: Outcome) -> None:
    put_queue(store)
    push(store, *messages(2))
    delivery = claim_one(store)
    seq, token = delivery.receipt
    waiting = next(found for found in store.history.find("q", now=T0).records if found.seq != seq)
    for receipt in (
        Receipt(seq, uuid4().bytes),
        Receipt(seq, b""),
        Receipt(seq + 1000, token),
        Receipt(waiting.seq, token),
    ):
        assert settle(store, receipt, outcome) is Settled.LOST
    assert states(store) == {"ready": 1, "leased": 1}


@pytest.mark.parametrize("amendment", [Amendment.RETRY, Amendment.KILL, Amendment.DROP])
def test_a_holder_loses_what_an_operator_amends(store: Store, amendment: Amendment) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    assert store.history.amend([delivery.id], amendment, now=T0) == 1
    assert settle(store, delivery) is Settled.LOST


# Retry.


def test_a_retried_message_comes_again_after_its_delay(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store, consumer="w")
    assert settle(store, delivery, Retry(delay=span(10), error="boom"), now=after(5)) is Settled.SETTLED
    found = record(store, delivery.id, now=after(5))
    assert (found.state, found.visible_at, found.attempts) == (State.SCHEDULED, after(15), 1)
    assert (found.consumer, found.started_at) == (None, None)
    assert claim(store, now=after(14)) == []
    assert claim_one(store, now=after(15)).attempt == 2


def test_a_retry_without_a_delay_is_ready_at_once(store: Store) -> None:
    put_queue(store)
    push(store, message())
    settle(store, claim_one(store), Retry())
    assert states(store) == {"ready": 1}


def test_a_failed_attempt_is_kept_with_its_error(store: Store) -> None:
    put_queue(store)
    push(store, message())
    first = claim_one(store, consumer="a", now=after(1))
    settle(store, first, Retry(error="first"), now=after(2))
    settle(store, claim_one(store, consumer="b", now=after(3)), Bury(error="second"), now=after(4))
    assert store.history.failures(first.id) == [
        FailedAttempt(1, "q", "a", after(1), after(2), "first"),
        FailedAttempt(2, "q", "b", after(3), after(4), "second"),
    ]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: repr(error[:10]))
def test_an_error_is_kept_as_it_was_said(store: Store, error: str) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    settle(store, delivery, Retry(error=error))
    assert [failed.error for failed in store.history.failures(delivery.id)] == [error]


@pytest.mark.parametrize("outcome", [ACK, Release(), Retry(), Bury()])
def test_without_an_error_no_failed_attempt_is_kept(store: Store, outcome: Outcome) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    settle(store, delivery, outcome)
    assert store.history.failures(delivery.id) == []


def test_a_retry_of_the_last_attempt_is_a_burial(store: Store) -> None:
    put_queue(store, max_attempts=2)
    push(store, message())
    settle(store, claim_one(store), Retry())
    delivery = claim_one(store)
    assert settle(store, delivery, Retry(delay=span(60), error="again"), now=after(1)) is Settled.SETTLED
    found = record(store, delivery.id, now=after(1))
    assert (found.state, found.reason, found.finished_at) == (State.DEAD, Reason.EXHAUSTED, after(1))
    assert [failed.error for failed in store.history.failures(delivery.id)] == ["again"]


def test_a_settled_retry_after_the_lease_has_ended_is_not_a_vanished_holder(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    settle(store, delivery, Retry(error="late"), now=after(40))
    claim_one(store, now=after(41))
    assert [failed.error for failed in store.history.failures(delivery.id)] == ["late"]


# Release.


def test_a_released_message_comes_back_at_once_and_its_attempt_does_not_count(store: Store) -> None:
    put_queue(store, max_attempts=1)
    push(store, message())
    for number in range(1, 5):
        delivery = claim_one(store, now=after(number))
        assert (delivery.attempt, delivery.receives) == (1, number)
        assert settle(store, delivery, Release(), now=after(number)) is Settled.SETTLED
    found = record(store, delivery.id, now=after(4))
    assert (found.state, found.attempts, found.visible_at) == (State.READY, 0, after(4))
    assert (found.consumer, found.started_at) == (None, None)


def test_a_released_message_may_come_back_after_a_delay(store: Store) -> None:
    put_queue(store, max_attempts=1)
    push(store, message())
    delivery = claim_one(store, consumer="w")
    assert settle(store, delivery, Release(delay=span(10)), now=after(5)) is Settled.SETTLED
    found = record(store, delivery.id, now=after(5))
    assert (found.state, found.attempts, found.visible_at) == (State.SCHEDULED, 0, after(15))
    assert (found.consumer, found.started_at) == (None, None)
    assert claim(store, now=after(14.999999)) == []
    again = claim_one(store, now=after(15))
    assert (again.attempt, again.receives, again.last_attempt) == (1, 2, True)
    assert store.history.failures(delivery.id) == []


def test_releases_of_one_call_may_have_different_delays(store: Store) -> None:
    put_queue(store)
    push(store, *messages(4))
    outcomes: list[Outcome] = [
        Release(),
        Release(delay=span(5)),
        Retry(delay=span(5)),
        Release(delay=span(9)),
    ]
    given = [Settlement(d.receipt, o) for d, o in zip(claim(store, 4), outcomes, strict=True)]
    assert set(store.settle(given, now=T0)) == {Settled.SETTLED}
    found = store.history.find("q", now=T0).records
    assert [one.visible_at for one in found] == [T0, after(5), after(5), after(9)]
    assert [one.attempts for one in found] == [0, 0, 1, 0]


# Bury.


@pytest.mark.parametrize("reason", list(Reason))
def test_a_buried_message_is_dead_with_its_reason(store: Store, reason: Reason) -> None:
    put_queue(store)
    push(store, message("x"))
    delivery = claim_one(store, consumer="w")
    assert settle(store, delivery, Bury(reason=reason), now=after(1)) is Settled.SETTLED
    found = record(store, delivery.id, now=after(1))
    assert (found.state, found.reason, found.finished_at) == (State.DEAD, reason, after(1))
    assert (found.attempts, found.receives, found.consumer, found.started_at) == (1, 1, "w", T0)
    assert (found.payload, found.queue, found.visible_at) == ("x", "q", None)
    assert claim(store, now=after(10_000)) == []


def test_an_ack_of_a_buried_message_is_lost(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    settle(store, delivery, Bury())
    assert settle(store, delivery) is Settled.LOST


# Many at once.


def test_settlements_of_one_call_are_answered_in_order(store: Store) -> None:
    put_queue(store)
    push(store, *messages(5))
    held = claim(store, 5)
    settle(store, held[1])
    outcomes: list[Outcome] = [Bury(), ACK, Retry(delay=span(5)), Release(), ACK]
    answers = store.settle([Settlement(d.receipt, o) for d, o in zip(held, outcomes, strict=True)], now=T0)
    assert answers == ["settled", "repeated", "settled", "settled", "settled"]
    assert states(store) == {"ready": 1, "scheduled": 1, "done": 2, "dead": 1}


def test_one_receipt_twice_in_a_call_sees_its_first_effect(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3))
    a, b, c = (delivery.receipt for delivery in claim(store, 3))
    given: list[tuple[Receipt, Outcome]] = [(a, ACK), (a, ACK), (b, Retry()), (b, ACK), (c, ACK), (c, Bury())]
    answers = store.settle([Settlement(*each) for each in given], now=T0)
    assert answers == ["settled", "repeated", "settled", "lost", "settled", "lost"]
    assert states(store) == {"ready": 1, "done": 2}


def test_settlements_may_reach_several_queues(store: Store) -> None:
    put_queue(store, "a")
    put_queue(store, "b", max_attempts=1)
    held = []
    for name in "ab":
        push(store, message(), queue=name)
        held.append(Settlement(claim_one(store, queue=name).receipt, Retry()))
    assert store.settle(held, now=T0) == [Settled.SETTLED, Settled.SETTLED]
    assert (states(store, "a"), states(store, "b")) == ({"ready": 1}, {"dead": 1})


def test_settling_nothing_is_answered_with_nothing(store: Store) -> None:
    assert store.settle([], now=T0) == []


def test_a_hundred_settlements_count_at_once(store: Store) -> None:
    put_queue(store)
    push(store, *messages(100))
    held = claim(store, 100)
    answers = store.settle([Settlement(delivery.receipt, ACK) for delivery in held], now=T0)
    assert set(answers) == {Settled.SETTLED}
    assert states(store) == {"done": 100}


# Retention 0.


def test_a_queue_with_retention_0_drops_the_payload_at_the_ack(store: Store) -> None:
    put_queue(store, retention=span(0))
    push(store, message("secret", metadata={"v": "1"}))
    delivery = claim_one(store)
    assert payloads([record(store, delivery.id)]) == ["secret"]
    settle(store, delivery, ACK)
    found = record(store, delivery.id)
    assert (found.body, found.payload, found.metadata) == (None, None, {"v": "1"})


@pytest.mark.parametrize("first", ["keeping", "dropping"])
def test_acks_of_several_queues_at_once_follow_the_retention_of_each(store: Store, first: str) -> None:
    put_queue(store, "keeping")
    put_queue(store, "dropping", retention=span(0))
    held = []
    for queue in sorted(("keeping", "dropping"), key=lambda name: name != first):
        push(store, message(queue), queue=queue)
        held.append(claim_one(store, queue=queue))
    answers = store.settle([Settlement(delivery.receipt, ACK) for delivery in held], now=T0)
    assert answers == [Settled.SETTLED] * 2
    kept = {delivery.queue: record(store, delivery.id).body for delivery in held}
    assert kept == {"keeping": b'"keeping"', "dropping": None}


# What errors say.


@pytest.mark.parametrize("outcome", [Retry, Bury])
@pytest.mark.parametrize(
    "error", ["a\0b", "\ud800", "<script>", "'; DROP TABLE rowmq_messages; --", "%s %(x)s {0}", "é🦆\n\t", ""]
)
def test_an_error_may_say_anything(store: Store, outcome: type[Retry] | type[Bury], error: str) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    assert settle(store, delivery, outcome(error=error)) is Settled.SETTLED
    (failed,) = store.history.failures(delivery.id)
    assert failed.error == error.replace("\0", "\ufffd").replace("\ud800", "?")
