"""The thread that fires schedules and sweeps, whatever happens to the store."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from rowmq.runtime.rule import Rule
from rowmq.runtime.scheduler import Scheduler
from rowmq.runtime.sweeper import BATCH, Sweeper
from rowmq.runtime.upkeep import Upkeep
from rowmq.stores import open_store
from rowmq.stores.memory import MemoryStore
from rowmq.testing.build import messages, push, put_queue, schedule, span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rowmq.core.history import Stats
    from rowmq.core.store import Store
    from tests.servers import Server

PACE = 0.01


@pytest.fixture(params=("memory", "sqlite"))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'queue.db'}")
    put_queue(opened)
    yield opened
    opened.close()


@contextmanager
def running(
    store: Store, *, schedules: bool = True, sweep: bool = True, every: float = PACE, chance: float = 0.0
) -> Iterator[Upkeep]:
    """Upkeep of a store that has ended when this is over."""
    stop = threading.Event()
    scheduler = Scheduler(store) if schedules else None
    sweeper = Sweeper(store, "a", every=every) if sweep else None
    upkeep = Upkeep(scheduler, sweeper, stop, pace=PACE, chance=lambda: chance)
    upkeep.start()
    try:
        yield upkeep
    finally:
        stop.set()
        assert upkeep.join(30)


def becomes(true: Callable[[], bool], patience: float = 30) -> bool:
    """Whether it is true before long."""
    end = time.monotonic() + patience
    while not true() and time.monotonic() < end:
        time.sleep(PACE)
    return true()


def stats(store: Store) -> Stats:
    return store.queues.stats("q")


def secondly(store: Store) -> None:
    """Put a schedule that is due now and every second."""
    store.schedules.put(schedule("s", spec=Rule.of(every=1).text()))


def test_a_due_schedule_fires(store: Store) -> None:
    secondly(store)
    with running(store):
        assert becomes(lambda: stats(store).ready >= 2)


def test_what_is_overdue_is_swept(store: Store) -> None:
    put_queue(store, max_age=span(1))
    push(store, *messages(3))
    with running(store):
        assert becomes(lambda: stats(store).dead == 3)


def test_without_a_scheduler_it_sweeps_and_without_a_sweeper_it_fires(store: Store) -> None:
    secondly(store)
    with running(store, schedules=False, every=0.2):
        assert not becomes(lambda: stats(store).ready > 0, patience=0.3)
    with running(store, sweep=False):
        assert becomes(lambda: stats(store).ready > 0)


def test_the_first_sweep_comes_some_time_within_its_period(store: Store) -> None:
    put_queue(store, max_age=span(1))
    push(store, *messages(1))
    secondly(store)
    with running(store, every=1000, chance=0.5):
        assert becomes(lambda: stats(store).ready >= 2)
    assert stats(store).dead == 0


def test_a_sweep_with_much_to_do_goes_on_without_waiting_for_its_next_time(store: Store) -> None:
    put_queue(store, max_age=span(1))
    push(store, *messages(5 * BATCH))
    with running(store, every=1000):
        assert becomes(lambda: stats(store).dead == 5 * BATCH)


def test_schedules_do_not_wait_for_a_long_sweep() -> None:
    store = EndlessSweep()
    put_queue(store)
    secondly(store)
    with running(store):
        assert becomes(lambda: stats(store).ready >= 2)
        assert store.sweeps > 2
    store.close()


class EndlessSweep(MemoryStore):
    """A store that always has more to sweep."""

    def __init__(self) -> None:
        super().__init__()
        self.sweeps, sweep = 0, self.history.sweep

        def more(**options: object) -> object:
            self.sweeps += 1
            return sweep(**options)._replace(more=True)  # type: ignore[arg-type]

        self.history.sweep = more  # type: ignore[method-assign, assignment]


def events(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.__dict__["rowmq"]["event"] for each in caplog.records if "rowmq" in each.__dict__]


def test_an_outage_is_logged_once_and_outlived(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    put_queue(store)
    secondly(store)
    with caplog.at_level(logging.INFO), running(store):
        assert becomes(lambda: stats(store).ready > 0)
        store.tables.closed = True
        assert becomes(lambda: "upkeep.failed" in events(caplog))
        time.sleep(0.5)  # long enough for several more tries
        assert events(caplog) == ["upkeep.failed"]
        store.tables.closed = False
        before = stats(store).ready
        assert becomes(lambda: stats(store).ready > before)
        assert becomes(lambda: events(caplog) == ["upkeep.failed", "upkeep.recovered"])
    store.close()


def test_a_database_that_is_restarted_is_served_again(
    own_postgres: Server, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(own_postgres.url)
    put_queue(store)
    secondly(store)
    with caplog.at_level(logging.INFO), running(store):
        assert becomes(lambda: stats(store).ready > 0)
        own_postgres.kill()
        assert becomes(lambda: "upkeep.failed" in events(caplog))
        own_postgres.restart()
        assert becomes(lambda: "upkeep.recovered" in events(caplog))
        before = stats(store).ready
        assert becomes(lambda: stats(store).ready > before)
    store.close()


def test_a_mistake_in_the_thread_is_logged_with_its_traceback_and_does_not_end_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = MemoryStore()
    put_queue(store)
    secondly(store)
    kept, store.now = store.now, None  # type: ignore[method-assign, assignment]
    with caplog.at_level(logging.INFO), running(store, sweep=False):
        assert becomes(lambda: "upkeep.failed" in events(caplog))
        assert caplog.records[0].exc_info is not None
        store.now = kept  # type: ignore[method-assign]
        assert becomes(lambda: stats(store).ready > 0)
    store.close()


def test_it_ends_when_it_is_asked_to() -> None:
    store, stop = MemoryStore(), threading.Event()
    upkeep = Upkeep(Scheduler(store), Sweeper(store, "a", every=1000), stop, pace=1000)
    upkeep.start()
    assert upkeep.join(0.05) is False
    stop.set()
    assert upkeep.join(60) is True
    store.close()


def test_one_that_was_never_started_has_ended() -> None:
    store = MemoryStore()
    assert Upkeep(Scheduler(store), None, threading.Event()).join(1) is True
    store.close()


def test_its_thread_does_not_keep_the_process_alive() -> None:
    store = MemoryStore()
    with running(store):
        (thread,) = [each for each in threading.enumerate() if each.name == "rowmq-upkeep"]
        assert thread.daemon
    store.close()
