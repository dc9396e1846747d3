"""Names: any text is a name, different texts are different names, and what is no name is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from rowmq.core.errors import InvalidName, QueueNotFound
from rowmq.core.message import Batch
from rowmq.core.outcome import Settled
from rowmq.core.store import Store
from rowmq.testing.build import (
    T0,
    adopt,
    claim,
    claim_one,
    message,
    payloads,
    push,
    put_queue,
    schedule,
    settle,
    span,
    states,
)

NAMES = (
    "a",
    "with spaces",
    "trailing ",
    " leading",
    "  ",
    "it's",
    'double "quotes"',
    "back`ticks`",
    "back\\slash",
    "%s %(name)s 100%",
    ":name ::cast",
    "? $1 {} {0}",
    "'; DROP TABLE rowmq_messages; --",
    "a/b.c:d,e",
    "_%",
    "naïve",
    "日本語",
    "🎉👩‍👩‍👧",
    "שלום עולם",
    "e\u0301",
    "\u200b",
    "NULL",
    "*",
    "x" * 255,
    "🎉" * 255,
)

LOOK_ALIKES = ("a", "A", "a ", " a", "á", "a\u0301", "ａ", "а", "ß", "ss", "\u00e9", "e\u0301")  # noqa: RUF001 on purpose

WRONG = ("", "x" * 256, "a\nb", "a\tb", "a\0", "\x1f", "\x7f", "\x85", "\ud83d", 5, None, b"bytes")

CREATORS: dict[str, Callable[[Store, Any], object]] = {
    "queue": lambda store, name: store.queues.put(name, now=T0),
    "topic bound": lambda store, name: store.topics.bind(name, "q", now=T0),
    "topic published": lambda store, name: store.topics.publish(name, [message()], now=T0),
    "consumer": lambda store, name: store.consumers.beat("q", name, span(60), now=T0),
    "schedule": lambda store, name: store.schedules.put(schedule(name), now=T0),
    "role": lambda store, name: store.consumers.lead(name, "w", span(60), now=T0),
    "leader": lambda store, name: store.consumers.lead("role", name, span(60), now=T0),
}


@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name[:20]))
def test_any_text_may_name_anything(store: Store, name: str) -> None:
    put_queue(store, name, tags={name: name})
    store.topics.bind(name, name, now=T0)
    store.consumers.beat(name, name, span(60), now=T0)
    store.schedules.put(schedule(name, queue=name), now=T0)
    assert [store.consumers.lead(name, each, span(60), now=T0) for each in (name, name, "w")] == [1, 1, 0]
    push(store, message("first", key=name, group=name), message("second", group=name), queue=name)
    assert push(store, message(key=name), queue=name).seen == frozenset({0})
    delivery = claim_one(store, queue=name, consumer=name, name=name)
    assert (delivery.queue, delivery.payload, delivery.group) == (name, "first", name)
    assert settle(store, adopt(store, name).claim) is Settled.SETTLED
    assert payloads(claim(store, 10, queue=name)) == ["second"]
    assert store.topics.bindings(name) == [(name, name)]
    assert [(each.queue, each.name) for each in store.consumers.list(name, now=T0)] == [(name, name)]
    assert [each.name for each in store.schedules.list()] == [name]
    assert [queue.name for queue in store.queues.list()] == [name]
    assert store.topics.publish(name, [message()], now=T0) == 1
    assert states(store, name) == {"ready": 1, "leased": 1, "done": 1}
    assert store.queues.drop(name, now=T0)
    assert [entry.queue for entry in store.history.ledger(name)] == [name]


def test_queue_names_that_look_alike_are_different_names(store: Store) -> None:
    for name in LOOK_ALIKES:
        put_queue(store, name)
        push(store, message(name), queue=name)
    assert [queue.name for queue in store.queues.list()] == sorted(LOOK_ALIKES)
    for name in LOOK_ALIKES:
        assert payloads(claim(store, 10, queue=name)) == [name]


def test_groups_that_look_alike_are_different_groups(store: Store) -> None:
    put_queue(store)
    push(store, *(message(group=name) for name in LOOK_ALIKES))
    assert [delivery.group for delivery in claim(store, 100)] == list(LOOK_ALIKES)


def test_dedup_keys_that_look_alike_are_different_keys(store: Store) -> None:
    put_queue(store)
    assert push(store, *(message(key=name) for name in LOOK_ALIKES)).seen == frozenset()
    for name in LOOK_ALIKES:
        assert push(store, message(key=name)).seen == frozenset({0})


def test_topics_that_look_alike_are_different_topics(store: Store) -> None:
    put_queue(store)
    for name in LOOK_ALIKES:
        assert store.topics.bind(name, "q", now=T0)
    assert store.topics.bindings() == [(name, "q") for name in sorted(LOOK_ALIKES)]


def test_consumers_that_look_alike_are_different_consumers(store: Store) -> None:
    put_queue(store)
    for number, name in enumerate(LOOK_ALIKES):
        assert store.consumers.beat("q", name, span(60), now=T0).index == number


def test_roles_and_leaders_that_look_alike_are_different(store: Store) -> None:
    assert all(store.consumers.lead(name, "w", span(60), now=T0) for name in LOOK_ALIKES)
    assert not any(store.consumers.lead("a", name, span(60), now=T0) for name in LOOK_ALIKES)


def test_claim_names_that_look_alike_are_different_claims(store: Store) -> None:
    put_queue(store)
    push(store, *(message(name) for name in LOOK_ALIKES))
    for name in LOOK_ALIKES:
        assert claim_one(store, name=name).payload == name


def test_schedules_that_look_alike_are_different_schedules(store: Store) -> None:
    put_queue(store)
    for name in LOOK_ALIKES:
        store.schedules.put(schedule(name), now=T0)
    assert [each.name for each in store.schedules.list()] == sorted(LOOK_ALIKES)


@pytest.mark.parametrize("create", CREATORS.values(), ids=CREATORS.keys())
@pytest.mark.parametrize("name", WRONG, ids=lambda name: ascii(name)[:10])
def test_what_is_no_name_is_refused(
    store: Store, create: Callable[[Store, Any], object], name: object
) -> None:
    put_queue(store)
    with pytest.raises(InvalidName):
        create(store, name)
    assert [queue.name for queue in store.queues.list()] == ["q"]
    assert store.topics.bindings() == []
    assert store.consumers.list(now=T0) == []
    assert store.schedules.list() == []


def test_a_dead_letter_queue_has_a_name(store: Store) -> None:
    put_queue(store)
    with pytest.raises(InvalidName):
        put_queue(store, dead_letter="")


@pytest.mark.parametrize("name", ["\0", "a\0b"])
def test_a_queue_whose_name_nobody_can_have_is_not_there(store: Store, name: str) -> None:
    put_queue(store)
    assert store.queues.get(name) is None
    assert not store.queues.drop(name, now=T0)
    for ask in (store.queues.stats, store.queues.purge, store.history.redrive):
        with pytest.raises(QueueNotFound):
            ask(name, now=T0)
    with pytest.raises(QueueNotFound):
        claim(store, queue=name)
    (answer,) = store.push([Batch(name, [message()])], now=T0)
    assert isinstance(answer, QueueNotFound)
