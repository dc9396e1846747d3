"""How often and how late: guarantees, deadlines and ages."""

import pytest

from rowmq.core.history import FailedAttempt
from rowmq.core.outcome import VANISHED, Reason, Release, Retry, Settled, State
from rowmq.core.queue import Guarantee
from rowmq.core.store import Store
from rowmq.testing.build import (
    T0,
    after,
    claim,
    claim_one,
    extend,
    message,
    payloads,
    push,
    put_queue,
    record,
    settle,
    span,
    states,
)

ONCE = Guarantee.AT_MOST_ONCE


# Deadlines where a message is delivered at least once.


def test_a_lease_granted_before_the_deadline_ends_at_the_deadline_at_the_latest(store: Store) -> None:
    put_queue(store, lease=span(30))
    push(store, message(deadline=after(10)))
    assert claim_one(store).lease_until == after(10)
    assert claim_one(store, now=after(10)).attempt == 2


def test_a_lease_that_ends_before_the_deadline_is_not_changed_by_it(store: Store) -> None:
    put_queue(store, lease=span(30))
    push(store, message(deadline=after(31)))
    assert claim_one(store).lease_until == after(30)


@pytest.mark.parametrize("late", [10, 100])
def test_a_claim_after_the_deadline_runs_a_full_lease(store: Store, late: int) -> None:
    put_queue(store, lease=span(30))
    push(store, message(deadline=after(10)))
    delivery = claim_one(store, now=after(late))
    assert (delivery.lease_until, delivery.deadline) == (after(late + 30), after(10))


def test_where_delivery_is_at_least_once_a_deadline_buries_nothing(store: Store) -> None:
    put_queue(store)
    push(store, message(deadline=after(10)))
    assert store.history.sweep(now=after(100)).buried == 0
    settle(store, claim_one(store, now=after(100)), Retry(), now=after(100))
    assert states(store, now=after(100)) == {"ready": 1}


def test_a_deadline_that_has_passed_at_the_push_is_kept(store: Store) -> None:
    put_queue(store)
    push(store, message(deadline=after(-5)))
    assert claim_one(store).lease_until == after(30)


# At most once.


def test_at_most_once_a_vanished_holder_leaves_the_message_lost(store: Store) -> None:
    put_queue(store, delivery=ONCE)
    push(store, message())
    delivery = claim_one(store, consumer="w")
    assert claim(store, now=after(30)) == []
    found = record(store, delivery.id, now=after(30))
    assert (found.state, found.reason) == (State.DEAD, Reason.LOST)
    assert store.history.failures(delivery.id) == [FailedAttempt(1, "q", "w", T0, after(30), VANISHED)]


def test_at_most_once_a_reported_error_brings_the_message_back(store: Store) -> None:
    put_queue(store, delivery=ONCE)
    push(store, message())
    settle(store, claim_one(store), Retry(delay=span(5), error="x"))
    assert claim(store, now=after(4)) == []
    assert claim_one(store, now=after(5)).attempt == 2


def test_at_most_once_a_released_message_comes_back(store: Store) -> None:
    put_queue(store, delivery=ONCE)
    push(store, message())
    settle(store, claim_one(store), Release())
    assert claim_one(store).attempt == 1


def test_at_most_once_attempts_run_out(store: Store) -> None:
    put_queue(store, delivery=ONCE, max_attempts=1)
    push(store, message())
    delivery = claim_one(store)
    settle(store, delivery, Retry(error="x"))
    assert record(store, delivery.id).reason is Reason.EXHAUSTED


def test_at_most_once_a_late_ack_counts_until_the_message_is_given_up(store: Store) -> None:
    put_queue(store, delivery=ONCE)
    push(store, message("a"))
    push(store, message("b"))
    a, b = claim(store, 2)
    assert settle(store, a, now=after(60)) is Settled.SETTLED
    claim(store, now=after(60))
    assert settle(store, b, now=after(61)) is Settled.LOST


def test_at_most_once_a_message_past_its_deadline_is_expired_at_a_claim(store: Store) -> None:
    put_queue(store, delivery=ONCE)
    said = message(deadline=after(10))
    push(store, said, message("next"))
    assert payloads(claim(store, now=after(10))) == ["next"]
    found = record(store, said.id, now=after(10))
    assert (found.state, found.reason, found.finished_at) == (State.DEAD, Reason.EXPIRED, after(10))
    assert (found.attempts, found.receives) == (0, 0)
    assert store.history.failures(said.id) == []


def test_at_most_once_a_message_comes_until_its_deadline(store: Store) -> None:
    put_queue(store, delivery=ONCE)
    push(store, message(deadline=after(10)))
    delivery = claim_one(store, now=after(9.999999))
    assert delivery.lease_until == after(10)


def test_at_most_once_a_holder_that_vanishes_at_the_deadline_leaves_the_message_expired(store: Store) -> None:
    put_queue(store, delivery=ONCE)
    push(store, message(deadline=after(10)))
    delivery = claim_one(store)
    assert claim(store, now=after(10)) == []
    assert record(store, delivery.id, now=after(10)).reason is Reason.EXPIRED
    assert [failed.error for failed in store.history.failures(delivery.id)] == [VANISHED]


def test_at_most_once_a_retry_past_the_deadline_is_a_burial(store: Store) -> None:
    put_queue(store, delivery=ONCE)
    push(store, message(deadline=after(10)))
    delivery = claim_one(store)
    assert settle(store, delivery, Retry(error="x"), now=after(10)) is Settled.SETTLED
    found = record(store, delivery.id, now=after(10))
    assert (found.state, found.reason) == (State.DEAD, Reason.EXPIRED)


def test_at_most_once_an_ack_past_the_deadline_counts_while_the_token_holds(store: Store) -> None:
    put_queue(store, delivery=ONCE)
    push(store, message(deadline=after(10)))
    assert settle(store, claim_one(store), now=after(20)) is Settled.SETTLED


def test_the_guarantee_may_change_while_messages_are_in_flight(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    put_queue(store, delivery=ONCE)
    assert claim(store, now=after(30)) == []
    assert record(store, delivery.id, now=after(30)).reason is Reason.LOST


# Age.


def test_a_message_older_than_the_queue_allows_is_expired_at_a_claim(store: Store) -> None:
    put_queue(store, max_age=span(60))
    said = message()
    push(store, said)
    push(store, message("young"), now=after(1))
    assert payloads(claim(store, 10, now=after(60))) == ["young"]
    found = record(store, said.id, now=after(60))
    assert (found.state, found.reason) == (State.DEAD, Reason.EXPIRED)


def test_a_message_younger_than_the_queue_allows_is_delivered(store: Store) -> None:
    put_queue(store, max_age=span(60))
    push(store, message())
    assert len(claim(store, now=after(59.999999))) == 1


def test_a_retry_of_a_message_that_is_too_old_is_a_burial(store: Store) -> None:
    put_queue(store, max_age=span(60))
    push(store, message())
    delivery = claim_one(store, now=after(50))
    settle(store, delivery, Retry(delay=span(1)), now=after(60))
    assert record(store, delivery.id, now=after(60)).reason is Reason.EXPIRED


def test_a_message_that_is_too_old_may_still_be_extended_and_acked_by_its_holder(store: Store) -> None:
    put_queue(store, max_age=span(60))
    push(store, message())
    delivery = claim_one(store, now=after(50))
    assert extend(store, delivery, span(30), now=after(70)) == after(100)
    assert store.history.sweep(now=after(71)).buried == 0
    assert settle(store, delivery, now=after(90)) is Settled.SETTLED


def test_an_age_counts_from_the_push_not_from_the_time_it_is_scheduled_for(store: Store) -> None:
    put_queue(store, max_age=span(60))
    push(store, message(delay=span(90)))
    assert claim(store, now=after(90)) == []
    assert states(store, now=after(90)) == {"dead": 1}


def test_an_age_limit_holds_for_messages_already_there(store: Store) -> None:
    put_queue(store)
    push(store, message())
    put_queue(store, max_age=span(10))
    assert claim(store, now=after(10)) == []
    assert states(store, now=after(10)) == {"dead": 1}


def test_expired_comes_before_lost_and_lost_before_exhausted(store: Store) -> None:
    put_queue(store, delivery=ONCE, max_attempts=1)
    said = [message(deadline=after(5)), message()]
    push(store, *said)
    claim(store, 2)
    claim(store, 2, now=after(30))
    assert [record(store, each.id, now=after(30)).reason for each in said] == [Reason.EXPIRED, Reason.LOST]
