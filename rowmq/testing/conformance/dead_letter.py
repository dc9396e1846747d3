"""Dead letters: where the dead go, and how they come back."""

from typing import Any

import pytest

from rowmq.core.errors import InvalidSetting, QueueInUse, QueueNotFound
from rowmq.core.outcome import Bury, Reason, Retry, Settled, State
from rowmq.core.store import Store
from rowmq.testing.build import (
    T0,
    after,
    claim,
    claim_one,
    dead_message,
    done_message,
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


def put_pair(store: Store, **changes: Any) -> None:
    """Create q and its dead-letter queue."""
    put_queue(store, "dead")
    put_queue(store, dead_letter="dead", **changes)


def test_a_buried_message_goes_to_the_dead_letter_queue(store: Store) -> None:
    put_pair(store)
    said = message({"a": 1}, metadata={"v": "1"}, priority=4, deadline=after(900))
    seq = push(store, said).seqs[0]
    assert (
        settle(store, claim_one(store), Bury(reason=Reason.INVALID, error="x"), now=after(5))
        is Settled.SETTLED
    )
    found = record(store, said.id, now=after(5))
    assert (found.seq, found.queue, found.source, found.reason) == (seq, "dead", "q", Reason.INVALID)
    assert (found.state, found.visible_at, found.attempts, found.receives) == (State.READY, after(5), 0, 1)
    assert (found.consumer, found.started_at, found.finished_at) == (None, None, None)
    assert (found.payload, found.metadata, found.priority) == ({"a": 1}, {"v": "1"}, 4)
    assert (found.created_at, found.deadline) == (T0, after(900))
    assert (states(store), states(store, "dead", now=after(5))) == ({}, {"ready": 1})


def test_a_dead_letter_is_delivered_with_its_source_and_attempts_from_1(store: Store) -> None:
    put_pair(store, max_attempts=2)
    push(store, message())
    settle(store, claim_one(store), Retry())
    settle(store, claim_one(store), Retry())
    delivery = claim_one(store, queue="dead")
    assert (delivery.queue, delivery.source) == ("dead", "q")
    assert (delivery.attempt, delivery.receives, delivery.max_attempts) == (1, 3, 5)


def test_a_retry_of_the_last_attempt_goes_to_the_dead_letter_queue(store: Store) -> None:
    put_pair(store, max_attempts=1)
    push(store, message())
    delivery = claim_one(store)
    settle(store, delivery, Retry(delay=span(60), error="x"))
    found = record(store, delivery.id)
    assert (found.queue, found.state, found.reason) == ("dead", State.READY, Reason.EXHAUSTED)


def test_a_message_found_exhausted_at_a_claim_goes_to_the_dead_letter_queue(store: Store) -> None:
    put_pair(store, max_attempts=1)
    push(store, message())
    claim_one(store)
    assert claim(store, now=after(30)) == []
    assert states(store, "dead", now=after(30)) == {"ready": 1}


def test_a_message_found_exhausted_by_a_sweep_goes_to_the_dead_letter_queue(store: Store) -> None:
    put_pair(store, max_attempts=1)
    push(store, message())
    delivery = claim_one(store)
    assert store.history.sweep(now=after(30)).buried == 1
    found = record(store, delivery.id, now=after(30))
    assert (found.queue, found.source, found.visible_at) == ("dead", "q", after(30))


def test_failed_attempts_stay_with_a_dead_letter(store: Store) -> None:
    put_pair(store)
    push(store, message())
    settle(store, claim_one(store), Bury(error="in q"))
    delivery = claim_one(store, queue="dead")
    settle(store, delivery, Bury(error="in dead"), now=after(1))
    failed = [(each.queue, each.attempt, each.error) for each in store.history.failures(delivery.id)]
    assert failed == [("q", 1, "in q"), ("dead", 1, "in dead")]


def test_the_receipt_of_a_dead_letters_former_life_is_lost(store: Store) -> None:
    put_pair(store)
    push(store, message())
    former = claim_one(store)
    settle(store, former, Bury())
    assert settle(store, former) is Settled.LOST
    assert settle(store, claim_one(store, queue="dead")) is Settled.SETTLED


def test_a_dead_letter_that_is_done_keeps_its_source(store: Store) -> None:
    put_pair(store)
    push(store, message())
    settle(store, claim_one(store), Bury())
    delivery = claim_one(store, queue="dead")
    settle(store, delivery)
    found = record(store, delivery.id)
    assert (found.queue, found.state, found.source, found.reason) == ("dead", State.DONE, "q", None)


def test_a_dead_letter_queue_may_have_one_of_its_own(store: Store) -> None:
    put_queue(store, "c")
    put_queue(store, "b", dead_letter="c")
    put_queue(store, "a", dead_letter="b")
    push(store, message(), queue="a")
    settle(store, claim_one(store, queue="a"), Bury())
    settle(store, claim_one(store, queue="b"), Bury())
    delivery = claim_one(store, queue="c")
    assert (delivery.source, delivery.attempt, delivery.receives) == ("b", 1, 3)
    settle(store, delivery, Bury())
    found = record(store, delivery.id)
    assert (found.state, found.queue, found.source) == (State.DEAD, "c", "b")


def test_dead_letters_of_a_group_stay_in_order(store: Store) -> None:
    put_pair(store)
    push(store, *messages(3, group="g"))
    for _ in range(3):
        settle(store, claim_one(store), Bury())
    for number in range(3):
        (delivery,) = claim(store, 10, queue="dead")
        assert delivery.payload == number
        settle(store, delivery)


def test_a_dead_letter_waits_behind_the_head_its_group_has_there(store: Store) -> None:
    put_pair(store)
    push(store, message("there", group="g"), queue="dead")
    push(store, message("letter", group="g"))
    settle(store, claim_one(store), Bury())
    (head,) = claim(store, 10, queue="dead")
    assert head.payload == "there"
    settle(store, head)
    assert payloads(claim(store, 10, queue="dead")) == ["letter"]


def test_dead_letters_without_a_group_share_one_in_a_fifo_queue(store: Store) -> None:
    put_queue(store, "dead", fifo=True)
    put_queue(store, dead_letter="dead")
    push(store, *messages(2))
    for delivery in claim(store, 2):
        settle(store, delivery, Bury())
    assert payloads(claim(store, 10, queue="dead")) == [0]


def test_a_dead_letter_queue_that_is_paused_or_full_still_takes_the_dead(store: Store) -> None:
    put_queue(store, "dead", paused=True, max_length=1)
    put_queue(store, dead_letter="dead")
    push(store, *messages(2))
    for delivery in claim(store, 2):
        assert settle(store, delivery, Bury()) is Settled.SETTLED
    assert states(store, "dead") == {"ready": 2}


# The setting.


def test_a_dead_letter_queue_must_exist(store: Store) -> None:
    put_queue(store)
    with pytest.raises(QueueNotFound, match="nowhere"):
        put_queue(store, dead_letter="nowhere", max_attempts=9)
    queue = store.queues.get("q")
    assert queue is not None
    assert (queue.dead_letter, queue.max_attempts) == (None, 5)


def test_a_new_queue_with_an_unknown_dead_letter_queue_is_not_created(store: Store) -> None:
    with pytest.raises(QueueNotFound):
        put_queue(store, dead_letter="nowhere")
    assert store.queues.list() == []


def test_dead_letters_never_go_round_in_a_circle(store: Store) -> None:
    put_queue(store, "a")
    put_queue(store, "b", dead_letter="a")
    put_queue(store, "c", dead_letter="b")
    for name, target in (("a", "a"), ("a", "b"), ("a", "c"), ("b", "c")):
        with pytest.raises(InvalidSetting):
            put_queue(store, name, dead_letter=target)
    assert [queue.dead_letter for queue in store.queues.list()] == [None, "a", "b"]


def test_a_dead_letter_queue_in_use_cannot_be_dropped(store: Store) -> None:
    put_pair(store)
    push(store, message(), queue="dead")
    with pytest.raises(QueueInUse):
        store.queues.drop("dead", now=T0)
    assert states(store, "dead") == {"ready": 1}
    put_queue(store, dead_letter=None)
    assert store.queues.drop("dead", now=T0)


def test_without_a_dead_letter_queue_any_more_the_dead_stay(store: Store) -> None:
    put_pair(store)
    push(store, message())
    put_queue(store, dead_letter=None)
    settle(store, claim_one(store), Bury())
    assert states(store) == {"dead": 1}


# Redrive.


def test_redriven_dead_messages_are_ready_again_in_their_queue(store: Store) -> None:
    put_queue(store)
    dead = dead_message(store)
    assert store.history.redrive("q", now=after(5)) == 1
    found = record(store, dead, now=after(5))
    assert (found.state, found.reason, found.source, found.visible_at) == (State.READY, None, None, after(5))
    assert (found.attempts, found.receives, found.finished_at) == (0, 1, None)
    delivery = claim_one(store, now=after(5))
    assert (delivery.id, delivery.attempt, delivery.receives) == (dead, 1, 2)
    assert settle(store, delivery, now=after(6)) is Settled.SETTLED


def test_redriven_dead_letters_go_to_the_queue_they_came_from(store: Store) -> None:
    put_pair(store)
    put_queue(store, "other", dead_letter="dead")
    first, second = dead_message(store), dead_message(store, queue="other")
    assert store.history.redrive("dead", now=after(5)) == 2
    assert [record(store, each, now=after(5)).queue for each in (first, second)] == ["q", "other"]
    found = record(store, first, now=after(5))
    assert (found.source, found.reason, found.attempts, found.visible_at) == (None, None, 0, after(5))
    assert claim_one(store, now=after(5)).source is None


def test_a_redrive_to_another_queue_takes_the_dead_and_the_dead_letters(store: Store) -> None:
    put_pair(store)
    put_queue(store, "repair")
    buried = dead_message(store, queue="dead")
    letter = dead_message(store)
    assert store.history.redrive("dead", to="repair", now=after(1)) == 2
    assert payloads(claim(store, 10, queue="repair", now=after(1))) == [None, None]
    assert {record(store, each, now=after(1)).queue for each in (buried, letter)} == {"repair"}


def test_a_redrive_takes_the_oldest_first_up_to_its_limit(store: Store) -> None:
    put_queue(store)
    dead = [dead_message(store) for _ in range(3)]
    assert store.history.redrive("q", limit=2, now=after(1)) == 2
    assert [record(store, each, now=after(1)).state for each in dead] == ["ready", "ready", "dead"]
    assert ids(claim(store, 10, now=after(1))) == dead[:2]


def test_a_redrive_goes_past_what_cannot_go_back(store: Store) -> None:
    put_pair(store)
    put_queue(store, "gone", dead_letter="dead")
    stuck = [dead_message(store, queue="gone") for _ in range(3)]
    moved = dead_message(store)
    store.queues.drop("gone", now=T0)
    assert store.history.redrive("dead", limit=1, now=after(1)) == 1
    assert record(store, moved, now=after(1)).queue == "q"
    assert {record(store, each, now=after(1)).queue for each in stuck} == {"dead"}


def test_a_redrive_leaves_what_was_pushed_to_the_dead_letter_queue_itself(store: Store) -> None:
    put_pair(store)
    push(store, message(), queue="dead")
    assert store.history.redrive("dead", now=T0) == 0
    assert states(store, "dead") == {"ready": 1}


def test_a_redrive_leaves_what_is_held(store: Store) -> None:
    put_pair(store)
    dead_message(store)
    held = claim_one(store, queue="dead")
    assert store.history.redrive("dead", now=after(1)) == 0
    assert settle(store, held, now=after(1)) is Settled.SETTLED


def test_a_redrive_takes_what_is_scheduled_and_what_a_vanished_holder_left(store: Store) -> None:
    put_pair(store)
    dead_message(store)
    dead_message(store)
    first = claim_one(store, queue="dead")
    settle(store, first, Retry(delay=span(600)))
    second = claim_one(store, queue="dead")
    assert store.history.redrive("dead", now=after(30)) == 2
    assert states(store, now=after(30)) == {"ready": 2}
    assert settle(store, second, now=after(30)) is Settled.LOST


def test_a_redrive_leaves_what_is_done_or_waiting(store: Store) -> None:
    put_queue(store)
    done_message(store)
    push(store, message())
    assert store.history.redrive("q", now=T0) == 0
    assert states(store) == {"ready": 1, "done": 1}


def test_a_dead_letter_whose_queue_is_gone_is_left_where_it_is(store: Store) -> None:
    put_pair(store)
    letter = dead_message(store)
    store.queues.drop("q", now=T0)
    assert store.history.redrive("dead", now=T0) == 0
    found = record(store, letter)
    assert (found.queue, found.source) == ("dead", "q")
    put_queue(store, "repair")
    assert store.history.redrive("dead", to="repair", now=T0) == 1


def test_redriven_messages_of_a_group_come_in_order_behind_their_head(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2, group="g"))
    for _ in range(2):
        settle(store, claim_one(store), Bury())
    push(store, message("head", group="g"))
    assert store.history.redrive("q", now=after(1)) == 2
    for expected in ("head", 0, 1):
        (delivery,) = claim(store, 10, now=after(1))
        assert delivery.payload == expected
        settle(store, delivery, now=after(1))


def test_redriving_a_head_gives_way_to_the_next_of_its_group(store: Store) -> None:
    put_pair(store)
    dead_message(store, group="g")
    push(store, message("next", group="g"), queue="dead")
    assert store.history.redrive("dead", now=after(1)) == 1
    assert payloads(claim(store, queue="dead", now=after(1))) == ["next"]


def test_a_redriven_message_keeps_its_failed_attempts(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    settle(store, delivery, Bury(error="x"))
    store.history.redrive("q", now=T0)
    assert [failed.error for failed in store.history.failures(delivery.id)] == ["x"]


def test_a_redrive_needs_queues_that_exist(store: Store) -> None:
    put_queue(store)
    dead_message(store)
    with pytest.raises(QueueNotFound):
        store.history.redrive("nowhere", now=T0)
    with pytest.raises(QueueNotFound):
        store.history.redrive("q", to="nowhere", now=T0)
    assert states(store) == {"dead": 1}
