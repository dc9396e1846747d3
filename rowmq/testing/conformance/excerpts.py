"""What lists show of payloads and errors, however long they are. Stores without a monitor are left out."""

import pytest

from rowmq.core.monitor import LONGEST_EXCERPT, LONGEST_REMARK, Excerpt, Failures
from rowmq.core.outcome import ACK, LONGEST_ERROR, Bury, Retry, State
from rowmq.core.store import Store
from rowmq.testing.build import (
    T0,
    after,
    claim_one,
    done_message,
    everything,
    message,
    push,
    put_queue,
    schedule,
    settle,
)
from rowmq.testing.conformance.monitor import bound, fail, failed, monitor_of, page

LARGE = b"begin" + bytes(range(256)) * 4096 + b"end"


def failing(store: Store, *errors: str) -> int:
    """Push a message that fails with each of these errors and waits again; its seq."""
    put_queue(store, max_attempts=None)
    push(store, message("it"))
    for number, error in enumerate(errors):
        held = claim_one(store, now=after(10 * number + 1))
        settle(store, held, Retry(error=error), now=after(10 * number + 2))
    return everything(store)[0].seq


# Failures of a message.


def test_the_last_failures_of_a_message_come_oldest_first_with_how_many_there_are(store: Store) -> None:
    monitor = monitor_of(store)
    seq = failing(store, *(f"error {number}" for number in range(7)))
    found = monitor.failures(seq, limit=3)
    assert found.total == 7
    assert [each.attempt for each in found.last] == store.history.failures(everything(store)[0].id)[-3:]
    assert [each.attempt.attempt for each in found.last] == [5, 6, 7]
    assert [(each.size, each.is_cut) for each in found.last] == [(7, False)] * 3


def test_a_message_that_never_failed_has_no_failures(store: Store) -> None:
    monitor = monitor_of(store)
    assert monitor.failures(failing(store)) == Failures([], 0)
    assert monitor.failures(987_654_321) == Failures([], 0)


def test_failures_are_counted_up_to_the_bound(store: Store) -> None:
    monitor = monitor_of(store)
    seq = failing(store, *("boom",) * 5)
    with bound("MOST_LOOKED", 3):
        found = monitor.failures(seq, limit=2)
    assert (len(found.last), found.total) == (2, 3)


def test_of_a_long_error_the_beginning_and_the_end_are_shown(store: Store) -> None:
    monitor = monitor_of(store)
    error = "first " + "x" * (LONGEST_ERROR - 20) + " last"
    (found,) = monitor.failures(failing(store, error), longest=1000).last
    assert found.attempt.error.startswith("first xxx")
    assert found.attempt.error.endswith("xxx last")
    assert "\n…\n" in found.attempt.error
    assert (len(found.attempt.error) <= 1000, found.size, found.is_cut) == (True, len(error), True)


def test_no_character_is_cut_in_two(store: Store) -> None:
    monitor = monitor_of(store)
    error = "日本🐘ü" * 500
    seq = failing(store, error)
    for longest in range(100, 110):
        (found,) = monitor.failures(seq, longest=longest).last
        begin, _, end = found.attempt.error.partition("\n…\n")
        assert error.startswith(begin)
        assert error.endswith(end)
        assert all((begin, end, len(begin + end) + 3 <= longest))
        assert found.size == len(error.encode())


def test_an_error_that_is_just_long_enough_is_whole(store: Store) -> None:
    monitor = monitor_of(store)
    seq = failing(store, "x" * 100)
    assert not monitor.failures(seq, longest=100).last[0].is_cut
    assert monitor.failures(seq, longest=99).last[0].is_cut


# What went wrong, in lists.


def test_a_list_of_dead_messages_says_what_went_wrong_last(store: Store) -> None:
    put_queue(store, max_attempts=9)
    push(store, message("twice", priority=9))
    settle(store, claim_one(store, now=after(1)), Retry(error="first"), now=after(1))
    settle(store, claim_one(store, now=after(99)), Bury(error="second"), now=after(99))
    fail(store, "once", seconds=100)
    push(store, message("killed"), now=after(101))
    settle(store, claim_one(store, now=after(101)), Bury(), now=after(101))
    sheet = page(store, State.DEAD, seconds=200)
    said = [
        sheet.failures[each.seq].attempt.error if each.seq in sheet.failures else None
        for each in sheet.records
    ]
    assert said[-2:] == ["once", "second"]
    assert len(said) == 3


def test_a_search_in_errors_says_what_was_found_and_not_what_went_wrong_since(store: Store) -> None:
    monitor = monitor_of(store)
    seq = failing(store, "timeout one", "timeout two", "disk full")
    sheet = monitor.failed("q", "timeout", now=after(60))
    assert {key: each.attempt.error for key, each in sheet.failures.items()} == {seq: "timeout two"}


def test_an_error_in_a_list_is_an_excerpt(store: Store) -> None:
    monitor = monitor_of(store)
    put_queue(store)
    error = "a" * LONGEST_ERROR
    fail(store, error)
    for sheet in (page(store, State.DEAD), monitor.failed("q", "aaa", now=after(1))):
        ((_, found),) = sheet.failures.items()
        assert (len(found.attempt.error) <= LONGEST_REMARK, found.size) == (True, len(error))


@pytest.mark.parametrize("state", [State.READY, State.SCHEDULED, State.LEASED, State.DONE])
def test_other_lists_do_not_ask_what_went_wrong(store: Store, state: State) -> None:
    failing(store, "boom")
    assert page(store, state).failures == {}


# Payloads.


@pytest.mark.parametrize("state", [State.READY, State.DONE, State.DEAD])
def test_a_list_has_the_beginning_of_a_large_payload(store: Store, state: State) -> None:
    monitor_of(store)
    put_queue(store)
    push(store, message(LARGE, metadata={"a": "b"}))
    if state != State.READY:
        settle(store, claim_one(store), ACK if state == State.DONE else Bury(error="boom"))
    (found,) = page(store, state).records
    (whole,) = everything(store)
    assert found.body == LARGE[:LONGEST_EXCERPT]
    assert found._replace(body=whole.body) == whole


def test_a_list_has_all_of_a_small_payload_and_none_of_a_dropped_one(store: Store) -> None:
    monitor_of(store)
    put_queue(store)
    push(store, message(LARGE[: LONGEST_EXCERPT - 1]))
    assert page(store, State.READY).records[0].body == LARGE[: LONGEST_EXCERPT - 1]
    put_queue(store, "dropping", retention=T0 - T0)
    done_message(store, queue="dropping")
    assert [each.body for each in page(store, State.DONE, queue="dropping").records] == [None]


def test_a_list_has_no_results(store: Store) -> None:
    monitor_of(store)
    put_queue(store)
    push(store, message("it"))
    held = claim_one(store)
    settle(store, held, type(ACK)(result=b'"all of it"'))
    assert everything(store)[0].result == b'"all of it"'
    assert page(store, State.DONE).records[0].result is None


# Another queue's failures.


def test_a_queue_that_fails_all_the_time_does_not_hide_what_failed_in_another(store: Store) -> None:
    put_queue(store, "noisy")
    put_queue(store)
    fail(store, "boom", "quiet")
    for number in range(12):
        fail(store, "boom", number, queue="noisy")
    with bound("MOST_LOOKED", 5):
        sheet = monitor_of(store).failed("q", "boom", now=T0)
    assert [each.payload for each in sheet.records] == ["quiet"]
    assert sheet.place is None
    assert failed(store, "boom", queue="noisy", limit=50) == list(reversed(range(12)))


# Schedules.


def test_schedules_are_listed_by_name_with_the_beginning_of_what_they_push(store: Store) -> None:
    monitor = monitor_of(store)
    put_queue(store)
    put_queue(store, "other")
    large = schedule("b", message=message(LARGE), spec="@daily", next_at=after(77), paused=True)
    small = schedule("a", queue="other", message=message({"to": "ada"}))
    for each in (large, small):
        store.schedules.put(each, now=T0)
    found = monitor.plans()
    assert [(each.name, each.queue, each.size) for each in found] == [
        ("a", "other", len(small.message.body)),
        ("b", "q", len(LARGE)),
    ]
    assert found[0].body == small.message.body
    assert (found[1].body, found[1].binary) == (LARGE[:LONGEST_EXCERPT], True)
    assert (found[1].spec, found[1].next_at, found[1].paused) == ("@daily", after(77), True)
    assert [each.name for each in monitor.plans(queue="q")] == ["b"]
    assert monitor.plans(queue="nowhere") == []


@pytest.mark.parametrize("size", range(5))
def test_how_long_a_payload_is_is_known_to_the_byte(store: Store, size: int) -> None:
    monitor = monitor_of(store)
    put_queue(store)
    store.schedules.put(schedule("s", message=message(b"x" * size)), now=T0)
    assert [(each.size, each.body) for each in monitor.plans()] == [(size, b"x" * size)]


def test_schedules_are_listed_up_to_the_bound(store: Store) -> None:
    monitor = monitor_of(store)
    put_queue(store)
    for name in ("c", "a", "b"):
        store.schedules.put(schedule(name), now=T0)
    with bound("MOST_SCHEDULES", 2):
        assert [each.name for each in monitor.plans()] == ["a", "b"]


def test_an_excerpt_knows_whether_it_is_one(store: Store) -> None:
    found: Excerpt = monitor_of(store).failures(failing(store, "ü")).last[0]
    assert (found.size, found.is_cut) == (2, False)
