"""Samples: what happened to queues, minute by minute. Stores without a monitor are left out."""

import threading
from datetime import timedelta

import pytest

from rowmq.core.clock import span as micros_of
from rowmq.core.durations import bucket
from rowmq.core.errors import InvalidSetting
from rowmq.core.monitor import KEPT, MINUTE, QUARTER, Sample
from rowmq.core.outcome import ACK, Bury, Retry
from rowmq.core.store import Store
from rowmq.testing.build import (
    T0,
    after,
    claim,
    claim_one,
    dead_message,
    done_message,
    message,
    messages,
    push,
    put_queue,
    settle,
    span,
)
from rowmq.testing.conformance.monitor import bound, monitor_of

ALWAYS = T0 - timedelta(days=400)


def sample(store: Store, seconds: float) -> int:
    """Sample so long after the beginning."""
    return monitor_of(store).sample(now=after(seconds))


def samples(store: Store, length: timedelta = MINUTE, queue: str | None = None) -> list[Sample]:
    """Return all samples of a span."""
    return monitor_of(store).samples(length, ALWAYS, queue=queue, now=T0)


def minutes(store: Store, queue: str | None = None) -> list[float]:
    """Return when the samples of minutes began, in minutes since the beginning."""
    return [(each.at - T0) / MINUTE for each in samples(store, queue=queue)]


def buckets(*seconds: float) -> dict[int, int]:
    """Return the histogram of a few durations, no two in one bucket."""
    return {bucket(micros_of(span(each))): 1 for each in seconds}


def test_a_sample_says_what_happened_in_a_minute_and_how_it_ended(store: Store) -> None:
    put_queue(store)
    sample(store, 0)
    push(store, *messages(8), now=after(1))
    push(store, message(delay=span(600)), now=after(2))
    held = claim(store, 5, now=after(3), lease=span(300))
    settle(store, held[0], ACK, now=after(4))
    settle(store, held[1], ACK, now=after(5))
    settle(store, held[2], Bury(error="dead"), now=after(6))
    settle(store, held[3], Retry(error="again"), now=after(7))
    assert sample(store, 60) == 1
    (found,) = samples(store)
    assert found == Sample(
        queue="q",
        at=T0,
        span=MINUTE,
        pushed=9,
        done=2,
        dead=1,
        failed=2,
        ready=4,
        scheduled=1,
        leased=1,
        waits={bucket(2_000_000): 3},
        runs=buckets(1, 2, 3),
    )


def test_a_minute_that_is_not_over_is_not_sampled(store: Store) -> None:
    put_queue(store)
    sample(store, 0)
    push(store, message(), now=after(1))
    assert sample(store, 59.9) == 0
    assert sample(store, 60) == 1
    assert minutes(store) == [0]


def test_a_minute_is_sampled_once(store: Store) -> None:
    put_queue(store)
    done_message(store)
    assert [sample(store, seconds) for seconds in (60, 60, 61, 119)] == [1, 0, 0, 0]
    assert [each.done for each in samples(store)] == [1]


def test_what_happens_after_a_minute_belongs_to_the_next(store: Store) -> None:
    put_queue(store)
    push(store, message(), now=after(10))
    push(store, message(), now=after(61))
    settle(store, claim_one(store, now=after(62)), now=after(62))
    sample(store, 63)
    push(store, message(), now=after(64))
    sample(store, 120)
    assert [(each.pushed, each.done) for each in samples(store)] == [(1, 0), (2, 1)]


def test_where_nothing_happened_and_nothing_waits_there_is_no_sample(store: Store) -> None:
    put_queue(store)
    put_queue(store, "idle")
    done_message(store)
    assert [sample(store, seconds) for seconds in (60, 120, 180)] == [1, 0, 0]
    assert minutes(store) == [0]


def test_what_waits_is_sampled_though_nothing_happens(store: Store) -> None:
    put_queue(store)
    sample(store, 0)
    push(store, message(), message(delay=span(900)), now=after(1))
    for minute in (1, 2, 3):
        sample(store, 60 * minute)
    assert [(each.pushed, each.ready, each.scheduled) for each in samples(store)] == [
        (2, 1, 1),
        (0, 1, 1),
        (0, 1, 1),
    ]


def test_every_queue_has_samples_of_its_own(store: Store) -> None:
    for name in ("b", "a", "%", "a "):
        put_queue(store, name)
        done_message(store, queue=name)
    sample(store, 60)
    assert {each.queue for each in samples(store)} == {"%", "a", "a ", "b"}
    assert [each.queue for each in samples(store, queue="a ")] == ["a "]
    assert samples(store, queue="nowhere") == []


def test_minutes_that_nobody_sampled_are_made_up_for(store: Store) -> None:
    put_queue(store)
    sample(store, 0)
    for minute in (0, 2, 3):
        done_message(store, now=after(60 * minute + 1))
    assert sample(store, 300) == 3
    assert minutes(store) == [0, 2, 3]
    assert [(each.pushed, each.done) for each in samples(store)] == [(1, 1)] * 3


def test_minutes_long_gone_are_not_made_up_for(store: Store) -> None:
    put_queue(store)
    sample(store, 0)
    for minute in (0, 40, 59):
        done_message(store, now=after(60 * minute + 1))
    sample(store, 3600)
    assert minutes(store) == [59]
    assert [(each.pushed, each.done) for each in samples(store)] == [(1, 1)]


def test_the_first_sample_is_of_the_last_minute_only(store: Store) -> None:
    put_queue(store)
    for minute in (0, 8, 9):
        done_message(store, now=after(60 * minute + 1))
    assert sample(store, 600) == 1
    assert minutes(store) == [9]
    assert [(each.pushed, each.done) for each in samples(store)] == [(1, 1)]


def test_a_lease_found_ended_later_is_a_failure_all_the_same(store: Store) -> None:
    put_queue(store)
    push(store, message())
    claim_one(store, lease=span(10))
    sample(store, 60)
    claim_one(store, now=after(70), lease=span(300))
    sample(store, 120)
    assert [each.failed for each in samples(store)] == [0, 1]


def test_waits_begin_when_a_message_could_be_claimed(store: Store) -> None:
    put_queue(store)
    push(store, message(delay=span(20)))
    settle(store, claim_one(store, now=after(24)), now=after(25))
    push(store, message(), now=after(25))
    settle(store, claim_one(store, now=after(26)), now=after(30))
    sample(store, 60)
    (found,) = samples(store)
    assert found.waits == buckets(4, 1)
    assert found.runs == buckets(1, 4)


def test_a_message_that_died_unclaimed_has_no_durations(store: Store) -> None:
    put_queue(store, max_age=span(5))
    push(store, message())
    store.history.sweep(now=after(6))
    sample(store, 60)
    (found,) = samples(store)
    assert (found.dead, found.waits, found.runs) == (1, {}, {})


def test_durations_are_those_of_the_newest(store: Store) -> None:
    put_queue(store)
    push(store, *messages(5))
    for number, held in enumerate(claim(store, 5)):
        settle(store, held, ACK, now=after(2**number))
    with bound("MOST_MEASURED", 2):
        sample(store, 60)
    (found,) = samples(store)
    assert (found.done, found.runs) == (5, buckets(8, 16))


def test_a_quarter_of_an_hour_is_its_minutes_added_up(store: Store) -> None:
    put_queue(store)
    sample(store, 0)
    for minute in range(15):
        done_message(store, now=after(60 * minute + 1))
        if minute == 7:
            dead_message(store, now=after(60 * minute + 2))
        if minute == 14:
            push(store, *messages(3), now=after(60 * minute + 2))
        assert samples(store, QUARTER) == []
        sample(store, 60 * minute + 60)
    (found,) = samples(store, QUARTER)
    assert (found.at, found.span, found.pushed, found.done, found.dead) == (T0, QUARTER, 19, 15, 1)
    assert (found.ready, found.scheduled, found.leased) == (3, 0, 0)
    assert found.waits == {0: 16}
    sample(store, 1000)
    assert samples(store, QUARTER) == [found]


def test_a_quarter_in_which_sampling_stopped_is_what_was_sampled_of_it(store: Store) -> None:
    put_queue(store)
    done_message(store)
    sample(store, 60)
    done_message(store, now=after(1000))
    sample(store, 3660)
    assert [((each.at - T0) / QUARTER, each.done) for each in samples(store, QUARTER)] == [(0, 1)]
    sample(store, 4500)
    assert [(each.at - T0) / QUARTER for each in samples(store, QUARTER)] == [0]


def test_old_samples_are_forgotten(store: Store) -> None:
    put_queue(store)
    for minute in (0, 5, 14):
        done_message(store, now=after(60 * minute))
        sample(store, 60 * minute + 60)
    kept = KEPT[MINUTE].total_seconds()
    sample(store, kept + 60 * 5)
    assert minutes(store) == [5, 14]
    sample(store, kept + 60 * 15)
    assert minutes(store) == []
    assert len(samples(store, QUARTER)) == 1
    sample(store, KEPT[QUARTER].total_seconds())
    assert len(samples(store, QUARTER)) == 1
    sample(store, KEPT[QUARTER].total_seconds() + 60)
    assert samples(store, QUARTER) == []


def test_samples_since_a_moment_are_those_that_began_then_or_later(store: Store) -> None:
    put_queue(store)
    sample(store, 0)
    for minute in range(4):
        done_message(store, now=after(60 * minute))
    sample(store, 240)
    found = monitor_of(store).samples(MINUTE, after(120), now=after(240))
    assert [each.at for each in found] == [after(120), after(180)]
    assert [each.at for each in monitor_of(store).samples(MINUTE, after(121), queue="q")] == [after(180)]


def test_samples_of_any_other_span_are_refused(store: Store) -> None:
    with pytest.raises(InvalidSetting, match="1 minute or of 15"):
        monitor_of(store).samples(span(30), T0)


def test_a_queue_takes_its_samples_with_it(store: Store) -> None:
    for name in ("q", "other"):
        put_queue(store, name)
        done_message(store, queue=name)
    sample(store, 60)
    store.queues.drop("q", now=after(60))
    assert [each.queue for each in samples(store)] == ["other"]
    put_queue(store)
    assert samples(store, queue="q") == []


def test_a_clock_set_back_a_little_samples_nothing_twice(store: Store) -> None:
    put_queue(store)
    done_message(store, now=after(600))
    sample(store, 660)
    assert sample(store, 540) == 0
    assert sample(store, 661) == 0
    assert [each.done for each in samples(store)] == [1]


def test_a_clock_that_was_far_ahead_does_not_stop_the_samples(store: Store) -> None:
    put_queue(store)
    year = 365 * 86_400
    done_message(store, now=after(year))
    sample(store, year + 60)
    done_message(store, now=after(1))
    assert sample(store, 60) == 1
    assert [(each.at, each.done) for each in samples(store)] == [(T0, 1)]
    for minute in range(2, 16):
        sample(store, 60 * minute)
    assert [each.done for each in samples(store, QUARTER)] == [1]


def test_of_many_that_sample_at_once_one_does(store: Store) -> None:
    put_queue(store)
    for _ in range(5):
        done_message(store)
    taken: list[int] = []
    together = threading.Barrier(4)

    def run() -> None:
        together.wait()
        taken.append(sample(store, 60))

    monitor_of(store)
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [0, 0, 0, 1]
    assert [(each.pushed, each.done) for each in samples(store)] == [(5, 5)]
