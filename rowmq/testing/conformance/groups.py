"""Groups: strictly in order, one at a time, without holding up anybody else."""

from rowmq.core.delivery import Want
from rowmq.core.outcome import Bury, Reason, Release, Retry, Settled, State
from rowmq.core.queue import Guarantee
from rowmq.core.store import Store
from rowmq.core.where import where
from rowmq.testing.build import (
    after,
    claim,
    claim_one,
    extend,
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


def test_messages_of_a_group_come_one_at_a_time_in_order(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3, group="g"))
    for number in range(3):
        delivery = claim_one(store)
        assert delivery.payload == number
        assert claim(store, 10) == []
        settle(store, delivery)
    assert states(store) == {"done": 3}


def test_a_group_does_not_hold_up_other_groups_or_plain_messages(store: Store) -> None:
    put_queue(store)
    push(
        store, message("a1", group="a"), message("a2", group="a"), message("b1", group="b"), message("plain")
    )
    assert payloads(claim(store, 10)) == ["a1", "b1", "plain"]


def test_groups_of_one_name_in_two_queues_are_two_groups(store: Store) -> None:
    put_queue(store, "x")
    put_queue(store, "y")
    push(store, message(group="g"), queue="x")
    push(store, message(group="g"), queue="y")
    assert (len(claim(store, queue="x")), len(claim(store, queue="y"))) == (1, 1)


def test_messages_behind_their_groups_head_count_as_if_they_had_no_group(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3, group="g"))
    push(store, message(group="g", delay=span(60)))
    assert states(store) == {"ready": 3, "scheduled": 1}
    claim_one(store)
    assert states(store) == {"ready": 2, "scheduled": 1, "leased": 1}
    assert states(store, now=after(60)) == {"ready": 4}


def test_the_next_of_a_group_becomes_visible_when_the_head_is_done(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2, group="g"))
    push(store, message("plain"), now=after(1))
    settle(store, claim_one(store), now=after(5))
    assert payloads(claim(store, 2, now=after(5))) == ["plain", 1]


def test_a_delayed_head_blocks_its_group(store: Store) -> None:
    put_queue(store)
    push(store, message("first", group="g", delay=span(10)), message("second", group="g"))
    assert claim(store, 10, now=after(9)) == []
    assert payloads(claim(store, 10, now=after(10))) == ["first"]


def test_a_delayed_message_waits_for_its_time_once_it_is_the_head(store: Store) -> None:
    put_queue(store)
    push(store, message("first", group="g"), message("second", group="g", delay=span(10)))
    settle(store, claim_one(store))
    assert claim(store, now=after(9)) == []
    assert payloads(claim(store, now=after(10))) == ["second"]


def test_a_retried_head_blocks_its_group(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2, group="g"))
    settle(store, claim_one(store), Retry(delay=span(10)))
    assert claim(store, 10, now=after(9)) == []
    assert payloads(claim(store, 10, now=after(10))) == [0]


def test_a_released_head_comes_before_the_rest_of_its_group(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2, group="g"))
    settle(store, claim_one(store), Release())
    assert payloads(claim(store, 10)) == [0]


def test_a_head_whose_lease_ended_comes_again_before_the_rest_of_its_group(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2, group="g"))
    claim_one(store)
    again = claim(store, 10, now=after(30))
    assert [(delivery.payload, delivery.attempt) for delivery in again] == [(0, 2)]


def test_priority_is_ignored_inside_a_group_and_counts_between_heads(store: Store) -> None:
    put_queue(store)
    push(
        store,
        message("a1", group="a"),
        message("a2", group="a", priority=9),
        message("b1", group="b", priority=5),
    )
    first = claim(store, 10)
    assert payloads(first) == ["b1", "a1"]
    settle(store, first[1])
    push(store, message("plain", priority=6))
    assert payloads(claim(store, 10)) == ["a2", "plain"]


def test_a_buried_head_gives_way_to_the_next(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2, group="g"))
    settle(store, claim_one(store), Bury())
    assert payloads(claim(store)) == [1]


def test_an_exhausted_head_gives_way_within_the_same_claim(store: Store) -> None:
    put_queue(store, max_attempts=1)
    push(store, *messages(2, group="g"))
    head = claim_one(store)
    assert payloads(claim(store, now=after(30))) == [1]
    assert record(store, head.id, now=after(30)).reason is Reason.EXHAUSTED


def test_a_group_that_was_empty_begins_anew(store: Store) -> None:
    put_queue(store)
    push(store, message(group="g"))
    settle(store, claim_one(store))
    push(store, *messages(2, group="g"), now=after(1))
    assert payloads(claim(store, 10, now=after(1))) == [0]


def test_purging_the_head_gives_way_to_the_next(store: Store) -> None:
    put_queue(store)
    push(store, message("old", group="g"))
    push(store, message("new", group="g"), now=after(10))
    assert store.queues.purge("q", before=after(5), now=after(10)) == 1
    assert payloads(claim(store, 10, now=after(10))) == ["new"]


def test_a_parked_message_may_be_purged_without_harm_to_its_group(store: Store) -> None:
    put_queue(store)
    push(store, message("old", group="g", delay=span(20)))
    push(store, message("middle", group="g"), now=after(10))
    push(store, message("new", group="g"), now=after(11))
    assert store.queues.purge("q", state=State.READY, before=after(11), now=after(12)) == 1
    settle(store, claim_one(store, now=after(20)), now=after(20))
    assert payloads(claim(store, 10, now=after(20))) == ["new"]


# Several of one group in one claim.


def test_a_claim_may_take_several_of_a_group_in_order_behind_its_head(store: Store) -> None:
    put_queue(store)
    push(store, message("a1", group="a"), message("b1", group="b"), message("a2", group="a"))
    push(store, message("a3", group="a"), message("plain"), message("b2", group="b"))
    assert payloads(claim(store, 10, per_group=2)) == ["a1", "a2", "b1", "b2", "plain"]


def test_a_run_of_a_group_ends_at_the_limit_of_the_claim(store: Store) -> None:
    put_queue(store)
    push(store, *messages(5, group="g"))
    assert payloads(claim(store, 3, per_group=10)) == [0, 1, 2]


def test_a_run_has_one_token_and_counts_every_attempt(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3, group="g"))
    run = claim(store, 10, per_group=3, consumer="w")
    assert len({delivery.receipt.token for delivery in run}) == 1
    assert [(d.attempt, d.receives, d.lease_until) for d in run] == [(1, 1, after(30))] * 3
    assert states(store) == {"leased": 3}
    assert {record(store, each.id).consumer for each in run} == {"w"}


def test_a_run_is_hidden_until_its_lease_ends_and_then_comes_again_in_order(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3, group="g"))
    claim(store, 2, per_group=2)
    assert claim(store, 10, per_group=10, now=after(29)) == []
    again = claim(store, 10, per_group=10, now=after(30))
    assert [(delivery.payload, delivery.attempt) for delivery in again] == [(0, 2), (1, 2), (2, 1)]
    assert [len(store.history.failures(delivery.id)) for delivery in again] == [1, 1, 0]


def test_a_run_stops_at_a_message_that_is_not_due(store: Store) -> None:
    put_queue(store)
    push(store, message(0, group="g"), message(1, group="g", delay=span(10)), message(2, group="g"))
    assert payloads(claim(store, 10, per_group=10)) == [0]


def test_a_run_stops_at_a_message_that_does_not_meet_the_conditions(store: Store) -> None:
    put_queue(store)
    red, blue = {"c": "red"}, {"c": "blue"}
    push(store, *(message(n, group="g", metadata=each) for n, each in enumerate((red, red, blue, red))))
    assert payloads(claim(store, 10, per_group=10, where=where({"c": "red"}))) == [0, 1]


def test_a_run_stops_at_a_member_that_somebody_holds(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3, group="g"))
    head, _ = claim(store, 2, per_group=2)
    settle(store, head, Release())
    assert payloads(claim(store, 10, per_group=10)) == [0]


def test_a_run_goes_on_past_what_it_buries(store: Store) -> None:
    put_queue(store, delivery=Guarantee.AT_MOST_ONCE)
    late = message("late", group="g", deadline=after(10))
    push(store, message("head", group="g"), late, message("last", group="g"))
    assert payloads(claim(store, 10, per_group=2, now=after(10))) == ["head", "last"]
    assert record(store, late.id, now=after(10)).reason is Reason.EXPIRED


def test_members_of_a_run_may_be_settled_in_any_order(store: Store) -> None:
    put_queue(store)
    push(store, *messages(4, group="g"))
    run = claim(store, 3, per_group=3)
    assert settle(store, run[1]) is Settled.SETTLED
    assert claim(store, 10) == []
    assert settle(store, run[0]) is Settled.SETTLED
    assert claim(store, 10) == []
    assert settle(store, run[2]) is Settled.SETTLED
    assert payloads(claim(store, 10)) == [3]


def test_a_member_that_becomes_the_head_stays_held(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2, group="g"))
    head, member = claim(store, 2, per_group=2)
    settle(store, head, now=after(10))
    assert claim(store, now=after(29)) == []
    assert extend(store, member, span(30), now=after(29)) == after(59)
    assert claim(store, now=after(58)) == []
    assert settle(store, member, now=after(58)) is Settled.SETTLED


def test_a_member_that_becomes_the_head_comes_again_when_its_lease_ends(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2, group="g"))
    head, _ = claim(store, 2, per_group=2)
    settle(store, head, now=after(10))
    again = claim_one(store, now=after(30))
    assert (again.payload, again.attempt) == (1, 2)


def test_a_retried_member_waits_for_its_delay_and_its_head(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2, group="g"))
    head, member = claim(store, 2, per_group=2)
    settle(store, member, Retry(delay=span(20)))
    assert states(store) == {"leased": 1, "scheduled": 1}
    settle(store, head, now=after(10))
    assert claim(store, now=after(19)) == []
    again = claim_one(store, now=after(20))
    assert (again.payload, again.attempt) == (1, 2)


def test_a_released_member_waits_for_its_head(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2, group="g"))
    head, member = claim(store, 2, per_group=2)
    settle(store, member, Release())
    assert claim(store, 10) == []
    settle(store, head)
    again = claim_one(store)
    assert (again.payload, again.attempt, again.receives) == (1, 1, 2)


def test_a_buried_member_leaves_the_group_in_order(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3, group="g"))
    head, member = claim(store, 2, per_group=2)
    settle(store, member, Bury())
    settle(store, head)
    assert payloads(claim(store, 10)) == [2]


def test_one_message_of_a_group_comes_unless_more_are_asked_for(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3, group="g"))
    first, second = store.claim("q", [Want(limit=10), Want(limit=10, per_group=10)], now=after(0))
    assert (payloads(first), payloads(second)) == ([0], [])


# Fifo queues.


def test_in_a_fifo_queue_messages_without_a_group_share_one(store: Store) -> None:
    put_queue(store, fifo=True)
    push(store, *messages(3))
    push(store, message("g", group="g"))
    assert payloads(claim(store, 10)) == [0, "g"]
    assert payloads(claim(store, 10, per_group=10, now=after(30))) == [0, 1, 2, "g"]


def test_a_fifo_queue_does_not_invent_a_group_name(store: Store) -> None:
    put_queue(store, fifo=True)
    push(store, message())
    delivery = claim_one(store)
    assert delivery.group is None
    assert record(store, delivery.id).group is None


def test_in_a_fifo_queue_a_receipt_ends_with_its_lease(store: Store) -> None:
    put_queue(store, fifo=True, lease=span(30))
    push(store, message())
    delivery = claim_one(store)
    assert settle(store, delivery, now=after(30)) is Settled.LOST
    assert extend(store, delivery, span(30), now=after(30)) is None
    assert states(store, now=after(30)) == {"ready": 1}


def test_in_a_fifo_queue_a_receipt_holds_until_its_lease_ends(store: Store) -> None:
    put_queue(store, fifo=True, lease=span(30))
    push(store, message())
    delivery = claim_one(store)
    assert extend(store, delivery, span(30), now=after(29.999999)) == after(59.999999)
    assert settle(store, delivery, now=after(59)) is Settled.SETTLED
    assert settle(store, delivery, now=after(100)) is Settled.REPEATED


def test_in_a_fifo_queue_a_members_receipt_ends_with_its_lease(store: Store) -> None:
    put_queue(store, fifo=True, lease=span(30))
    push(store, *messages(2))
    head, member = claim(store, 2, per_group=2)
    assert settle(store, head, now=after(10)) is Settled.SETTLED
    assert settle(store, member, Retry(), now=after(30)) is Settled.LOST
    assert payloads(claim(store, 10, now=after(30))) == [1]


def test_a_head_released_for_later_blocks_its_group(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3, group="g"))
    settle(store, claim_one(store), Release(delay=span(10)), now=after(1))
    assert claim(store, 5, now=after(10)) == []
    assert payloads(claim(store, 5, now=after(11))) == [0]


def test_in_a_fifo_queue_a_group_gives_nothing_while_somebody_holds_one_of_it(store: Store) -> None:
    put_queue(store, fifo=True)
    push(store, *messages(3, group="g"))
    push(store, message("h", group="h"))
    head, member = claim(store, 2, per_group=2)
    settle(store, head, Release())
    assert payloads(claim(store, 1, per_group=10)) == ["h"]
    assert claim(store, 10, per_group=10) == []
    settle(store, member)
    assert payloads(claim(store, 10, per_group=10)) == [0, 2]


def test_in_a_fifo_queue_an_extended_member_keeps_its_group_locked(store: Store) -> None:
    put_queue(store, fifo=True)
    push(store, *messages(3, group="g"))
    _, member = claim(store, 2, per_group=2)
    extend(store, member, span(100))
    assert claim(store, 10, per_group=10, now=after(31)) == []
    assert payloads(claim(store, 10, per_group=10, now=after(100))) == [0, 1, 2]


def test_in_a_fifo_queue_a_claim_of_one_a_group_takes_a_head_that_is_due(store: Store) -> None:
    put_queue(store, fifo=True)
    push(store, *messages(2, group="g"))
    head, _ = claim(store, 2, per_group=2)
    settle(store, head, Release())
    assert payloads(claim(store, 10)) == [0]


def test_an_exhausted_head_is_buried_also_while_its_group_is_locked(store: Store) -> None:
    put_queue(store, fifo=True, max_attempts=1)
    push(store, *messages(2, group="g"))
    _, member = claim(store, 2, per_group=2)
    extend(store, member, span(100))
    assert claim(store, 10, per_group=10, now=after(31)) == []
    assert states(store, now=after(31)) == {"dead": 1, "leased": 1}
