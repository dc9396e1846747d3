"""Schedules: every tick fires once, whoever comes first."""

import pytest

from rowmq.core.errors import QueueFull, QueueNotFound
from rowmq.core.message import derived_id
from rowmq.core.store import Store
from rowmq.testing.build import (
    T0,
    after,
    claim_one,
    everything,
    ids,
    message,
    messages,
    push,
    put_queue,
    record,
    schedule,
    span,
    states,
)

HOUR = 3600


def test_a_schedule_is_kept_as_given(store: Store) -> None:
    put_queue(store)
    body = message(
        {"z": 1, "a": [1.0]},
        metadata={"it's": "🎉"},
        delay=span(1.5),
        priority=3,
        deadline=after(HOUR),
        key="k",
        window=span(77),
        group="g",
    )
    given = schedule(
        "nightly", spec="0 3 * * * Europe/Zürich", message=body, next_at=after(0.000001), paused=True
    )
    store.schedules.put(given, now=T0)
    assert store.schedules.list() == [given]


def test_a_schedule_may_push_bytes_at_a_fixed_time(store: Store) -> None:
    put_queue(store)
    given = schedule(message=message(bytes(range(256)), at=after(HOUR)))
    store.schedules.put(given, now=T0)
    assert store.schedules.list() == [given]


def test_a_schedule_put_again_is_replaced(store: Store) -> None:
    put_queue(store)
    put_queue(store, "other")
    store.schedules.put(schedule("s"), now=T0)
    replaced = schedule("s", queue="other", spec="@daily", next_at=after(HOUR))
    store.schedules.put(replaced, now=T0)
    assert store.schedules.list() == [replaced]


def test_a_schedule_for_an_unknown_queue_is_refused(store: Store) -> None:
    with pytest.raises(QueueNotFound):
        store.schedules.put(schedule(queue="nowhere"), now=T0)
    assert store.schedules.list() == []


def test_schedules_are_listed_by_name(store: Store) -> None:
    put_queue(store)
    for name in ("b", "a", "C"):
        store.schedules.put(schedule(name), now=T0)
    assert [each.name for each in store.schedules.list()] == ["C", "a", "b"]


def test_only_due_schedules_that_are_not_paused_are_listed_as_due(store: Store) -> None:
    put_queue(store)
    for name, seconds, paused in (
        ("past", 5, False),
        ("now", 10, False),
        ("later", 11, False),
        ("paused", 5, True),
    ):
        store.schedules.put(schedule(name, next_at=after(seconds), paused=paused), now=T0)
    assert [each.name for each in store.schedules.list(due=after(10))] == ["now", "past"]
    assert len(store.schedules.list()) == 4


def test_a_dropped_schedule_is_gone(store: Store) -> None:
    put_queue(store)
    store.schedules.put(schedule("s"), now=T0)
    assert store.schedules.drop("s") is True
    assert store.schedules.drop("s") is False
    assert store.schedules.list() == []


def test_a_tick_pushes_the_message_once_and_sets_the_following_tick(store: Store) -> None:
    put_queue(store)
    given = schedule("s", message=message({"a": 1}, metadata={"v": "1"}, priority=2))
    store.schedules.put(given, now=T0)
    assert store.schedules.fire("s", T0, after(HOUR), now=after(1)) is True
    assert store.schedules.fire("s", T0, after(HOUR), now=after(1)) is False
    assert [each.next_at for each in store.schedules.list()] == [after(HOUR)]
    delivery = claim_one(store, now=after(1))
    assert delivery.id == derived_id(given.message.id, T0.isoformat())
    assert (delivery.payload, delivery.metadata, delivery.priority) == ({"a": 1}, {"v": "1"}, 2)
    assert delivery.created_at == after(1)
    assert states(store, now=after(1)) == {"leased": 1}


def test_every_tick_pushes_a_message_of_its_own(store: Store) -> None:
    put_queue(store)
    given = schedule("s")
    store.schedules.put(given, now=T0)
    for tick in range(3):
        assert store.schedules.fire("s", after(tick * HOUR), after((tick + 1) * HOUR), now=after(tick * HOUR))
    expected = [derived_id(given.message.id, after(tick * HOUR).isoformat()) for tick in range(3)]
    assert ids(everything(store, now=after(3 * HOUR))) == expected


def test_a_fired_message_keeps_its_delay_and_group(store: Store) -> None:
    put_queue(store)
    given = schedule("s", message=message(delay=span(5), group="g"))
    store.schedules.put(given, now=T0)
    store.schedules.fire("s", T0, after(HOUR), now=after(1))
    found = record(store, derived_id(given.message.id, T0.isoformat()), now=after(1))
    assert (found.visible_at, found.group) == (after(6), "g")


def test_a_tick_that_is_not_the_next_one_does_not_fire(store: Store) -> None:
    put_queue(store)
    store.schedules.put(schedule("s", next_at=after(HOUR)), now=T0)
    for tick in (T0, after(2 * HOUR), after(HOUR + 0.000001)):
        assert store.schedules.fire("s", tick, after(9 * HOUR), now=after(HOUR)) is False
    assert states(store) == {}


def test_a_paused_or_unknown_schedule_does_not_fire(store: Store) -> None:
    put_queue(store)
    store.schedules.put(schedule("s", paused=True), now=T0)
    assert store.schedules.fire("s", T0, after(HOUR), now=T0) is False
    assert store.schedules.fire("unknown", T0, after(HOUR), now=T0) is False
    assert states(store) == {}
    assert [each.next_at for each in store.schedules.list()] == [T0]


def test_a_tick_that_the_queue_refuses_changes_nothing(store: Store) -> None:
    put_queue(store, max_length=1)
    push(store, *messages(1))
    store.schedules.put(schedule("s"), now=T0)
    with pytest.raises(QueueFull):
        store.schedules.fire("s", T0, after(HOUR), now=T0)
    assert [each.next_at for each in store.schedules.list()] == [T0]
    put_queue(store, max_length=2)
    assert store.schedules.fire("s", T0, after(HOUR), now=T0) is True


def test_a_tick_whose_dedup_key_was_seen_counts_as_fired(store: Store) -> None:
    put_queue(store)
    push(store, message(key="k"))
    store.schedules.put(schedule("s", message=message(key="k")), now=T0)
    assert store.schedules.fire("s", T0, after(HOUR), now=T0) is True
    assert states(store) == {"ready": 1}


def test_dropping_a_queue_drops_its_schedules_only(store: Store) -> None:
    put_queue(store)
    put_queue(store, "other")
    store.schedules.put(schedule("s"), now=T0)
    store.schedules.put(schedule("t", queue="other"), now=T0)
    store.queues.drop("q", now=T0)
    assert [each.name for each in store.schedules.list()] == ["t"]
