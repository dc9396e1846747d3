"""The monitor: how queues stand, and lists of what is in them. Stores without this role are left out."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest

from rowmq.core import monitor
from rowmq.core.errors import InvalidSetting, QueueNotFound
from rowmq.core.history import Record
from rowmq.core.monitor import Counts, Monitor, Place, Sheet
from rowmq.core.outcome import ACK, Bury, Retry, State
from rowmq.core.store import Store
from rowmq.core.where import Condition, where
from rowmq.testing.build import (
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
    payloads,
    push,
    put_queue,
    settle,
    span,
)

READY, SCHEDULED, LEASED, DONE, DEAD = State
HOSTILE = (
    "%",
    "_",
    "100%",
    "a_b",
    "\\",
    "'; DROP TABLE rowmq_messages; --",
    '"><script>alert(1)</script>',
    "}{$[]*.?",
    "line\nline",
    "日本 ü 🐘",
    "%(text)s :text {0}",
)
PAGES = 1000
"""More pages than any list here has: one that never ends must fail, and not hang."""


def monitor_of(store: Store) -> Monitor:
    """Return the store's monitor; a store that has none is not asked."""
    found: Monitor | None = getattr(store, "monitor", None)
    if found is None:
        pytest.skip("this store has no monitor")
    return found


@contextmanager
def bound(name: str, value: int) -> Iterator[None]:
    """Make one of the monitor's bounds small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(monitor, name, value)
        yield


def page(store: Store, state: State, *, seconds: float = 1, queue: str = "q", **options: Any) -> Sheet:
    """Look at one page of a list."""
    return monitor_of(store).page(queue, state, now=after(seconds), **options)


def pages(store: Store, state: State, limit: int = 2, **options: Any) -> list[list[Record]]:
    """Go through all pages of a list."""
    found: list[list[Record]] = []
    place: Place | None = None
    for _ in range(PAGES):
        sheet = page(store, state, limit=limit, place=place, **options)
        found.append(list(sheet.records))
        place = sheet.place
        if place is None:
            return found
    raise AssertionError("the list never ended")


def listed(store: Store, state: State, limit: int = 2, **options: Any) -> list[Any]:
    """Return the payloads of a whole list."""
    return [each.payload for some in pages(store, state, limit, **options) for each in some]


def failed(store: Store, text: str, limit: int = 2, *, queue: str = "q", seconds: float = 1) -> list[Any]:
    """Return the payloads of all pages of what failed with a text."""
    found: list[Any] = []
    place: Place | None = None
    for _ in range(PAGES):
        sheet = monitor_of(store).failed(queue, text, place=place, limit=limit, now=after(seconds))
        found += payloads(sheet.records)
        place = sheet.place
        if place is None:
            return found
    raise AssertionError("the list never ended")


def fail(store: Store, error: str, payload: Any = None, *, queue: str = "q", seconds: float = 0) -> UUID:
    """Push a message that fails once, and is then dead."""
    pushed = push(store, message(payload, priority=9), queue=queue, now=after(seconds))
    held = claim_one(store, queue=queue, now=after(seconds))
    assert held.id == pushed.ids[0]
    settle(store, held, Bury(error=error), now=after(seconds))
    return held.id


# Counts.


def test_a_queue_stands_as_its_stats_say(store: Store) -> None:
    put_queue(store)
    put_queue(store, "empty")
    done_message(store)
    dead_message(store)
    push(store, *messages(3), *messages(4, group="g"), *messages(2, delay=span(600)))
    claim(store, 2)
    stats = store.queues.stats("q", now=after(5))
    expected = Counts(stats.ready, stats.scheduled, stats.leased, stats.dead, stats.oldest_age)
    found = monitor_of(store).counts(["q", "empty"], now=after(5))
    assert found == {"q": expected, "empty": Counts()}
    assert expected == Counts(5, 2, 2, 1, span(5))


def test_a_queue_that_does_not_exist_is_left_out_of_the_counts(store: Store) -> None:
    put_queue(store)
    assert monitor_of(store).counts(["q", "nowhere", ""], now=T0) == {"q": Counts()}
    assert monitor_of(store).counts([], now=T0) == {}


def test_what_a_topic_keeps_for_its_first_queue_is_never_shown(store: Store) -> None:
    put_queue(store)
    store.topics.publish("news", messages(3), now=T0)
    hidden = "\x1fnews"
    assert monitor_of(store).counts([hidden, "q"], now=T0) == {"q": Counts()}
    with pytest.raises(QueueNotFound):
        page(store, READY, queue=hidden)


def test_counting_stops_at_the_bound_and_says_so(store: Store) -> None:
    put_queue(store)
    push(store, *messages(6))
    with bound("MOST_COUNTED", 7):
        assert monitor_of(store).counts(["q"], now=T0)["q"] == Counts(ready=6, oldest_age=span(0))
    with bound("MOST_COUNTED", 4):
        assert monitor_of(store).counts(["q"], now=T0)["q"] == Counts(4, oldest_age=span(0), more=True)


def test_what_some_queues_do_not_need_of_the_bound_another_may_count(store: Store) -> None:
    names = ["q", "small", "empty"]
    for name in names:
        put_queue(store, name)
    push(store, *messages(6))
    push(store, *messages(1), queue="small")
    with bound("MOST_COUNTED", 9):
        found = monitor_of(store).counts(names, now=T0)
    assert [(found[name].ready, found[name].more) for name in names] == [(6, False), (1, False), (0, False)]
    with bound("MOST_COUNTED", 2):
        assert monitor_of(store).counts(names, now=T0)["q"].more


def test_many_messages_of_one_state_do_not_hide_those_of_another(store: Store) -> None:
    put_queue(store)
    push(store, *messages(20), *messages(2, priority=3))
    push(store, *messages(3, delay=span(600)))
    push(store, *messages(2, group="g", priority=5))
    claim(store, 1, lease=span(60))
    for _ in range(2):
        dead_message(store, priority=9)
    with bound("MOST_COUNTED", 10):
        found = monitor_of(store).counts(["q"], now=after(2))["q"]
    assert found == Counts(10, 3, 1, 2, span(2), more=True)


def test_dead_messages_are_counted_up_to_the_bound_too(store: Store) -> None:
    put_queue(store)
    for _ in range(4):
        dead_message(store)
    with bound("MOST_COUNTED", 3):
        assert monitor_of(store).counts(["q"], now=T0)["q"] == Counts(dead=3, more=True)


# Lists of what is finished.


def test_what_is_finished_is_listed_newest_first(store: Store) -> None:
    put_queue(store)
    for number in range(5):
        push(store, message(number), now=T0)
    held = claim(store, 5)
    for place, number in enumerate((3, 1, 4, 0, 2)):
        settle(store, held[number], ACK, now=after(place))
    assert listed(store, DONE) == [2, 0, 4, 1, 3]
    assert listed(store, DEAD) == []


def test_done_and_dead_are_lists_of_their_own(store: Store) -> None:
    put_queue(store)
    put_queue(store, "other")
    dead_message(store, queue="other")
    done = [done_message(store, now=after(number)) for number in range(3)]
    dead = [dead_message(store, now=after(number)) for number in range(3)]
    assert [each.id for some in pages(store, DONE) for each in some] == done[::-1]
    assert [each.id for some in pages(store, DEAD) for each in some] == dead[::-1]


def test_what_ended_in_the_same_moment_is_listed_once_by_seq(store: Store) -> None:
    put_queue(store)
    push(store, *messages(9))
    for held in claim(store, 9):
        settle(store, held, ACK, now=after(1))
    assert listed(store, DONE, 2) == [8, 7, 6, 5, 4, 3, 2, 1, 0]
    assert listed(store, DONE, 4) == [8, 7, 6, 5, 4, 3, 2, 1, 0]


def test_a_page_goes_on_where_it_stopped_though_messages_have_come_and_gone(store: Store) -> None:
    put_queue(store)
    old = [done_message(store, now=after(number), payload=number) for number in range(4)]
    first = page(store, DONE, limit=2)
    done_message(store, now=after(9), payload="new")
    store.history.archive([first.records[-1].seq], prune=True, now=after(9))
    second = page(store, DONE, limit=5, place=first.place, seconds=10)
    assert ids([*first.records, *second.records]) == old[::-1]
    assert second.place is None


def test_what_is_finished_is_found_by_when_it_ended(store: Store) -> None:
    put_queue(store)
    push(store, *messages(5))
    for number, held in enumerate(claim(store, 5)):
        settle(store, held, ACK, now=after(number))
    assert listed(store, DONE, since=after(2)) == [4, 3, 2]
    assert listed(store, DONE, until=after(2)) == [1, 0]
    assert listed(store, DONE, since=after(1), until=after(4)) == [3, 2, 1]
    assert listed(store, DONE, since=after(3), until=after(3)) == []


def test_a_place_outside_the_period_is_its_beginning(store: Store) -> None:
    put_queue(store)
    push(store, *messages(5))
    for number, held in enumerate(claim(store, 5)):
        settle(store, held, ACK, now=after(number))
    place = page(store, DONE, limit=1).place
    assert payloads(page(store, DONE, place=place, until=after(2)).records) == [1, 0]
    assert payloads(page(store, DONE, place=place, until=after(4)).records) == [3, 2, 1, 0]


# Lists of what is owed.


def test_what_is_ready_is_listed_in_the_order_it_is_claimed(store: Store) -> None:
    put_queue(store)
    push(store, message("late"), now=after(3))
    push(store, message("low"), message("lower"), message("high", priority=9), now=T0)
    push(store, message("middle", priority=5), now=after(2))
    given = listed(store, READY, seconds=4)
    assert given == ["high", "middle", "low", "lower", "late"]
    assert payloads(claim(store, 9, now=after(4))) == given


def test_what_waits_behind_others_of_its_group_is_listed_last(store: Store) -> None:
    put_queue(store)
    push(store, message("head", group="g"), message("behind", group="g", priority=9), message("free"))
    push(store, message("urgent", priority=1))
    assert listed(store, READY) == ["urgent", "head", "free", "behind"]


def test_every_parked_message_is_listed_once(store: Store) -> None:
    put_queue(store)
    push(store, *[message(number, group=f"g{number % 3}", priority=number % 2) for number in range(20)])
    for limit in (1, 3, 7, 50):
        given = listed(store, READY, limit)
        assert sorted(given) == list(range(20))
        assert set(given[:3]) == {0, 1, 2}


def test_scheduled_and_leased_are_lists_of_their_own(store: Store) -> None:
    put_queue(store)
    push(store, *messages(4), message("later", delay=span(900)), message("soon", delay=span(20)))
    claim(store, 2, lease=span(60))
    assert listed(store, LEASED) == [0, 1]
    assert listed(store, SCHEDULED) == ["soon", "later"]
    assert listed(store, READY) == [2, 3]
    assert listed(store, READY, seconds=100) == [2, 3, "soon", 0, 1]


def test_members_of_a_group_that_are_held_or_scheduled_are_in_the_list_of_their_state(store: Store) -> None:
    put_queue(store)
    push(
        store,
        *[message(number, group="g") for number in range(4)],
        message("later", group="g", delay=span(60)),
    )
    claim(store, 2, per_group=2)
    assert listed(store, LEASED) == [0, 1]
    assert listed(store, READY) == [2, 3]
    assert listed(store, SCHEDULED) == ["later"]


def test_what_is_owed_is_found_by_when_it_was_pushed(store: Store) -> None:
    put_queue(store)
    for number in range(5):
        push(store, message(number, priority=number), now=after(number))
    assert listed(store, READY, seconds=9, since=after(2)) == [4, 3, 2]
    assert listed(store, READY, seconds=9, since=after(1), until=after(3)) == [2, 1]


def test_new_messages_do_not_disturb_the_pages_behind_them(store: Store) -> None:
    put_queue(store)
    push(store, *messages(4))
    first = page(store, READY, limit=2)
    push(store, message("urgent", priority=9), message("last"), now=after(1))
    claim(store, 2, now=after(1))
    rest = page(store, READY, limit=9, place=first.place)
    assert payloads(first.records) + payloads(rest.records) == [0, 1, 2, 3, "last"]


# Both.


@pytest.mark.parametrize("state", list(State))
def test_an_empty_queue_has_an_empty_list(store: Store, state: State) -> None:
    put_queue(store)
    assert page(store, state) == Sheet([], None)


@pytest.mark.parametrize("state", list(State))
def test_a_list_of_a_queue_that_does_not_exist_is_refused(store: Store, state: State) -> None:
    monitor_of(store)
    with pytest.raises(QueueNotFound):
        page(store, state)


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_page_of_no_size_is_refused(store: Store, limit: int) -> None:
    put_queue(store)
    with pytest.raises(InvalidSetting, match="1 to 1000"):
        page(store, READY, limit=limit)
    with pytest.raises(InvalidSetting, match="1 to 1000"):
        monitor_of(store).failed("q", "", limit=limit, now=T0)


def test_a_page_that_is_just_full_is_the_last(store: Store) -> None:
    put_queue(store)
    push(store, *messages(4))
    assert page(store, READY, limit=4).place is None
    assert page(store, READY, limit=3).place is not None


def test_what_is_listed_is_what_is_found(store: Store) -> None:
    put_queue(store)
    done_message(store, metadata={"a": "b"})
    dead_message(store)
    push(
        store,
        message({"x": [1]}, metadata={"k": "ü"}),
        message(b"\0\xff", delay=span(60), key="k", group="g"),
    )
    claim_one(store)
    listing = [each for state in State for some in pages(store, state) for each in some]
    assert sorted(listing) == sorted(everything(store, now=after(1)))


@pytest.mark.parametrize("state", [READY, DONE])
def test_messages_are_found_by_their_metadata(store: Store, state: State) -> None:
    put_queue(store)
    given = [{"lang": "en"}, {"lang": "de"}, {}, {"lang": "en", "v": "2"}, {"Lang": "en"}, {"lang": "en "}]
    push(store, *[message(number, metadata=metadata) for number, metadata in enumerate(given)])
    if state == DONE:
        for held in claim(store, 9):
            settle(store, held)
    assert sorted(listed(store, state, where=where({"lang": "en"}))) == [0, 3]
    assert sorted(listed(store, state, where=where({"lang": ["de", "en "]}))) == [1, 5]
    assert sorted(listed(store, state, where=where({"lang": "en", "v": "2"}))) == [3]
    assert sorted(listed(store, state, where=(Condition("lang", "exists"),))) == [0, 1, 3, 5]
    assert sorted(listed(store, state, where=(Condition("lang", "!=", ("en",)),))) == [1, 2, 4, 5]


@pytest.mark.parametrize("text", HOSTILE)
def test_metadata_is_only_text(store: Store, text: str) -> None:
    put_queue(store)
    push(store, message(0, metadata={text: text}), message(1, metadata={"a": "b"}))
    assert listed(store, READY, where=where({text: text})) == [0]


@pytest.mark.parametrize("state", [READY, SCHEDULED, DONE])
def test_a_look_ends_at_its_bound_and_goes_on_from_there(store: Store, state: State) -> None:
    put_queue(store)
    delay = span(60) if state == SCHEDULED else None
    push(store, *[message(number, metadata={"n": str(number % 10)}, delay=delay) for number in range(30)])
    if state == DONE:
        for held in claim(store, 30):
            settle(store, held)
    with bound("MOST_LOOKED", 4):
        found = pages(store, state, 50, where=where({"n": "7"}))
    assert sorted(each.payload for some in found for each in some) == [7, 17, 27]
    assert 8 <= len(found) <= 9, "each look goes through 4"
    assert max(len(some) for some in found) == 1


def test_a_bound_smaller_than_a_page_makes_pages_smaller(store: Store) -> None:
    put_queue(store)
    push(store, *messages(7), *messages(3, group="g"))
    with bound("MOST_LOOKED", 3):
        found = pages(store, READY, 50)
    assert sorted(each.payload for some in found for each in some) == sorted([*range(7), *range(3)])
    assert max(len(some) for some in found) == 3


# What failed.


def test_messages_are_found_by_the_text_of_their_errors(store: Store) -> None:
    put_queue(store)
    for number, error in enumerate(("no route to host", "Timeout: no answer", "disk full", "TIMEOUT again")):
        fail(store, error, number, seconds=number)
    assert failed(store, "timeout") == [3, 1]
    assert failed(store, "NO") == [1, 0]
    assert failed(store, "") == [3, 2, 1, 0]
    assert failed(store, "nothing of this") == []


def test_a_message_that_failed_often_is_listed_once_where_it_failed_last(store: Store) -> None:
    put_queue(store, max_attempts=9)
    push(store, message("often", priority=9))
    for attempt in range(4):
        settle(
            store, claim_one(store, now=after(attempt)), Retry(error=f"boom {attempt}"), now=after(attempt)
        )
    claimed = claim_one(store, now=after(5))
    for number in range(3):
        fail(store, "boom", number, seconds=5)
    settle(store, claimed, Retry(error="something else"), now=after(6))
    for limit in (1, 2, 3, 50):
        assert failed(store, "boom", limit) == [2, 1, 0, "often"]
    assert failed(store, "boom 1") == ["often"]


def test_a_message_is_found_where_it_failed_wherever_it_is_now(store: Store) -> None:
    put_queue(store, "dead letters")
    put_queue(store, dead_letter="dead letters")
    fail(store, "boom", "moved")
    put_queue(store, "other")
    fail(store, "boom", "another's", queue="other")
    assert failed(store, "boom") == ["moved"]
    assert failed(store, "boom", queue="dead letters") == []
    assert failed(store, "boom", queue="other") == ["another's"]


def test_a_message_that_is_gone_has_failed_nowhere(store: Store) -> None:
    put_queue(store)
    fail(store, "boom", "kept")
    gone = fail(store, "boom", "gone")
    store.history.archive([each.seq for each in everything(store) if each.id == gone], prune=True, now=T0)
    assert failed(store, "boom") == ["kept"]


@pytest.mark.parametrize("text", HOSTILE)
def test_the_text_of_an_error_is_only_text(store: Store, text: str) -> None:
    put_queue(store)
    fail(store, f"before {text} behind", "it")
    fail(store, "Xab 1000 axb line", "not it")
    assert failed(store, text) == ["it"]


def test_an_error_is_found_by_what_it_said_before_it_was_made_storable(store: Store) -> None:
    put_queue(store)
    fail(store, "a \0 and a \ud83d", "odd")
    assert failed(store, "a \0 and") == ["odd"]
    assert failed(store, "\ud83d") == ["odd"]


def test_the_look_through_errors_ends_at_its_bound_and_goes_on_from_there(store: Store) -> None:
    put_queue(store)
    for number in range(12):
        fail(store, f"error {number % 6}!", number)
    with bound("MOST_LOOKED", 5):
        sheet = monitor_of(store).failed("q", "error 0!", limit=9, now=T0)
        assert (list(sheet.records), sheet.place is None) == ([], False)
        assert failed(store, "error 0!", 9) == [6, 0]


def test_what_failed_in_a_queue_that_does_not_exist_is_refused(store: Store) -> None:
    with pytest.raises(QueueNotFound):
        monitor_of(store).failed("nowhere", "boom", now=T0)


# Health.


def test_the_database_says_how_it_is(store: Store) -> None:
    health = monitor_of(store).health()
    assert health.database
    assert health.size is None or health.size > 0
    assert all(size >= 0 for size in health.sizes.values())
    assert sum(health.sizes.values()) <= (health.size or 0)
