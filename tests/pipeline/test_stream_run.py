"""The driver's side of a stream, without Spark: offsets, claims, acks and restarts."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from rowmq import testing
from rowmq.core.delivery import Delivery, Settlement
from rowmq.core.errors import InvalidSetting, QueueNotFound
from rowmq.core.outcome import ACK, Settled
from rowmq.pipeline.options import given
from rowmq.pipeline.stream.heartbeat import Heartbeat
from rowmq.pipeline.stream.options import StreamOptions
from rowmq.pipeline.stream.run import Offset, StreamRun
from rowmq.testing.build import claim, message, messages, push

if TYPE_CHECKING:
    from rowmq.core.store import Store


@pytest.fixture
def clock() -> testing.Clock:
    return testing.Clock()


@pytest.fixture
def store(clock: testing.Clock) -> Store:
    found = testing.connect(clock).store
    found.queues.put("q", {"lease": timedelta(seconds=30)})
    return found


def run_of(store: Store, **options: str) -> StreamRun:
    said = {"queue": "q", "poll": "0.001", **options} if "topic" not in options else options
    return StreamRun(store, given(StreamOptions, said))


def fill(store: Store, clock: testing.Clock, count: int) -> None:
    push(store, *messages(count), now=clock.now())


def payloads(deliveries: list[Delivery]) -> list[Any]:
    return [each.payload for each in deliveries]


def planned(run: StreamRun, end: Offset) -> list[Any]:
    batch = run.plan(end)
    return [] if batch is None else payloads(batch.deliveries)


def counts(store: Store) -> dict[str, int]:
    stats = store.queues.stats("q")
    names = ("ready", "scheduled", "leased", "done", "dead")
    return {name: getattr(stats, name) for name in names if getattr(stats, name)}


def test_a_new_query_starts_where_it_was_first_said_to_start(store: Store) -> None:
    run = run_of(store)
    assert run.first() == run.first()
    assert run.first()["q"] != run_of(store).first()["q"]


def test_a_batch_is_acked_when_spark_asks_for_what_comes_after_it(store: Store, clock: testing.Clock) -> None:
    fill(store, clock, 3)
    run = run_of(store)
    end = run.advance(run.first(), 10)
    assert planned(run, end) == [0, 1, 2]
    assert counts(store) == {"leased": 3}
    assert run.advance(end, 10) == end
    assert counts(store) == {"done": 3}


def test_an_idle_query_claims_what_comes_later(store: Store, clock: testing.Clock) -> None:
    run = run_of(store)
    start = run.first()
    assert [run.advance(start, 10) for _ in range(3)] == [start] * 3
    fill(store, clock, 2)
    end = run.advance(start, 10)
    assert planned(run, end) == [0, 1]


def test_an_idle_query_sleeps_in_the_store_once_for_each_time_it_finds_nothing(
    store: Store, clock: testing.Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[Any] = []
    monkeypatch.setattr(store, "wait", lambda *given: slept.append(given))
    fill(store, clock, 1)
    run = run_of(store, poll="7")
    end = run.advance(run.first(), 10)
    assert slept == []
    for _ in range(3):
        run.advance(end, 10)
    assert slept == [(["q"], timedelta(seconds=7))] * 3


def test_a_query_that_ends_with_what_is_there_does_not_sleep(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[Any] = []
    monkeypatch.setattr(store, "wait", lambda *given: slept.append(given))
    run = run_of(store, poll="7")
    run.stop_at_present()
    assert run.advance(run.first(), 10) == run.first()
    assert slept == []


def test_a_batch_has_no_more_messages_than_the_limit(store: Store, clock: testing.Clock) -> None:
    fill(store, clock, 5)
    run = run_of(store)
    end = run.advance(run.first(), 2)
    assert planned(run, end) == [0, 1]
    assert planned(run, run.advance(end, 2)) == [2, 3]


def test_a_batch_has_no_more_bytes_than_the_limit(store: Store, clock: testing.Clock) -> None:
    push(store, *(message("x" * 100) for _ in range(5)), now=clock.now())
    run = run_of(store, maxBytesPerTrigger="250")
    batch = run.plan(run.advance(run.first(), 10))
    assert batch is not None
    assert len(batch.deliveries) == 2
    assert counts(store) == {"leased": 2, "ready": 3}
    assert claim(store, now=clock.now())[0].attempt == 1


def test_a_message_larger_than_the_limit_is_a_batch_of_its_own(store: Store, clock: testing.Clock) -> None:
    push(store, message("x" * 100), now=clock.now())
    run = run_of(store, maxBytesPerTrigger="5")
    assert planned(run, run.advance(run.first(), 10)) == ["x" * 100]


def test_what_was_claimed_before_a_crash_is_claimed_again_without_waiting_for_the_lease(
    store: Store, clock: testing.Clock
) -> None:
    fill(store, clock, 3)
    former = run_of(store)
    start = former.first()
    former.advance(start, 10)
    run = run_of(store)
    assert planned(run, run.advance(start, 10)) == [0, 1, 2]


def test_a_batch_that_was_not_committed_is_planned_again_and_its_former_run_is_fenced(
    store: Store, clock: testing.Clock
) -> None:
    fill(store, clock, 3)
    former = run_of(store)
    end = former.advance(former.first(), 10)
    held = former.plan(end)
    assert held is not None
    run = run_of(store)
    assert planned(run, end) == [0, 1, 2]
    late = [Settlement(each.receipt, ACK) for each in held.deliveries]
    assert store.settle(late) == [Settled.LOST] * 3
    run.advance(end, 10)
    assert counts(store) == {"done": 3}


def test_a_batch_that_was_committed_but_not_acked_is_acked_after_the_restart(
    store: Store, clock: testing.Clock
) -> None:
    fill(store, clock, 3)
    former = run_of(store)
    end = former.advance(former.first(), 10)
    former.plan(end)
    clock.move(100)
    assert run_of(store).advance(end, 10) == end
    assert counts(store) == {"done": 3}


def test_what_a_rival_took_meanwhile_is_not_planned_again(store: Store, clock: testing.Clock) -> None:
    fill(store, clock, 5)
    former = run_of(store)
    end = former.advance(former.first(), 10)
    clock.move(30)
    assert payloads(claim(store, 2, now=clock.now())) == [0, 1]
    assert planned(run_of(store), end) == [2, 3, 4]


def test_what_a_rival_took_meanwhile_is_not_acked_for_it(store: Store, clock: testing.Clock) -> None:
    fill(store, clock, 5)
    former = run_of(store)
    end = former.advance(former.first(), 10)
    former.plan(end)
    clock.move(30)
    claim(store, 2, now=clock.now())
    run_of(store).advance(end, 10)
    assert counts(store) == {"done": 3, "leased": 2}


def test_a_batch_planned_twice_by_one_run_is_what_is_left_of_it(store: Store, clock: testing.Clock) -> None:
    fill(store, clock, 3)
    run = run_of(store)
    end = run.advance(run.first(), 10)
    first = run.plan(end)
    assert first is not None
    store.settle([Settlement(first.deliveries[1].receipt, ACK)])
    assert planned(run, end) == [0, 2]
    run.advance(end, 10)
    assert counts(store) == {"done": 3}


def test_two_queries_share_a_queue(store: Store, clock: testing.Clock) -> None:
    fill(store, clock, 6)
    one, two = run_of(store), run_of(store)
    first, second = one.advance(one.first(), 3), two.advance(two.first(), 3)
    assert sorted(planned(one, first) + planned(two, second)) == [0, 1, 2, 3, 4, 5]
    one.advance(first, 3)
    assert counts(store) == {"done": 3, "leased": 3}


def test_a_query_that_stops_at_present_leaves_what_is_pushed_later(
    store: Store, clock: testing.Clock
) -> None:
    fill(store, clock, 2)
    run = run_of(store)
    run.stop_at_present()
    fill(store, clock, 2)
    end = run.advance(run.first(), 10)
    assert planned(run, end) == [0, 1]
    assert run.advance(end, 10) == end
    assert counts(store) == {"done": 2, "ready": 2}


def test_only_messages_that_meet_the_conditions_are_claimed(store: Store, clock: testing.Clock) -> None:
    given = [message(lang, metadata={"lang": lang}) for lang in ("en", "de", "en")]
    push(store, *given, now=clock.now())
    run = run_of(store, where='{"lang": "en"}')
    assert planned(run, run.advance(run.first(), 10)) == ["en", "en"]


def test_older_messages_than_max_age_are_left(store: Store, clock: testing.Clock) -> None:
    fill(store, clock, 1)
    clock.move(60)
    push(store, message("new"), now=clock.now())
    run = run_of(store, maxAge="30")
    assert planned(run, run.advance(run.first(), 10)) == ["new"]


def test_a_batch_that_goes_on_failing_shrinks_until_its_message_is_alone(
    store: Store, clock: testing.Clock
) -> None:
    fill(store, clock, 9)
    first = run_of(store)
    end = first.advance(first.first(), 10)
    first.plan(end)
    sizes = [len(planned(run_of(store, maxRuns="2"), end)) for _ in range(5)]
    assert sizes == [9, 4, 1, 0, 0]
    assert counts(store) == {"ready": 8, "scheduled": 1}


def test_a_message_that_fails_alone_has_failed_an_attempt_and_says_so(
    store: Store, clock: testing.Clock
) -> None:
    fill(store, clock, 1)
    first = run_of(store)
    end = first.advance(first.first(), 10)
    batch = first.plan(end)
    assert batch is not None
    for _ in range(3):
        planned(run_of(store, maxRuns="1"), end)
    (failure,) = store.history.failures(batch.deliveries[0].id)
    assert "failed 2 times, at last alone" in failure.error


def test_after_a_batch_that_shrank_the_next_ones_are_small_and_grow(
    store: Store, clock: testing.Clock
) -> None:
    fill(store, clock, 16)
    first = run_of(store)
    end = first.advance(first.first(), 16)
    first.plan(end)
    assert len(planned(run_of(store, maxRuns="1"), end)) == 8
    run = run_of(store, maxRuns="1")
    assert len(planned(run, end)) == 2
    sizes = []
    for _ in range(3):
        end = run.advance(end, 16)
        sizes.append(len(planned(run, end)))
    assert sizes == [4, 8, 2]


def test_a_batch_forgotten_by_the_store_is_empty(store: Store) -> None:
    assert planned(run_of(store), {"q": "unknown", "n": 7}) == []


def test_a_paused_queue_gives_nothing_and_loses_nothing(store: Store, clock: testing.Clock) -> None:
    fill(store, clock, 2)
    run = run_of(store)
    end = run.advance(run.first(), 1)
    store.queues.put("q", {"paused": True})
    assert planned(run, end) == [0]
    assert run.advance(end, 1) == end
    assert counts(store) == {"done": 1, "ready": 1}


def test_a_subscription_is_made_and_read(store: Store, clock: testing.Clock) -> None:
    run = run_of(store, topic="orders", subscription="billing", poll="0.001")
    store.topics.publish("orders", [message("paid")], now=clock.now())
    assert planned(run, run.advance(run.first(), 10)) == ["paid"]


def test_a_queue_that_delivers_at_most_once_is_refused(store: Store) -> None:
    store.queues.put("q", {"delivery": "at_most_once"})
    with pytest.raises(InvalidSetting, match=r"at most once.*spark-work --mode workers"):
        run_of(store).first()


def test_a_queue_that_does_not_exist_is_refused(store: Store) -> None:
    with pytest.raises(QueueNotFound, match="no queue 'nowhere'"):
        run_of(store, queue="nowhere").first()


def test_a_stream_of_all_queues_is_refused(store: Store) -> None:
    with pytest.raises(InvalidSetting, match="a stream reads one queue"):
        StreamRun(store, given(StreamOptions, {}))


def test_more_rows_than_a_claim_takes_are_refused() -> None:
    with pytest.raises(InvalidSetting, match=r"maxRowsPerTrigger.*at most 100000"):
        given(StreamOptions, {"maxRowsPerTrigger": "100001"})


def until(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def lease_end(store: Store, id: UUID) -> Any:
    found = store.history.get(id)
    return found and found.visible_at


def test_the_lease_of_the_batch_held_is_extended_in_time(store: Store, clock: testing.Clock) -> None:
    fill(store, clock, 1)
    run = run_of(store, lease="0.3")
    batch = run.plan(run.advance(run.first(), 10))
    assert batch is not None
    clock.move(0.2)
    until(lambda: lease_end(store, batch.deliveries[0].id) == clock.now() + timedelta(seconds=0.3))


def test_a_heartbeat_that_was_told_to_drop_a_claim_extends_it_no_more(
    store: Store, clock: testing.Clock
) -> None:
    fill(store, clock, 2)
    run = run_of(store, lease="0.03")
    batch = run.plan(run.advance(run.first(), 1))
    other = run_of(store, lease="0.03")
    kept = other.plan(other.advance(other.first(), 1))
    assert batch is not None
    assert kept is not None
    run._beat.drop()
    clock.move(0.02)
    until(lambda: lease_end(store, kept.deliveries[0].id) == clock.now() + timedelta(seconds=0.03))
    assert lease_end(store, batch.deliveries[0].id) == batch.deliveries[0].lease_until


def test_a_heartbeat_goes_on_after_the_store_was_away(store: Store, clock: testing.Clock) -> None:
    class Away:
        def __init__(self) -> None:
            self.calls = 0

        def extend(self, *args: Any) -> Any:
            self.calls += 1
            if self.calls == 1:
                raise InvalidSetting("away")
            return store.extend(*args)

    fill(store, clock, 1)
    run = run_of(store)
    batch = run.plan(run.advance(run.first(), 1))
    assert batch is not None
    clock.move(1)
    away: Any = Away()
    Heartbeat(away).hold(batch.claim, timedelta(seconds=0.09))
    until(lambda: lease_end(store, batch.deliveries[0].id) < clock.now() + timedelta(seconds=1))
    assert away.calls >= 2
