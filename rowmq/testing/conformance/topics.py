"""Topics: a copy for every queue bound, and nothing lost while none is."""

import pytest

from rowmq.core.errors import DuplicateMessage, QueueFull, QueueNotFound
from rowmq.core.history import Amendment, LedgerEntry
from rowmq.core.message import Message, derived_id
from rowmq.core.store import GRACE, Store
from rowmq.testing.build import (
    T0,
    after,
    claim,
    claim_one,
    everything,
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


def put_bound(store: Store, *names: str, topic: str = "t") -> None:
    """Create queues and bind them."""
    for name in names:
        put_queue(store, name)
        store.topics.bind(topic, name, now=T0)


def publish(store: Store, *given: Message, topic: str = "t", seconds: float = 0) -> int:
    """Publish that long after the beginning."""
    return store.topics.publish(topic, given, now=after(seconds))


def test_a_queue_is_bound_once(store: Store) -> None:
    put_queue(store)
    assert store.topics.bind("t", "q", now=T0) is True
    assert store.topics.bind("t", "q", now=T0) is False
    assert store.topics.bindings() == [("t", "q")]


def test_only_a_queue_that_exists_can_be_bound(store: Store) -> None:
    with pytest.raises(QueueNotFound):
        store.topics.bind("t", "nowhere", now=T0)
    assert store.topics.bindings() == []


def test_bindings_are_sorted_and_may_be_of_one_topic(store: Store) -> None:
    for name in ("b", "a"):
        put_queue(store, name)
        for topic in ("t2", "t1"):
            store.topics.bind(topic, name, now=T0)
    assert store.topics.bindings() == [("t1", "a"), ("t1", "b"), ("t2", "a"), ("t2", "b")]
    assert store.topics.bindings("t2") == [("t2", "a"), ("t2", "b")]
    assert store.topics.bindings("t3") == []


def test_every_bound_queue_gets_a_copy(store: Store) -> None:
    put_bound(store, "a", "b")
    put_queue(store, "c")
    said = messages(2, metadata={"v": "1"}, priority=3)
    assert publish(store, *said) == 2
    for name in "ab":
        copies = claim(store, 10, queue=name)
        assert ids(copies) == [derived_id(each.id, name) for each in said]
        assert payloads(copies) == [0, 1]
        assert [(copy.metadata, copy.priority, copy.source) for copy in copies] == [({"v": "1"}, 3, None)] * 2
    assert states(store, "c") == {}


def test_copies_live_on_their_own(store: Store) -> None:
    put_bound(store, "a", "b")
    publish(store, message())
    settle(store, claim_one(store, queue="a"))
    assert (states(store, "a"), states(store, "b")) == ({"done": 1}, {"ready": 1})


def test_a_message_published_again_is_copied_once(store: Store) -> None:
    put_bound(store, "a")
    said = message()
    assert publish(store, said) == 1
    assert publish(store, said, seconds=1) == 1
    assert states(store, "a", now=after(1)) == {"ready": 1}


def test_groups_delays_and_keys_hold_in_every_bound_queue(store: Store) -> None:
    put_bound(store, "a", "b")
    publish(store, message(0, group="g", key="k"), message(1, group="g"), message(2, delay=span(60)))
    publish(store, message(3, key="k"))
    for name in "ab":
        assert states(store, name) == {"ready": 2, "scheduled": 1}
        assert payloads(claim(store, 10, queue=name)) == [0]


def test_a_dedup_key_repeated_in_one_publication_counts_once(store: Store) -> None:
    put_queue(store)
    store.topics.publish("t", messages(2, key="kept"), now=T0)
    store.topics.bind("t", "q", now=T0)
    assert states(store) == {"ready": 1}
    store.topics.publish("t", [*messages(3, key="k"), message()], now=T0)
    assert states(store) == {"ready": 3}


def test_a_publish_is_all_or_nothing(store: Store) -> None:
    put_bound(store, "a", "b")
    put_queue(store, "b", max_length=1)
    with pytest.raises(QueueFull):
        publish(store, *messages(2))
    assert (states(store, "a"), states(store, "b")) == ({}, {})


def test_a_publish_that_one_queue_refuses_leaves_no_dedup_key(store: Store) -> None:
    put_bound(store, "a", "b")
    put_queue(store, "b", max_length=1)
    with pytest.raises(QueueFull):
        publish(store, message(0, key="k"), message(1))
    assert publish(store, message(0, key="k")) == 2
    assert (states(store, "a"), states(store, "b")) == ({"ready": 1}, {"ready": 1})


def test_a_publish_raises_what_a_queue_refuses_with(store: Store) -> None:
    put_bound(store, "a")
    said = message(0)
    publish(store, said)
    with pytest.raises(DuplicateMessage):
        publish(store, message(1, id=said.id))


def test_an_unbound_queue_keeps_what_it_has_and_gets_nothing_more(store: Store) -> None:
    put_bound(store, "a", "b")
    publish(store, message("before"))
    assert store.topics.unbind("t", "a", now=T0) is True
    assert store.topics.unbind("t", "a", now=T0) is False
    assert publish(store, message("after")) == 1
    assert payloads(claim(store, 10, queue="a")) == ["before"]
    assert payloads(claim(store, 10, queue="b")) == ["before", "after"]


def test_a_queue_may_be_bound_to_several_topics(store: Store) -> None:
    put_bound(store, "a", topic="t1")
    store.topics.bind("t2", "a", now=T0)
    publish(store, message(1), topic="t1")
    publish(store, message(2), topic="t2")
    assert payloads(claim(store, 10, queue="a")) == [1, 2]


def test_a_dropped_queue_is_bound_to_nothing(store: Store) -> None:
    put_bound(store, "a", "b")
    store.queues.drop("a", now=T0)
    assert publish(store, message()) == 1
    assert store.topics.bindings() == [("t", "b")]


def test_publishing_does_not_disturb_what_is_pushed_to_the_queue_itself(store: Store) -> None:
    put_bound(store, "a")
    push(store, message("pushed"), queue="a")
    publish(store, message("published"))
    assert payloads(claim(store, 10, queue="a")) == ["pushed", "published"]


# What is published while nothing is bound.


def test_what_is_published_while_nothing_is_bound_goes_to_the_first_queue_bound(store: Store) -> None:
    said = [message(number, metadata={"n": str(number)}) for number in range(5)]
    assert publish(store, *said[:3]) == 0
    assert publish(store, *said[3:], seconds=1) == 0
    put_queue(store, "a")
    store.topics.bind("t", "a", now=after(100))
    copies = claim(store, 10, queue="a", now=after(100))
    assert ids(copies) == [derived_id(each.id, "a") for each in said]
    assert [copy.metadata["n"] for copy in copies] == ["0", "1", "2", "3", "4"]


def test_those_that_bind_within_the_grace_get_the_backlog_too(store: Store) -> None:
    publish(store, *messages(3))
    for name in "abcd":
        put_queue(store, name)
    store.topics.bind("t", "a", now=after(10))
    store.topics.bind("t", "b", now=after(11))
    store.topics.bind("t", "c", now=after(10) + GRACE)
    store.topics.bind("t", "d", now=after(10.000001) + GRACE)
    found = [states(store, name, now=after(20)) for name in "abcd"]
    assert found == [{"ready": 3}, {"ready": 3}, {"ready": 3}, {}]


def test_a_backlog_past_its_grace_is_deleted_with_a_ledger_entry(store: Store) -> None:
    publish(store, *messages(3))
    put_bound(store, "a")
    assert store.history.ledger("t") == []
    put_queue(store, "b")
    store.topics.bind("t", "b", now=after(3))
    (entry,) = store.history.ledger("t")
    assert entry == LedgerEntry(after(3), "t", "topic", 3, entry.first_seq, entry.last_seq)


def test_binding_a_bound_queue_deletes_a_backlog_past_its_grace_too(store: Store) -> None:
    publish(store, message())
    put_bound(store, "a")
    assert store.topics.bind("t", "a", now=after(3)) is False
    assert [(entry.at, entry.action) for entry in store.history.ledger("t")] == [(after(3), "topic")]


def test_a_sweep_deletes_a_backlog_past_its_grace(store: Store) -> None:
    publish(store, *messages(3))
    store.history.sweep(now=after(1_000))
    assert store.history.ledger("t") == []
    put_queue(store, "a")
    store.topics.bind("t", "a", now=after(1_000))
    store.history.sweep(now=after(1_000) + GRACE)
    assert store.history.ledger("t") == []
    store.history.sweep(now=after(1_001) + GRACE)
    assert [(entry.action, entry.count) for entry in store.history.ledger("t")] == [("topic", 3)]


def test_within_the_grace_new_messages_go_to_the_bound_only_once(store: Store) -> None:
    publish(store, message("kept"))
    put_bound(store, "a", "b")
    assert publish(store, message("new"), seconds=1) == 2
    put_queue(store, "c")
    store.topics.bind("t", "c", now=after(1))
    assert payloads(claim(store, 10, queue="a", now=after(1))) == ["kept", "new"]
    assert payloads(claim(store, 10, queue="c", now=after(1))) == ["kept"]


def test_after_the_last_queue_is_unbound_a_topic_is_as_new(store: Store) -> None:
    publish(store, message("gone"))
    put_bound(store, "a")
    store.topics.unbind("t", "a", now=after(1))
    assert [(entry.action, entry.count) for entry in store.history.ledger("t")] == [("topic", 1)]
    assert publish(store, message("kept"), seconds=1) == 0
    put_queue(store, "b")
    store.topics.bind("t", "b", now=after(500))
    assert payloads(claim(store, 10, queue="b", now=after(500))) == ["kept"]


def test_after_the_last_bound_queue_is_dropped_a_topic_is_as_new(store: Store) -> None:
    put_bound(store, "a")
    store.queues.drop("a", now=after(5))
    assert publish(store, message("kept"), seconds=5) == 0
    put_queue(store, "b")
    store.topics.bind("t", "b", now=after(6))
    assert payloads(claim(store, 10, queue="b", now=after(6))) == ["kept"]


def test_dropping_the_last_bound_queue_deletes_the_backlog_with_a_ledger_entry(store: Store) -> None:
    publish(store, message())
    put_bound(store, "a")
    store.queues.drop("a", now=after(1))
    assert [(entry.at, entry.action) for entry in store.history.ledger("t")] == [(after(1), "topic")]


def test_a_kept_message_keeps_the_moment_it_is_scheduled_for(store: Store) -> None:
    publish(store, message(delay=span(60)), message(at=after(90)), message())
    put_queue(store, "a", delay=span(5))
    store.topics.bind("t", "a", now=after(10))
    assert states(store, "a", now=after(59)) == {"ready": 1, "scheduled": 2}
    assert states(store, "a", now=after(60)) == {"ready": 2, "scheduled": 1}
    assert states(store, "a", now=after(90)) == {"ready": 3}


def test_a_kept_message_keeps_its_wishes(store: Store) -> None:
    said = message("x", group="g", key="k", priority=5, deadline=after(3600), metadata={"a": "b"})
    publish(store, said)
    put_bound(store, "a")
    found = record(store, derived_id(said.id, "a"))
    assert (found.group, found.key, found.priority) == ("g", "k", 5)
    assert (found.deadline, found.metadata, found.payload) == (after(3600), {"a": "b"}, "x")
    assert push(store, message(key="k"), queue="a").seen == frozenset({0})


def test_a_message_published_again_is_kept_once(store: Store) -> None:
    said = message()
    publish(store, said)
    publish(store, said)
    put_bound(store, "a")
    assert states(store, "a") == {"ready": 1}


def test_topics_keep_their_messages_apart(store: Store) -> None:
    publish(store, message(1), topic="t1")
    publish(store, message(2), topic="t2")
    put_bound(store, "a", topic="t2")
    assert payloads(claim(store, 10, queue="a")) == [2]


def test_kept_messages_are_in_no_queue(store: Store) -> None:
    publish(store, message())
    assert store.queues.list() == []
    assert everything(store) == []
    put_queue(store, "t")
    assert states(store, "t") == {}
    assert [queue.name for queue in store.queues.list()] == ["t"]


@pytest.mark.parametrize("amendment", list(Amendment))
def test_a_kept_message_cannot_be_looked_up_or_amended(store: Store, amendment: Amendment) -> None:
    put_queue(store, "a")
    said = message()
    publish(store, said)
    assert store.history.get(said.id, now=T0) is None
    assert store.history.amend([said.id], amendment, to="a", now=T0) == 0
    assert store.history.ledger() == []
    store.topics.bind("t", "a", now=T0)
    assert states(store, "a") == {"ready": 1}


def test_publishing_nothing_tells_how_many_queues_are_bound(store: Store) -> None:
    put_bound(store, "a", "b")
    assert publish(store) == 2
    assert publish(store, topic="other") == 0
