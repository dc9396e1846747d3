"""Claiming: who gets what, in which order, and for how long."""

from typing import Any

import pytest

from rowmq.core.delivery import Delivery, Want
from rowmq.core.errors import QueueNotFound
from rowmq.core.history import FailedAttempt
from rowmq.core.outcome import VANISHED, Reason, Retry, State
from rowmq.core.store import Store
from rowmq.core.where import Condition, Where, where
from rowmq.testing.build import (
    T0,
    after,
    claim,
    claim_one,
    ids,
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

ODD_TEXTS = (
    "it's",
    'a "quoted" key',
    "back\\slash\\",
    "a.b.c",
    "$.x[0]",
    "$",
    "🎉",
    "שלום",
    ":name",
    "a:b::c",
    "%s %(x)s 100%",
    "?",
    "'; DROP TABLE x; --",
    "trailing ",
    "Upper",
    "{}",
    "tab\tand\nline",
    "`",
)

CONDITIONS: dict[str, tuple[Where, list[int]]] = {
    "equal": ((Condition("c", "=", ("red",)),), [0]),
    "not equal, or missing": ((Condition("c", "!=", ("red",)),), [1, 2, 3, 4, 5]),
    "one of": ((Condition("c", "in", ("red", "blue")),), [0, 1]),
    "one of one": ((Condition("c", "in", ("blue",)),), [1]),
    "present": ((Condition("c", "exists"),), [0, 1, 2, 4]),
    "an empty value": ((Condition("c", "=", ("",)),), [2]),
    "letter case counts": ((Condition("c", "=", ("Red",)),), [4]),
    "all of several": ((Condition("c", "exists"), Condition("size", "=", ("big",))), [1]),
    "missing key": ((Condition("nothing", "=", ("red",)),), []),
    "no condition": ((), [0, 1, 2, 3, 4, 5]),
}


def test_a_claimed_message_is_hidden_until_its_lease_ends(store: Store) -> None:
    put_queue(store, lease=span(30))
    push(store, message())
    first = claim_one(store)
    assert claim(store, now=after(29.999999)) == []
    again = claim_one(store, now=after(30))
    assert (again.id, again.attempt) == (first.id, 2)


def test_a_delivery_says_all_there_is_to_know(store: Store) -> None:
    put_queue(store, max_attempts=3)
    said = message([1], metadata={"v": "1"}, priority=2, deadline=after(3600), group="g")
    seq = push(store, said).seqs[0]
    delivery = claim_one(store, now=after(1))
    assert delivery == Delivery(
        seq=seq,
        token=delivery.token,
        queue="q",
        uid=said.id.bytes,
        body=b"[1]",
        binary=False,
        metadata={"v": "1"},
        attempt=1,
        max_attempts=3,
        receives=1,
        priority=2,
        group="g",
        created_at=T0,
        deadline=after(3600),
        lease_until=after(31),
        source=None,
    )
    assert delivery.id == said.id
    assert delivery.receipt == (seq, delivery.token)
    assert len(delivery.token) >= 16


def test_a_claim_is_seen_in_the_history(store: Store) -> None:
    put_queue(store)
    said = message()
    push(store, said)
    claim_one(store, consumer="worker", now=after(1))
    found = record(store, said.id, now=after(1))
    assert (found.state, found.attempts, found.receives) == (State.LEASED, 1, 1)
    assert (found.consumer, found.started_at, found.visible_at) == ("worker", after(1), after(31))


def test_a_want_may_have_a_lease_of_its_own(store: Store) -> None:
    put_queue(store, lease=span(30))
    push(store, message())
    assert claim_one(store, lease=span(5)).lease_until == after(5)
    assert len(claim(store, now=after(5))) == 1


def test_a_new_lease_setting_holds_for_new_claims_only(store: Store) -> None:
    put_queue(store, lease=span(30))
    push(store, *messages(2))
    first = claim_one(store)
    put_queue(store, lease=span(5))
    assert record(store, first.id).visible_at == after(30)
    assert claim_one(store).lease_until == after(5)


def test_a_claim_gives_at_most_its_limit(store: Store) -> None:
    put_queue(store)
    push(store, *messages(5))
    assert payloads(claim(store, 3)) == [0, 1, 2]
    assert payloads(claim(store, 3)) == [3, 4]
    assert claim(store, 3) == []


def test_messages_come_in_the_order_they_were_pushed(store: Store) -> None:
    put_queue(store)
    push(store, *messages(10))
    assert payloads(claim(store, 10)) == list(range(10))


def test_higher_priorities_come_first_and_equal_ones_in_order(store: Store) -> None:
    put_queue(store)
    push(store, *(message(n, priority=priority) for n, priority in enumerate((0, 5, 9, 5, 0, 9, 1))))
    assert payloads(claim(store, 3)) == [2, 5, 1]
    assert payloads(claim(store, 10)) == [3, 6, 0, 4]


def test_among_equals_the_longest_visible_comes_first(store: Store) -> None:
    put_queue(store)
    push(store, message("delayed", delay=span(10)))
    push(store, message("plain"), now=after(5))
    push(store, message("later"), now=after(15))
    assert payloads(claim(store, 3, now=after(20))) == ["plain", "delayed", "later"]


def test_a_message_for_a_time_that_had_passed_is_as_old_as_its_push(store: Store) -> None:
    put_queue(store)
    push(store, message("plain"))
    push(store, message("backdated", at=after(-60)), now=after(1))
    assert payloads(claim(store, 2, now=after(2))) == ["plain", "backdated"]


def test_scheduled_messages_do_not_starve_plain_ones(store: Store) -> None:
    put_queue(store)
    push(store, *messages(50, delay=span(60), priority=9))
    push(store, message("plain"))
    assert payloads(claim(store, 10)) == ["plain"]


def test_a_returned_message_waits_its_turn_by_its_new_time(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2))
    settle(store, claim_one(store), Retry(), now=after(1))
    assert payloads(claim(store, 2, now=after(2))) == [1, 0]


def test_wants_are_served_in_order_each_with_its_own_token(store: Store) -> None:
    put_queue(store)
    push(store, *messages(5))
    first, second, third = store.claim("q", [Want(limit=2), Want(limit=2), Want(limit=2)], now=T0)
    assert [payloads(each) for each in (first, second, third)] == [[0, 1], [2, 3], [4]]
    tokens = [{delivery.receipt.token for delivery in each} for each in (first, second, third)]
    assert [len(each) for each in tokens] == [1, 1, 1]
    assert len(set.union(*tokens)) == 3


def test_wants_of_one_call_may_ask_for_different_things(store: Store) -> None:
    put_queue(store)
    push(store, message("a", metadata={"c": "red"}), message("b"), message("c", metadata={"c": "red"}))
    wants = [Want(limit=9, where=where({"c": "red"}), lease=span(1)), Want(limit=9, consumer="w")]
    red, rest = store.claim("q", wants, now=T0)
    assert (payloads(red), payloads(rest)) == (["a", "c"], ["b"])
    assert (red[0].lease_until, rest[0].lease_until) == (after(1), after(30))
    assert record(store, rest[0].id).consumer == "w"


def test_each_claim_has_a_token_of_its_own(store: Store) -> None:
    put_queue(store, max_attempts=None)
    push(store, message())
    tokens = {claim_one(store, now=after(30 * n)).receipt.token for n in range(10)}
    assert len(tokens) == 10


def test_an_empty_queue_gives_nothing(store: Store) -> None:
    put_queue(store)
    assert store.claim("q", [Want(limit=5), Want()], now=T0) == [[], []]
    assert store.claim("q", [], now=T0) == []


def test_a_claim_takes_nothing_from_other_queues(store: Store) -> None:
    put_queue(store)
    put_queue(store, "other")
    push(store, message(), queue="other")
    assert claim(store, 5) == []


def test_a_paused_queue_gives_nothing_until_it_is_resumed(store: Store) -> None:
    put_queue(store, paused=True)
    push(store, message())
    assert claim(store) == []
    put_queue(store, paused=False)
    assert len(claim(store)) == 1


def test_a_paused_queue_buries_nothing_at_a_claim(store: Store) -> None:
    put_queue(store, max_attempts=1)
    push(store, message())
    claim_one(store)
    put_queue(store, paused=True)
    assert claim(store, now=after(60)) == []
    assert states(store, now=after(60)) == {"ready": 1}


def test_claiming_from_an_unknown_queue_raises(store: Store) -> None:
    with pytest.raises(QueueNotFound, match="nowhere"):
        store.claim("nowhere", [Want()], now=T0)


# Conditions.


@pytest.mark.parametrize(("conditions", "expected"), CONDITIONS.values(), ids=CONDITIONS.keys())
def test_a_claim_with_conditions_gets_what_meets_them_all(
    store: Store, conditions: Where, expected: list[int]
) -> None:
    put_queue(store)
    metadata: list[dict[str, str]] = [
        {"c": "red"},
        {"c": "blue", "size": "big"},
        {"c": ""},
        {"size": "big"},
        {"c": "Red"},
        {},
    ]
    push(store, *(message(n, metadata=each) for n, each in enumerate(metadata)))
    assert payloads(claim(store, 10, where=conditions)) == expected


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_conditions_take_any_text(store: Store, text: str) -> None:
    put_queue(store)
    push(store, message("other", metadata={"x": text}), message("wanted", metadata={text: text}))
    matching: list[Where] = [
        (Condition(text, "=", (text,)),),
        (Condition(text, "in", ("y", text)),),
        (Condition(text, "exists"),),
        (Condition("x", "!=", (text,)),),
    ]
    for number, conditions in enumerate(matching):
        assert payloads(claim(store, 10, where=conditions, now=after(30 * number))) == ["wanted"]
    assert claim(store, 10, where=(Condition(text, "=", (text + "x",)),), now=after(500)) == []


def test_a_condition_does_not_take_a_nested_or_partial_key(store: Store) -> None:
    put_queue(store)
    push(store, message(metadata={"a.b": "1", "ab": "1", "a": "10"}))
    for key in ("b", "a.b.c", "A", "a "):
        assert claim(store, where=(Condition(key, "exists"),)) == []
    assert claim(store, where=(Condition("a", "=", ("1",)),)) == []


def test_messages_that_do_not_meet_the_conditions_stay_untouched(store: Store) -> None:
    put_queue(store)
    said = message(metadata={"c": "blue"})
    push(store, said)
    before = record(store, said.id)
    claim(store, 10, where=where({"c": "red"}))
    assert record(store, said.id) == before


def test_conditions_look_behind_many_messages_that_do_not_meet_them(store: Store) -> None:
    put_queue(store)
    push(store, *messages(300, metadata={"c": "blue"}), message("wanted", metadata={"c": "red"}))
    assert payloads(claim(store, 10, where=where({"c": "red"}))) == ["wanted"]


def test_a_want_with_a_largest_age_leaves_older_messages_untouched(store: Store) -> None:
    put_queue(store)
    old, young = message("old"), message("young")
    push(store, old)
    push(store, young, now=after(1))
    assert payloads(claim(store, 10, max_age=span(60), now=after(60))) == ["young"]
    assert record(store, old.id, now=after(60)).state is State.READY
    assert payloads(claim(store, 10, now=after(60))) == ["old"]


def test_a_want_up_to_a_seq_leaves_out_what_was_pushed_later(store: Store) -> None:
    put_queue(store)
    pushed = push(store, *messages(4))
    assert payloads(claim(store, 10, upto=pushed.seqs[1])) == [0, 1]
    assert claim(store, 10, upto=0) == []
    assert payloads(claim(store, 10)) == [2, 3]


def test_a_want_of_a_period_leaves_what_was_created_before_or_after_it_untouched(store: Store) -> None:
    put_queue(store)
    for second in range(5):
        push(store, message(second), now=after(second))
    assert payloads(claim(store, 10, since=after(1), until=after(3), now=after(9))) == [1, 2]
    assert payloads(claim(store, 10, since=after(4), now=after(9))) == [4]
    assert payloads(claim(store, 10, until=after(1), now=after(9))) == [0]
    assert claim(store, 10, until=after(0), now=after(9)) == []
    assert payloads(claim(store, 10, now=after(9))) == [3]


def test_a_group_stops_where_the_next_of_it_is_not_of_the_period(store: Store) -> None:
    put_queue(store)
    for second in range(3):
        push(store, message(second, group="g"), now=after(second))
    assert payloads(claim(store, 10, until=after(2), per_group=9, now=after(9))) == [0, 1]


# Attempts.


def test_attempts_and_receives_count_at_the_claim(store: Store) -> None:
    put_queue(store)
    push(store, message())
    counted = [(d.attempt, d.receives) for d in (claim_one(store, now=after(30 * n)) for n in range(5))]
    assert counted == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]


def test_the_last_attempt_knows_that_it_is(store: Store) -> None:
    put_queue(store, max_attempts=2)
    push(store, message())
    assert not claim_one(store).last_attempt
    assert claim_one(store, now=after(30)).last_attempt


def test_a_message_whose_last_lease_ran_out_is_buried_at_the_next_claim(store: Store) -> None:
    put_queue(store, max_attempts=2)
    said = message()
    push(store, said)
    claim_one(store)
    last = claim_one(store, now=after(30), consumer="w")
    assert claim(store, now=after(60)) == []
    found = record(store, said.id, now=after(60))
    assert (found.state, found.reason, found.finished_at) == (State.DEAD, Reason.EXHAUSTED, after(60))
    assert (found.attempts, found.receives, found.visible_at) == (2, 2, None)
    assert (found.consumer, found.started_at) == ("w", after(30))
    assert last.id == said.id


def test_without_a_limit_attempts_never_end(store: Store) -> None:
    put_queue(store, max_attempts=None)
    push(store, message())
    attempts = [claim_one(store, now=after(30 * n)) for n in range(20)]
    assert attempts[-1].attempt == 20
    assert attempts[-1].max_attempts is None
    assert not attempts[-1].last_attempt


def test_a_vanished_holder_leaves_a_failed_attempt(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store, consumer="w", now=after(1))
    claim_one(store, now=after(100))
    assert store.history.failures(delivery.id) == [FailedAttempt(1, "q", "w", after(1), after(31), VANISHED)]


def test_a_vanished_last_holder_leaves_a_failed_attempt(store: Store) -> None:
    put_queue(store, max_attempts=1)
    push(store, message())
    delivery = claim_one(store)
    claim(store, now=after(100))
    assert store.history.failures(delivery.id) == [FailedAttempt(1, "q", None, T0, after(30), VANISHED)]


def test_a_lowered_limit_of_attempts_holds_for_messages_in_flight(store: Store) -> None:
    put_queue(store, max_attempts=5)
    push(store, message())
    claim_one(store)
    put_queue(store, max_attempts=1)
    assert claim(store, now=after(30)) == []
    assert states(store, now=after(30)) == {"dead": 1}


def test_a_raised_limit_of_attempts_holds_for_messages_in_flight(store: Store) -> None:
    put_queue(store, max_attempts=1)
    push(store, message())
    claim_one(store)
    put_queue(store, max_attempts=2)
    delivery = claim_one(store, now=after(30))
    assert (delivery.attempt, delivery.max_attempts) == (2, 2)


def test_a_claim_looks_past_what_it_buries(store: Store) -> None:
    put_queue(store, max_attempts=1)
    push(store, *messages(5))
    claim(store, 5)
    push(store, message("good"), message("better", priority=1), now=after(40))
    assert payloads(claim(store, 2, now=after(40))) == ["better", "good"]
    assert states(store, now=after(40)) == {"leased": 2, "dead": 5}


@pytest.mark.parametrize(
    "options", [{"where": (Condition("c", "!=", ("x",)),)}, {"consumer": "w"}, {"max_age": span(900)}]
)
def test_a_choosy_claim_looks_past_what_it_buries(store: Store, options: dict[str, Any]) -> None:
    put_queue(store, max_attempts=1)
    push(store, *messages(5))
    claim(store, 5)
    push(store, message("good"), now=after(40))
    assert payloads(claim(store, 2, now=after(40), **options)) == ["good"]


def test_a_later_want_gets_what_an_earlier_one_left(store: Store) -> None:
    put_queue(store, max_attempts=1)
    push(store, *messages(3))
    claim(store, 3)
    fresh = messages(3)
    push(store, *fresh, now=after(40))
    first, second = store.claim("q", [Want(limit=2), Want(limit=5)], now=after(40))
    assert ids(first + second) == ids(fresh)


@pytest.mark.parametrize("choice", [{}, {"where": where({"k": "v"})}], ids=["any", "chosen"])
def test_many_overdue_messages_do_not_hide_a_good_one(store: Store, choice: dict[str, Any]) -> None:
    put_queue(store, max_attempts=1)
    push(store, *messages(60, metadata={"k": "v"}))
    claim(store, 60, lease=span(1))
    push(store, message("good", metadata={"k": "v"}), now=after(2))
    assert payloads(claim(store, 1, now=after(3), **choice)) == ["good"]
    assert states(store, now=after(3)) == {"dead": 60, "leased": 1}
