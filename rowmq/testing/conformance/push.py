"""Pushing: what is stored, what counts as seen before, and what is refused."""

import json
from dataclasses import replace
from datetime import timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest

from rowmq.core.errors import DuplicateMessage, QueueFull, QueueNotFound
from rowmq.core.history import Record
from rowmq.core.message import LARGEST_BODY, Batch, Message, Pushed
from rowmq.core.outcome import Bury, State
from rowmq.core.store import Store
from rowmq.testing.build import (
    T0,
    after,
    claim,
    claim_one,
    done_message,
    everything,
    ids,
    message,
    messages,
    payloads,
    push,
    put_queue,
    record,
    refusal,
    settle,
    span,
    states,
)

JSON_TEXTS = {
    "null": b"null",
    "an empty string": b'""',
    "an empty object": b"{}",
    "key order": b'{"zebra":1,"apple":2,"mango":{"b":1,"a":2}}',
    "a repeated key": b'{"a":1,"a":2}',
    "white space": b' { "a" :\n[ 1,\t2 ] } ',
    "a big number": b"123456789012345678901234567890",
    "a number's own form": b"[1.0,1.10,1e5,1E+5,-0,0.1000000000000000055511151231257827]",
    "unicode": '"naïve 日本語 🎉 \u200f\u05e9 \u2028"'.encode(),
    "a lone surrogate, escaped": b'"\\ud83d"',
    "an escaped NUL": b'"a\\u0000b"',
    "escapes kept as escapes": b'"\\u0041\\/\\n\\\\"',
    "quotes and SQL": b'"\'; DROP TABLE messages; -- %s :name ? $1"',
    "deep nesting": b"[" * 200 + b"]" * 200,
}

BYTES = {
    "no bytes": b"",
    "all byte values": bytes(range(256)),
    "bytes that are not UTF-8": b"\xff\xfe\x00\x80",
    "bytes that look like JSON": b'{"a": 1}',
    "one NUL": b"\x00",
}

METADATA: dict[str, dict[str, str]] = {
    "plain": {"trace": "1", "tenant": "a"},
    "key order": {"z": "1", "a": "2", "m": "3"},
    "an empty value": {"empty": ""},
    "quotes": {"it's": 'a "quoted" value', "back`tick": "'"},
    "backslashes": {"a\\b": "c\\d\\", "\\": "\\\\"},
    "dots, dollars and brackets": {"a.b.c": "$.x[0]", "$": "*", "a[0]": "1"},
    "unicode": {"🎉": "日本語", "שלום": "é"},
    "placeholders": {":name": "%s", "%(x)s": "?", "$1": "{}"},
    "spaces and line ends": {" ": "\n", "a\tb": "  ", "trailing ": " x "},
}

CHANGES: dict[str, dict[str, Any]] = {
    "body": {"body": b"2"},
    "binary flag": {"binary": True},
    "metadata": {"metadata": {"a": "2"}},
    "metadata missing": {"metadata": {}},
}


def test_a_pushed_message_is_ready_and_found_as_it_was_said(store: Store) -> None:
    put_queue(store)
    said = message({"to": "ada"}, metadata={"v": "1"}, priority=7, deadline=after(60), group="g", key="k")
    pushed = push(store, said)
    assert pushed == Pushed([said.id], pushed.seqs)
    assert record(store, said.id) == Record(
        seq=pushed.seqs[0],
        id=said.id,
        queue="q",
        state=State.READY,
        body=b'{"to":"ada"}',
        binary=False,
        metadata={"v": "1"},
        priority=7,
        group="g",
        key="k",
        created_at=T0,
        scheduled_for=None,
        deadline=after(60),
        visible_at=T0,
        attempts=0,
        receives=0,
        consumer=None,
        started_at=None,
        finished_at=None,
        reason=None,
        source=None,
    )


def test_a_push_answers_ids_and_rising_seqs_in_the_order_given(store: Store) -> None:
    put_queue(store)
    given = messages(20)
    pushed = push(store, *given)
    assert list(pushed.ids) == ids(given)
    assert list(pushed.seqs) == sorted(set(pushed.seqs))
    assert pushed.seen == frozenset()


def test_later_pushes_have_higher_seqs(store: Store) -> None:
    put_queue(store)
    first = push(store, message())
    assert push(store, message()).seqs[0] > first.seqs[0]


def test_batches_for_several_queues_are_answered_in_order(store: Store) -> None:
    put_queue(store, "a")
    put_queue(store, "b")
    given = [Batch("b", messages(2)), Batch("a", messages(1)), Batch("b", messages(3))]
    answers = store.push(given, now=T0)
    assert [list(answer.ids) for answer in answers if isinstance(answer, Pushed)] == [
        ids(batch.messages) for batch in given
    ]
    assert (states(store, "a"), states(store, "b")) == ({"ready": 1}, {"ready": 5})


def test_a_batch_for_an_unknown_queue_is_answered_with_an_error_and_the_others_count(store: Store) -> None:
    put_queue(store)
    answers = store.push([Batch("nowhere", messages(1)), Batch("q", messages(1))], now=T0)
    assert isinstance(answers[0], QueueNotFound)
    assert answers[0].name == "nowhere"
    assert isinstance(answers[1], Pushed)
    assert states(store) == {"ready": 1}


def test_pushing_nothing_is_answered_with_nothing(store: Store) -> None:
    put_queue(store)
    assert store.push([], now=T0) == []
    pushed = push(store)
    assert (list(pushed.ids), list(pushed.seqs), pushed.seen) == ([], [], frozenset())


def test_a_large_batch_keeps_its_order(store: Store) -> None:
    put_queue(store)
    push(store, *messages(1000))
    assert payloads(claim(store, 1000)) == list(range(1000))


@pytest.mark.parametrize("body", JSON_TEXTS.values(), ids=JSON_TEXTS.keys())
def test_json_text_comes_back_byte_for_byte(store: Store, body: bytes) -> None:
    put_queue(store)
    push(store, Message(id=uuid4(), body=body))
    delivery = claim_one(store)
    assert (delivery.body, delivery.binary) == (body, False)
    assert delivery.payload == json.loads(body)
    assert record(store, delivery.id).body == body


@pytest.mark.parametrize("body", BYTES.values(), ids=BYTES.keys())
def test_bytes_come_back_as_they_were(store: Store, body: bytes) -> None:
    put_queue(store)
    push(store, message(body))
    delivery = claim_one(store)
    assert (delivery.body, delivery.binary, delivery.payload) == (body, True, body)
    assert record(store, delivery.id).payload == body


def test_the_largest_payload_comes_back_whole(store: Store) -> None:
    put_queue(store)
    body = bytes(range(256)) * (LARGEST_BODY // 256)
    push(store, message(body))
    assert claim_one(store).body == body


@pytest.mark.parametrize("metadata", METADATA.values(), ids=METADATA.keys())
def test_metadata_comes_back_as_it_was(store: Store, metadata: dict[str, str]) -> None:
    put_queue(store)
    push(store, message(metadata=metadata))
    delivery = claim_one(store)
    assert list(delivery.metadata.items()) == list(metadata.items())
    assert record(store, delivery.id).metadata == metadata


def test_moments_are_kept_to_the_microsecond_in_any_time_zone(store: Store) -> None:
    put_queue(store)
    zone = timezone(timedelta(hours=5, minutes=30))
    now, at, deadline = (after(n).astimezone(zone) for n in (0.000001, 60.123456, 120.654321))
    said = message(at=at, deadline=deadline)
    push(store, said, now=now)
    found = record(store, said.id, now=now)
    assert (found.created_at, found.scheduled_for, found.visible_at, found.deadline) == (
        now,
        at,
        at,
        deadline,
    )
    assert found.created_at.utcoffset() == timedelta(0)


def test_a_delayed_message_is_scheduled_until_its_delay_is_over(store: Store) -> None:
    put_queue(store)
    said = message(delay=span(10))
    push(store, said)
    assert states(store) == {"scheduled": 1}
    assert record(store, said.id).scheduled_for == after(10)
    assert claim(store, now=after(9.999999)) == []
    assert ids(claim(store, now=after(10))) == [said.id]


def test_a_message_for_a_time_is_scheduled_until_then(store: Store) -> None:
    put_queue(store)
    said = message(at=after(10))
    push(store, said)
    assert record(store, said.id).state is State.SCHEDULED
    assert claim(store, now=after(9)) == []
    assert ids(claim(store, now=after(10))) == [said.id]


def test_a_time_that_has_passed_means_at_once(store: Store) -> None:
    put_queue(store, delay=span(60))
    said = message(at=after(-10))
    push(store, said)
    found = record(store, said.id)
    assert (found.scheduled_for, found.visible_at, found.state) == (after(-10), T0, State.READY)


def test_a_queues_delay_holds_for_messages_that_have_none(store: Store) -> None:
    put_queue(store, delay=span(60))
    plain, own, none = message(), message(delay=span(5)), message(delay=span(0))
    push(store, plain, own, none)
    assert [record(store, each.id).scheduled_for for each in (plain, own, none)] == [after(60), after(5), T0]
    assert record(store, none.id).state is State.READY


def test_without_any_delay_nothing_is_scheduled_for(store: Store) -> None:
    put_queue(store)
    said = message()
    push(store, said)
    assert record(store, said.id).scheduled_for is None


def test_a_paused_queue_takes_messages(store: Store) -> None:
    put_queue(store, paused=True)
    push(store, message())
    assert states(store) == {"ready": 1}


# The same message again.


def test_the_same_message_again_counts_as_seen(store: Store) -> None:
    put_queue(store)
    said = message(1, metadata={"a": "1"})
    first = push(store, said)
    again = push(store, said, now=after(1))
    assert (list(again.ids), list(again.seqs), again.seen) == ([said.id], list(first.seqs), frozenset({0}))
    assert states(store, now=after(1)) == {"ready": 1}


def test_a_batch_may_hold_seen_and_fresh_messages(store: Store) -> None:
    put_queue(store)
    old, new = message(1), message(2)
    first = push(store, old)
    both = push(store, new, old)
    assert list(both.ids) == [new.id, old.id]
    assert both.seqs[1] == first.seqs[0]
    assert both.seen == frozenset({1})
    assert states(store) == {"ready": 2}


def test_the_same_message_is_seen_while_it_is_held_and_after_it_is_done(store: Store) -> None:
    put_queue(store)
    said = message(1)
    push(store, said)
    delivery = claim_one(store)
    assert push(store, said).seen == frozenset({0})
    settle(store, delivery)
    assert push(store, said).seen == frozenset({0})
    assert states(store) == {"done": 1}


def test_the_same_message_is_seen_after_its_payload_was_dropped(store: Store) -> None:
    put_queue(store, retention=span(0))
    said = message(1)
    push(store, said)
    settle(store, claim_one(store))
    assert push(store, said).seen == frozenset({0})


def test_the_same_message_is_seen_after_it_was_dead_lettered(store: Store) -> None:
    put_queue(store, "dead")
    put_queue(store, dead_letter="dead")
    said = message(1)
    push(store, said)
    settle(store, claim_one(store), Bury())
    assert push(store, said).seen == frozenset({0})
    assert isinstance(refusal(store, said, queue="dead"), DuplicateMessage)


def test_the_same_id_with_other_wishes_is_still_the_same_message(store: Store) -> None:
    put_queue(store)
    said = message(1)
    push(store, said)
    assert push(store, replace(said, priority=9, delay=span(60))).seen == frozenset({0})
    assert record(store, said.id).priority == 0


def test_the_same_metadata_in_another_order_is_the_same_message(store: Store) -> None:
    put_queue(store)
    said = message(1, metadata={"a": "1", "b": "2"})
    push(store, said)
    assert push(store, replace(said, metadata={"b": "2", "a": "1"})).seen == frozenset({0})


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_an_id_that_belongs_to_a_different_message_is_refused(store: Store, change: dict[str, Any]) -> None:
    put_queue(store)
    said = message(1, metadata={"a": "1"})
    push(store, said)
    assert isinstance(refusal(store, replace(said, **change)), DuplicateMessage)
    assert states(store) == {"ready": 1}


def test_an_id_of_a_different_message_is_refused_although_its_dedup_key_was_seen(store: Store) -> None:
    put_queue(store)
    said = message(1, key="k")
    push(store, said)
    assert isinstance(refusal(store, replace(said, body=b"2")), DuplicateMessage)
    assert isinstance(refusal(store, message(3), replace(said, body=b"2")), DuplicateMessage)


def test_an_id_that_belongs_to_a_message_of_another_queue_is_refused(store: Store) -> None:
    put_queue(store)
    put_queue(store, "other")
    said = message(1)
    push(store, said)
    assert isinstance(refusal(store, said, queue="other"), DuplicateMessage)


def test_a_batch_with_a_duplicate_leaves_nothing_behind(store: Store) -> None:
    put_queue(store)
    said = message(1)
    push(store, said)
    fresh = message(2, key="k")
    assert isinstance(refusal(store, fresh, replace(said, body=b"3")), DuplicateMessage)
    assert ids(everything(store)) == [said.id]
    assert push(store, message(4, key="k")).seen == frozenset()


def test_the_same_message_twice_in_a_batch_counts_once(store: Store) -> None:
    put_queue(store)
    said = message(1)
    pushed = push(store, said, said)
    assert list(pushed.ids) == [said.id, said.id]
    assert pushed.seqs[0] == pushed.seqs[1]
    assert pushed.seen == frozenset({1})
    assert states(store) == {"ready": 1}


def test_an_id_twice_in_a_batch_for_different_messages_is_refused(store: Store) -> None:
    put_queue(store)
    said = message(1)
    assert isinstance(refusal(store, said, replace(said, body=b"2")), DuplicateMessage)
    assert everything(store) == []


def test_the_same_message_in_two_batches_of_a_call_counts_once(store: Store) -> None:
    put_queue(store)
    said = message(1)
    first, second = store.push([Batch("q", [said]), Batch("q", [said])], now=T0)
    assert isinstance(first, Pushed)
    assert isinstance(second, Pushed)
    assert (first.seen, second.seen) == (frozenset(), frozenset({0}))
    assert first.seqs[0] == second.seqs[0]


def test_an_id_in_two_batches_of_a_call_for_different_messages_refuses_the_second(store: Store) -> None:
    put_queue(store)
    put_queue(store, "other")
    said = message(1)
    first, second = store.push([Batch("q", [said]), Batch("other", [message(), said])], now=T0)
    assert isinstance(first, Pushed)
    assert isinstance(second, DuplicateMessage)
    assert states(store, "other") == {}


# Dedup keys.


def test_a_dedup_key_seen_within_its_window_names_the_earlier_message(store: Store) -> None:
    put_queue(store)
    earlier = message(1, key="k", window=span(60))
    first = push(store, earlier)
    again = push(store, message(0), message(2, key="k"), now=after(59.999999))
    assert again.ids[1] == earlier.id
    assert again.seqs[1] == first.seqs[0]
    assert again.seen == frozenset({1})
    assert states(store, now=after(60)) == {"ready": 2}


def test_a_dedup_key_is_fresh_once_its_window_is_over(store: Store) -> None:
    put_queue(store)
    push(store, message(1, key="k", window=span(60)))
    assert push(store, message(2, key="k"), now=after(60)).seen == frozenset()


def test_seeing_a_dedup_key_does_not_lengthen_its_window(store: Store) -> None:
    put_queue(store)
    push(store, message(1, key="k", window=span(60)))
    assert push(store, message(2, key="k", window=span(60)), now=after(30)).seen == frozenset({0})
    assert push(store, message(3, key="k"), now=after(60)).seen == frozenset()


def test_a_new_window_begins_with_the_message_that_was_fresh(store: Store) -> None:
    put_queue(store)
    push(store, message(1, key="k", window=span(60)))
    second = message(2, key="k", window=span(60))
    push(store, second, now=after(60))
    third = push(store, message(3, key="k"), now=after(119))
    assert (list(third.ids), third.seen) == ([second.id], frozenset({0}))


def test_a_dedup_key_is_a_queues_own(store: Store) -> None:
    put_queue(store, "a")
    put_queue(store, "b")
    push(store, message(1, key="k"), queue="a")
    assert push(store, message(1, key="k"), queue="b").seen == frozenset()


def test_a_dedup_key_is_remembered_after_its_message_is_finished(store: Store) -> None:
    put_queue(store)
    done = done_message(store, key="k")
    again = push(store, message(2, key="k"))
    assert (list(again.ids), again.seen) == ([done], frozenset({0}))


def test_a_dedup_key_repeated_in_a_batch_counts_once(store: Store) -> None:
    put_queue(store)
    first, second, other = message(1, key="k"), message(2, key="k"), message(3)
    pushed = push(store, first, other, second)
    assert list(pushed.ids) == [first.id, other.id, first.id]
    assert pushed.seqs[0] == pushed.seqs[2]
    assert pushed.seen == frozenset({2})
    assert payloads(claim(store, 10)) == [1, 3]


def test_a_dedup_key_in_two_batches_of_a_call_counts_once(store: Store) -> None:
    put_queue(store)
    first, second = message(1, key="k"), message(2, key="k")
    answers = store.push([Batch("q", [first]), Batch("q", [second])], now=T0)
    assert isinstance(answers[1], Pushed)
    assert (list(answers[1].ids), answers[1].seen) == ([first.id], frozenset({0}))


def test_a_message_with_a_dedup_key_may_be_pushed_again_after_a_lost_reply(store: Store) -> None:
    put_queue(store)
    said = message(1, key="k", window=span(60))
    first = push(store, said)
    for now in (after(1), after(61)):
        again = push(store, said, now=now)
        assert (list(again.ids), list(again.seqs), again.seen) == (
            [said.id],
            list(first.seqs),
            frozenset({0}),
        )
    assert states(store, now=after(61)) == {"ready": 1}


# The longest a queue may be.


def test_a_batch_that_would_make_the_queue_too_long_is_refused_whole(store: Store) -> None:
    put_queue(store, max_length=3)
    push(store, *messages(2))
    assert isinstance(refusal(store, *messages(2)), QueueFull)
    assert states(store) == {"ready": 2}
    push(store, message())
    assert isinstance(refusal(store, message()), QueueFull)


def test_a_refused_batch_leaves_no_dedup_key_behind(store: Store) -> None:
    put_queue(store, max_length=1)
    assert isinstance(refusal(store, message(1, key="k"), message(2)), QueueFull)
    assert push(store, message(1, key="k")).seen == frozenset()


def test_scheduled_held_and_parked_messages_count_towards_the_length(store: Store) -> None:
    put_queue(store, max_length=4)
    push(store, message())
    claim_one(store)
    push(store, message(delay=span(60)), message(group="g"), message(group="g"))
    assert isinstance(refusal(store, message()), QueueFull)


def test_finished_messages_do_not_count_towards_the_length(store: Store) -> None:
    put_queue(store, max_length=1)
    done_message(store)
    push(store, message())
    assert states(store) == {"ready": 1, "done": 1}


def test_messages_seen_before_do_not_count_towards_the_length(store: Store) -> None:
    put_queue(store, max_length=2)
    said, keyed = message(1), message(2, key="k")
    push(store, said, keyed)
    assert push(store, said, message(3, key="k")).seen == frozenset({0, 1})


def test_a_full_queue_refuses_one_batch_of_a_call_and_takes_another(store: Store) -> None:
    put_queue(store, max_length=2)
    answers = store.push([Batch("q", messages(1)), Batch("q", messages(2)), Batch("q", messages(1))], now=T0)
    assert [type(answer) for answer in answers] == [Pushed, QueueFull, Pushed]
    assert states(store) == {"ready": 2}


def test_a_lowered_length_refuses_new_messages_and_keeps_the_old(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3))
    put_queue(store, max_length=1)
    assert isinstance(refusal(store, message()), QueueFull)
    assert states(store) == {"ready": 3}
    put_queue(store, max_length=None)
    push(store, message())
