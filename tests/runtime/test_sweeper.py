"""Clearing up: by one of many, in small batches, until nothing is left."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import TYPE_CHECKING

import pytest

from rowmq.core.errors import InvalidSetting
from rowmq.core.history import Swept
from rowmq.runtime.sweeper import BATCH, Sweeper
from rowmq.stores import open_store
from rowmq.testing.build import after, messages, push, put_queue, span, states

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rowmq.core.store import Store

LATER = after(20)
OVERDUE = 2 * BATCH + 500


@pytest.fixture(params=("memory", "sqlite"))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'queue.db'}")
    put_queue(opened, max_age=span(10))
    yield opened
    opened.close()


def test_a_sweep_buries_what_is_overdue_until_nothing_is_left(store: Store) -> None:
    push(store, *messages(OVERDUE))
    assert Sweeper(store, "a").run_once(LATER) == Swept(buried=OVERDUE)
    assert states(store, now=LATER) == {"dead": OVERDUE}


def test_totals_of_pruned_messages_are_added_up_too(store: Store) -> None:
    put_queue(store, retention=span(100))
    push(store, *messages(OVERDUE))
    Sweeper(store, "a").run_once(LATER)
    swept = Sweeper(store, "a").run_once(after(200))
    assert swept is not None
    assert (swept.buried, swept.pruned, swept.more) == (0, OVERDUE, False)
    assert states(store, now=after(200)) == {}


def test_a_sweep_that_is_asked_to_stop_ends_after_its_batch_and_says_that_there_is_more(store: Store) -> None:
    push(store, *messages(OVERDUE))
    stop = Event()
    stop.set()
    assert Sweeper(store, "a").run_once(LATER, stop=stop.is_set) == Swept(buried=BATCH, more=True)
    assert Sweeper(store, "a").run_once(LATER) == Swept(buried=OVERDUE - BATCH)


def test_only_the_leader_sweeps(store: Store) -> None:
    push(store, *messages(1))
    assert Sweeper(store, "a").run_once(after(1)) == Swept()
    assert Sweeper(store, "b").run_once(LATER) is None
    assert states(store, now=LATER) == {"ready": 1}
    assert Sweeper(store, "a").run_once(LATER) == Swept(buried=1)


def test_a_leader_that_does_not_come_back_is_followed_after_three_rounds(store: Store) -> None:
    assert Sweeper(store, "a", every=10).run_once(after(0)) == Swept()
    assert Sweeper(store, "b", every=10).run_once(after(29)) is None
    assert Sweeper(store, "b", every=10).run_once(after(30)) == Swept()
    assert Sweeper(store, "a", every=10).run_once(after(31)) is None


def test_a_leader_that_keeps_coming_keeps_the_lead(store: Store) -> None:
    for second in range(0, 100, 10):
        assert Sweeper(store, "a", every=10).run_once(after(second)) is not None
        assert Sweeper(store, "b", every=10).run_once(after(second + 5)) is None


def test_a_sweep_whose_lead_was_taken_ends_after_its_batch(store: Store) -> None:
    push(store, *messages(OVERDUE))

    def usurped() -> bool:
        assert store.consumers.lead("sweeper", "b", span(30), now=after(1000))
        return False

    assert Sweeper(store, "a").run_once(LATER, stop=usurped) == Swept(buried=BATCH, more=True)


def test_of_many_sweepers_at_once_one_sweeps(store: Store) -> None:
    push(store, *messages(10))
    barrier = Barrier(8)

    def run(number: int) -> Swept | None:
        barrier.wait(timeout=30)
        return Sweeper(store, f"sweeper-{number}").run_once(LATER)

    with ThreadPoolExecutor(8) as pool:
        swept = [each for each in pool.map(run, range(8)) if each is not None]
    assert swept == [Swept(buried=10)]


@pytest.mark.parametrize("every", [0, -1])
def test_a_pace_that_is_none_is_refused(store: Store, every: float) -> None:
    with pytest.raises(InvalidSetting, match="more than 0"):
        Sweeper(store, "a", every=every)
