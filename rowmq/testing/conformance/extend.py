"""Extending: a holder that needs longer, as long as it still holds."""

from uuid import uuid4

import pytest

from rowmq.core.delivery import Receipt
from rowmq.core.outcome import ACK, Bury, Outcome, Release, Retry, Settled
from rowmq.core.store import Store
from rowmq.testing.build import (
    after,
    claim,
    claim_one,
    extend,
    message,
    messages,
    push,
    put_queue,
    record,
    settle,
    span,
    states,
)


def test_an_extended_message_stays_hidden_until_its_new_end(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    assert extend(store, delivery, span(60), now=after(20)) == after(80)
    assert claim(store, now=after(79)) == []
    assert claim_one(store, now=after(80)).attempt == 2


def test_an_extension_counts_from_now_so_it_may_shorten_the_lease(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    assert extend(store, delivery, span(1), now=after(1)) == after(2)
    assert len(claim(store, now=after(2))) == 1


def test_an_extension_changes_nothing_but_the_end_of_the_lease(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store, consumer="w")
    before = record(store, delivery.id)
    extend(store, delivery, span(60), now=after(1))
    assert record(store, delivery.id, now=after(1)) == before._replace(visible_at=after(61))
    assert settle(store, delivery, now=after(1)) is Settled.SETTLED


def test_a_lease_that_has_ended_may_be_extended_while_nobody_has_claimed_anew(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    assert extend(store, delivery, span(30), now=after(45)) == after(75)
    assert claim(store, now=after(74)) == []


def test_a_message_claimed_anew_is_not_extended_by_its_former_holder(store: Store) -> None:
    put_queue(store)
    push(store, message())
    former = claim_one(store)
    holder = claim_one(store, now=after(30))
    assert extend(store, former, span(600), now=after(31)) is None
    assert record(store, holder.id, now=after(31)).visible_at == after(60)


@pytest.mark.parametrize("outcome", [ACK, Retry(), Retry(delay=span(5)), Release(), Bury()])
def test_a_settled_message_is_not_extended(store: Store, outcome: Outcome) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    settle(store, delivery, outcome)
    before = record(store, delivery.id)
    assert extend(store, delivery, span(60)) is None
    assert record(store, delivery.id) == before


def test_receipts_that_never_were_are_not_extended(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    assert extend(store, Receipt(delivery.receipt.seq, uuid4().bytes), span(60)) is None
    assert extend(store, Receipt(delivery.receipt.seq + 1000, delivery.receipt.token), span(60)) is None
    assert extend(store, Receipt(delivery.receipt.seq, b""), span(60)) is None


def test_a_message_that_nobody_holds_is_not_extended(store: Store) -> None:
    put_queue(store)
    seq = push(store, message()).seqs[0]
    assert extend(store, Receipt(seq, uuid4().bytes), span(60)) is None
    assert states(store) == {"ready": 1}


def test_several_extensions_are_answered_in_order(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3, deadline=None))
    first, second, third = claim(store, 3)
    settle(store, second)
    receipts = [third.receipt, second.receipt, first.receipt]
    assert store.extend(receipts, span(60), now=after(1)) == [after(61), None, after(61)]
    assert store.extend([], span(60), now=after(1)) == []


def test_one_extension_may_reach_several_queues(store: Store) -> None:
    put_queue(store, "a")
    put_queue(store, "b")
    push(store, message(), queue="a")
    push(store, message(), queue="b")
    receipts = [claim_one(store, queue=name).receipt for name in "ab"]
    assert store.extend(receipts, span(60), now=after(1)) == [after(61), after(61)]


def test_an_extension_is_cut_at_the_deadline_and_says_so(store: Store) -> None:
    put_queue(store)
    push(store, message(deadline=after(40)))
    delivery = claim_one(store)
    assert extend(store, delivery, span(60), now=after(20)) == after(40)
    assert len(claim(store, now=after(40))) == 1


def test_an_extension_after_the_deadline_runs_in_full(store: Store) -> None:
    put_queue(store)
    push(store, message(deadline=after(10)))
    claim_one(store)
    delivery = claim_one(store, now=after(10))
    assert extend(store, delivery, span(60), now=after(20)) == after(80)
