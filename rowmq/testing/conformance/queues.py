"""Queues: settings that may change at any time, purging, dropping and counting."""

from datetime import timedelta
from typing import Any

import pytest

from rowmq.core.backoff import Backoff
from rowmq.core.errors import InvalidSetting, QueueNotFound
from rowmq.core.history import LedgerEntry, Stats
from rowmq.core.outcome import Bury, Settled, State
from rowmq.core.queue import Archive, Guarantee, Queue, Rate
from rowmq.core.store import Store
from rowmq.testing.build import (
    FOREVER,
    T0,
    after,
    claim,
    claim_one,
    dead_message,
    done_message,
    everything,
    ids,
    message,
    messages,
    push,
    put_queue,
    record,
    schedule,
    settle,
    span,
    states,
)

SETTINGS: list[dict[str, Any]] = [
    {"max_attempts": 1},
    {"max_attempts": 2**31 - 1},
    {"max_attempts": None},
    {"lease": timedelta(milliseconds=1)},
    {"lease": FOREVER},
    {"lease": timedelta(seconds=1, microseconds=234567)},
    {"delay": timedelta(0)},
    {"delay": timedelta(microseconds=1)},
    {"backoff": Backoff(first=timedelta(0), factor=1.5, cap=timedelta(minutes=3), jitter=0.25)},
    {"delivery": Guarantee.AT_MOST_ONCE},
    {"fifo": True},
    {"retention": None},
    {"retention": timedelta(0)},
    {"retention": FOREVER},
    {"max_age": timedelta(milliseconds=1)},
    {"max_age": None},
    {"paused": True},
    {"max_length": 1},
    {"max_length": 100_000},
    {"archive": Archive.REQUIRED},
    {"tags": {"team": "a", "it's": "日本語 🎉", "": ""}},
    {"rate": None},
    {"rate": Rate(1, timedelta(milliseconds=1))},
    {"rate": Rate(1_000_000, timedelta(days=1))},
    {"rate": Rate(7, timedelta(seconds=1, microseconds=234567))},
    {"max_attempts": 7, "lease": timedelta(minutes=5), "fifo": True, "paused": True},
]

WRONG: list[dict[str, Any]] = [
    {"max_attempts": 0},
    {"lease": timedelta(0)},
    {"lease": 30},
    {"delay": timedelta(seconds=-1)},
    {"max_length": 100_001},
    {"delivery": "exactly_once"},
    {"unknown": 1},
    {"name": "other"},
    {"paused": None},
]


def test_a_new_queue_has_the_default_settings(store: Store) -> None:
    assert store.queues.put("q", now=T0) == Queue(name="q")
    assert store.queues.get("q") == Queue(name="q")


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_queue_keeps_its_settings(store: Store, settings: dict[str, Any]) -> None:
    expected = Queue(name="q", **settings)
    assert put_queue(store, **settings) == expected
    assert store.queues.get("q") == expected
    assert store.queues.list() == [expected]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_settings_of_an_existing_queue_change_one_by_one(store: Store, settings: dict[str, Any]) -> None:
    put_queue(store, "dead")
    base: dict[str, Any] = {
        "max_attempts": 3,
        "max_age": span(5),
        "max_length": 5,
        "dead_letter": "dead",
        "tags": {"a": "b"},
    }
    put_queue(store, **base)
    expected = Queue(name="q", **{**base, **settings})
    assert put_queue(store, **settings) == expected
    assert store.queues.get("q") == expected


def test_a_queue_put_without_changes_is_left_as_it_is(store: Store) -> None:
    expected = put_queue(store, max_attempts=9)
    assert store.queues.put("q", now=T0) == expected
    assert store.queues.put("q", {}, now=T0) == expected


@pytest.mark.parametrize("settings", WRONG, ids=str)
def test_a_wrong_setting_is_refused_and_nothing_is_changed(store: Store, settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting):
        store.queues.put("q", settings, now=T0)
    assert store.queues.get("q") is None
    before = put_queue(store, max_attempts=3)
    with pytest.raises(InvalidSetting):
        store.queues.put("q", {"max_attempts": 4, **settings}, now=T0)
    assert store.queues.get("q") == before


def test_an_unknown_queue_is_none(store: Store) -> None:
    assert store.queues.get("nowhere") is None


def test_queues_are_listed_by_name(store: Store) -> None:
    names = ["b", "a", "B", "é", "a b", "ab", "10", "9", "_", "日本", "🎉", "z"]
    for name in names:
        put_queue(store, name)
    assert [queue.name for queue in store.queues.list()] == sorted(names)


# Drop.


def test_dropping_an_unknown_queue_is_false(store: Store) -> None:
    assert store.queues.drop("nowhere", now=T0) is False


def test_a_dropped_queue_is_gone_with_everything_in_it(store: Store) -> None:
    put_queue(store)
    finished = [done_message(store), dead_message(store)]
    waiting = ids(messages_in_all_waiting_states(store))
    store.topics.bind("t", "q", now=T0)
    store.consumers.beat("q", "w", span(60), now=T0)
    store.schedules.put(schedule(), now=T0)
    assert store.queues.drop("q", now=after(1)) is True
    assert store.queues.get("q") is None
    assert [store.history.get(each, now=after(1)) for each in finished + waiting] == [None] * 5
    assert store.topics.bindings() == []
    assert store.consumers.list(now=after(1)) == []
    assert store.schedules.list() == []
    assert store.history.bounds() == (0, 0)


def messages_in_all_waiting_states(store: Store) -> list[Any]:
    """Leave one message held, one ready and one scheduled."""
    given = [message(priority=9), message(), message(delay=span(600))]
    push(store, *given)
    claim_one(store)
    return given


def test_a_dropped_queue_leaves_a_ledger_entry(store: Store) -> None:
    put_queue(store)
    done_message(store)
    seqs = push(store, *messages(2)).seqs
    store.queues.drop("q", now=after(1))
    (entry,) = store.history.ledger()
    assert entry == LedgerEntry(after(1), "q", "drop", 3, entry.first_seq, seqs[-1])
    assert entry.first_seq < seqs[0]
    assert store.history.ledger("q") == [entry]


def test_an_empty_queue_is_dropped_without_a_ledger_entry(store: Store) -> None:
    put_queue(store)
    store.queues.drop("q", now=T0)
    assert store.history.ledger() == []


def test_dropping_a_queue_leaves_other_queues_alone(store: Store) -> None:
    put_queue(store, "other")
    put_queue(store)
    said = message(group="g", key="k")
    push(store, said, queue="other")
    push(store, message(group="g", key="k"))
    store.topics.bind("t", "other", now=T0)
    store.queues.drop("q", now=T0)
    assert ids(everything(store)) == [said.id]
    assert store.topics.bindings() == [("t", "other")]
    assert push(store, message(key="k"), queue="other").seen == frozenset({0})


def test_dropping_a_queue_deletes_what_is_in_it_now_and_not_what_has_left(store: Store) -> None:
    put_queue(store, "dead")
    put_queue(store, dead_letter="dead")
    letter = dead_message(store)
    store.queues.drop("q", now=T0)
    assert record(store, letter).source == "q"
    assert store.queues.drop("dead", now=T0)
    assert store.history.get(letter, now=T0) is None


def test_a_queue_created_again_begins_empty(store: Store) -> None:
    put_queue(store, max_attempts=9)
    said = message(group="g", key="k")
    push(store, said)
    claim_one(store)
    store.queues.drop("q", now=T0)
    assert put_queue(store) == Queue(name="q")
    assert states(store) == {}
    assert push(store, said).seen == frozenset()
    assert len(claim(store)) == 1


def test_a_dropped_queue_takes_its_named_claims_along(store: Store) -> None:
    put_queue(store)
    push(store, message())
    claim_one(store, name="run")
    store.queues.drop("q", now=T0)
    assert store.adopt("run", now=T0) is None


def test_the_receipt_of_a_dropped_message_is_lost(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    store.queues.drop("q", now=T0)
    assert settle(store, delivery) is Settled.LOST
    assert store.extend([delivery.receipt], span(60), now=T0) == [None]


# Purge.


def put_one_of_each(store: Store) -> None:
    """Leave one message in every state: done, dead, held, ready and scheduled."""
    done_message(store)
    dead_message(store)
    messages_in_all_waiting_states(store)


def test_a_purge_deletes_what_still_waits(store: Store) -> None:
    put_queue(store)
    put_one_of_each(store)
    assert store.queues.purge("q", now=after(1)) == 2
    assert states(store, now=after(1)) == {"leased": 1, "done": 1, "dead": 1}


@pytest.mark.parametrize("state", list(State))
def test_a_purge_may_delete_what_is_in_one_state(store: Store, state: State) -> None:
    put_queue(store)
    put_one_of_each(store)
    assert store.queues.purge("q", state=state, now=after(1)) == 1
    assert states(store, now=after(1)) == {each.value: 1 for each in State if each is not state}
    assert everything(store, state=state, now=after(1)) == []


def test_a_purge_may_spare_what_was_pushed_later(store: Store) -> None:
    put_queue(store)
    push(store, message())
    push(store, message(), now=after(10))
    assert store.queues.purge("q", before=T0, now=after(20)) == 0
    assert store.queues.purge("q", before=after(10), now=after(20)) == 1
    assert states(store, now=after(20)) == {"ready": 1}


def test_a_purge_deletes_no_more_than_its_limit(store: Store) -> None:
    put_queue(store)
    push(store, *messages(5))
    assert [store.queues.purge("q", limit=2, now=T0) for _ in range(4)] == [2, 2, 1, 0]
    push(store, *messages(3))
    for held in claim(store, 3):
        settle(store, held)
    assert [store.queues.purge("q", state=State.DONE, limit=2, now=T0) for _ in range(3)] == [2, 1, 0]


def test_a_purge_of_finished_messages_goes_by_when_they_were_pushed(store: Store) -> None:
    put_queue(store)
    push(store, message())
    settle(store, claim_one(store), now=after(10))
    assert store.queues.purge("q", state=State.DONE, before=after(5), now=after(20)) == 1


def test_a_purge_deletes_messages_behind_their_groups_head(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3, group="g"))
    head = claim_one(store)
    assert store.queues.purge("q", now=T0) == 2
    settle(store, head)
    assert claim(store) == []


def test_a_purge_of_held_messages_takes_them_from_their_holders(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    assert store.queues.purge("q", state=State.LEASED, now=T0) == 1
    assert settle(store, delivery) is Settled.LOST


def test_a_purge_counts_a_message_whose_holder_vanished_as_waiting(store: Store) -> None:
    put_queue(store)
    push(store, message())
    claim_one(store)
    assert store.queues.purge("q", now=after(29)) == 0
    assert store.queues.purge("q", now=after(30)) == 1


def test_a_purge_leaves_a_ledger_entry(store: Store) -> None:
    put_queue(store)
    seqs = push(store, *messages(3)).seqs
    store.queues.purge("q", now=after(1))
    assert store.history.ledger() == [LedgerEntry(after(1), "q", "purge", 3, seqs[0], seqs[2])]


def test_a_purge_of_nothing_leaves_no_ledger_entry(store: Store) -> None:
    put_queue(store)
    assert store.queues.purge("q", now=T0) == 0
    assert store.history.ledger() == []


def test_a_purge_leaves_other_queues_alone(store: Store) -> None:
    put_queue(store)
    put_queue(store, "other")
    push(store, message(), queue="other")
    assert store.queues.purge("q", now=T0) == 0
    assert states(store, "other") == {"ready": 1}


def test_a_purged_id_may_be_used_again(store: Store) -> None:
    put_queue(store)
    said = message()
    push(store, said)
    store.queues.purge("q", now=T0)
    assert push(store, said).seen == frozenset()
    assert len(claim(store)) == 1


def test_purging_an_unknown_queue_raises(store: Store) -> None:
    with pytest.raises(QueueNotFound):
        store.queues.purge("nowhere", now=T0)


# Stats.


def test_stats_count_by_state(store: Store) -> None:
    put_queue(store)
    put_one_of_each(store)
    assert store.queues.stats("q", now=after(1)) == Stats(1, 1, 1, 1, 1, span(1))


def test_stats_of_an_empty_queue_are_zero(store: Store) -> None:
    put_queue(store)
    assert store.queues.stats("q", now=T0) == Stats(0, 0, 0, 0, 0, None)


def test_a_message_whose_lease_has_ended_counts_as_ready(store: Store) -> None:
    put_queue(store)
    push(store, message())
    claim_one(store)
    assert states(store, now=after(29.999999)) == {"leased": 1}
    assert states(store, now=after(30)) == {"ready": 1}


def test_the_oldest_age_is_how_long_the_longest_waiting_has_been_ready(store: Store) -> None:
    put_queue(store)
    push(store, message(delay=span(10)))
    push(store, message(), now=after(5))
    assert store.queues.stats("q", now=after(20)).oldest_age == span(15)
    claim_one(store, now=after(20))
    assert store.queues.stats("q", now=after(25)).oldest_age == span(15)
    claim_one(store, now=after(25))
    assert store.queues.stats("q", now=after(25)).oldest_age is None


def test_the_oldest_age_counts_messages_behind_their_groups_head(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2, group="g"))
    claim_one(store)
    assert store.queues.stats("q", now=after(10)).oldest_age == span(10)


def test_stats_of_an_unknown_queue_raise(store: Store) -> None:
    with pytest.raises(QueueNotFound):
        store.queues.stats("nowhere", now=T0)


def test_settling_moves_the_counts(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2))
    first, second = claim(store, 2)
    assert states(store) == {"leased": 2}
    settle(store, first)
    settle(store, second, Bury())
    assert states(store) == {"done": 1, "dead": 1}
