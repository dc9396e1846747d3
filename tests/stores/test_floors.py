"""Where claims start looking: nothing below a floor is missed for long, and looking below is rationed."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import cast

import pytest
from sqlalchemy.orm import Session

from rowmq.engine import Ack, Batch, Settlement, Want, message, open_store
from rowmq.stores.sql import floors as module
from rowmq.stores.sql.floors import BEGINNING, LONGEST, PRIORITIES, SHARE, Floor, Floors
from rowmq.stores.sql.store import SQLStore
from tests.servers import connect_postgres
from tests.stores.work import counting


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_a_floor_is_the_last_row_taken_in_its_priority() -> None:
    floors = Floors()
    floors.raise_to(1, [(9, 50, 3), (0, 60, 1), (0, 70, 2)], limit=3)
    floors.looked_below(1, time.monotonic())
    nothing = dict.fromkeys(range(10), Floor(0, 0))
    last = dict(zip(PRIORITIES, floors.of(1, None), strict=True))
    assert last == {**nothing, 9: Floor(50, 3), 0: Floor(70, 2)}
    assert floors.of(2, None) == floors.of(2, 100) == BEGINNING


def test_a_clock_moved_by_hand_has_floors_without_a_seq() -> None:
    floors = Floors()
    floors.raise_to(1, [(0, 70, 2)], limit=1)
    floors.looked_below(1, time.monotonic())
    assert floors.of(1, 100)[-1] == Floor(70, 0)


def test_there_is_no_floor_once_the_clock_has_been_set_back_behind_it() -> None:
    floors = Floors()
    floors.raise_to(1, [(0, 70, 2)], limit=1)
    floors.looked_below(1, time.monotonic())
    assert floors.of(1, 69) == BEGINNING
    assert floors.of(1, 70)[-1].time == floors.of(1, None)[-1].time == 70


def test_a_short_claim_may_look_below_once_its_last_look_is_paid_for(clock: Clock) -> None:
    floors = Floors()
    assert floors.may_look_below(1, found=1, limit=2)
    started = clock.now
    clock.now += 0.1
    floors.looked_below(1, started)
    clock.now += 0.1 * SHARE - 0.001
    assert not floors.may_look_below(1, found=1, limit=2)
    clock.now += 0.002
    assert floors.may_look_below(1, found=1, limit=2)
    assert floors.may_look_below(2, found=1, limit=2)


def test_a_claim_that_found_nothing_always_looks_below(clock: Clock) -> None:
    floors = Floors()
    floors.looked_below(1, clock.now - 100)
    assert not floors.may_look_below(1, found=1, limit=2)
    assert floors.may_look_below(1, found=0, limit=2)


def test_a_claim_after_a_short_one_starts_at_the_beginning_if_that_is_paid_for(clock: Clock) -> None:
    floors = Floors()
    floors.looked_below(1, clock.now - 0.1)
    floors.raise_to(1, [(0, 70, 2)], limit=2)
    assert floors.of(1, 100)[-1].time == 70
    clock.now += 0.1 * SHARE + 0.001
    assert floors.of(1, 100) == BEGINNING
    floors.looked_below(1, clock.now)
    floors.raise_to(1, [(0, 70, 2)], limit=1)
    assert floors.of(1, 100)[-1].time == 70


def test_a_claim_after_one_in_vain_starts_at_the_floors_and_its_successor_at_the_beginning(
    clock: Clock,
) -> None:
    floors = Floors()
    floors.raise_to(1, [(0, 70, 2)], limit=1)
    floors.looked_below(1, clock.now)
    floors.raise_to(1, [], limit=2)
    clock.now += 2 * LONGEST
    assert floors.of(1, 100)[-1].time == 70
    assert not floors.may_look_below(1, found=1, limit=2)
    assert floors.may_look_below(1, found=0, limit=2)
    floors.raise_to(1, [(0, 80, 3)], limit=2)
    assert floors.of(1, 100) == BEGINNING


def test_a_busy_queue_is_looked_at_from_the_beginning_now_and_then(clock: Clock) -> None:
    floors = Floors()
    floors.raise_to(1, [(0, 60, 1), (0, 70, 2)], limit=2)
    floors.looked_below(1, clock.now)
    clock.now += LONGEST - 0.001
    assert floors.of(1, 100)[-1].time == 70
    clock.now += 0.002
    assert floors.of(1, 100) == BEGINNING


def test_looking_below_takes_at_most_its_share_of_the_time(clock: Clock) -> None:
    floors = Floors()
    looking = 0.0
    began = clock.now
    for _ in range(10_000):
        if floors.may_look_below(1, found=1, limit=2):
            started = clock.now
            clock.now += 0.05
            looking += 0.05
            floors.looked_below(1, started)
        clock.now += 0.001
    assert looking <= (clock.now - began) / SHARE + 0.05


def test_what_commits_late_below_the_floor_is_delivered_on_a_queue_that_never_runs_short(
    postgres_url: str,
) -> None:
    store = open_store(postgres_url)
    assert isinstance(store, SQLStore)
    store.queues.put("q")
    late = message("late")
    with Session(store.database.engine) as session:
        store.push([Batch("q", [late])], tx=session)
        store.push([Batch("q", [message(number) for number in range(3000)])])
        _claim(store, 100)
        session.commit()
    end = time.monotonic() + LONGEST + 10
    while late.id not in _claim(store, 1) and time.monotonic() < end:
        assert store.queues.stats("q").ready > 1, "the queue must not run short"
    assert time.monotonic() < end
    store.close()


@contextmanager
def beside_a_reader(url: str) -> Iterator[SQLStore]:
    """A store with a queue, and somebody whose transaction keeps vacuum from removing what is taken."""
    with closing(cast("SQLStore", open_store(url))) as store, connect_postgres(url) as reader:
        store.queues.put("q")
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM pg_class")
        yield store


def test_what_ends_a_wait_is_claimed_without_a_walk_over_what_was_taken_before(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SHARE", 0)
    with beside_a_reader(postgres_url) as store:
        store.push([Batch("q", [message(number) for number in range(20_000)])])
        while _claim(store, 1000):
            pass
        store.push([Batch("q", [message("awaited")])])
        with counting(store) as first:
            assert len(_claim(store, 10)) == 1
        with counting(store) as after:
            assert not _claim(store, 10)
    assert first.total < after.total / 4, "the walk is left to the claim that finds no more"


def test_claims_of_one_large_push_do_not_walk_over_what_was_taken_of_it(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST", float("inf"))
    with beside_a_reader(postgres_url) as store:
        store.push([Batch("q", [message(number) for number in range(20_000)])])
        works = []
        for taken in (1000, 18_000):
            assert len(_claim(store, taken)) == taken
            with counting(store) as work:
                assert len(_claim(store, 1)) == 1
            works.append(work.total)
    early, late = works
    assert late <= 1.25 * early + 20


def _claim(store: SQLStore, limit: int) -> set[object]:
    (deliveries,) = store.claim("q", [Want(limit=limit)])
    store.settle([Settlement(delivery.receipt, Ack()) for delivery in deliveries])
    return {delivery.id for delivery in deliveries}
