"""Ticks: each fires once, however many schedulers there are, and missed ones as the schedule says."""

from __future__ import annotations

import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest

from rowmq.core.message import derived_id
from rowmq.runtime.rule import Rule
from rowmq.runtime.scheduler import MOST_TICKS, Scheduler
from rowmq.stores import open_store
from rowmq.testing.build import T0, after, everything, ids, message, messages, push, put_queue, schedule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.core.store import Store

MINUTE, HOUR = 60, 3600
ROOT = Path(__file__).parents[2]
PROCESS = """
import sys
from datetime import datetime, timedelta
from rowmq.runtime.scheduler import Scheduler
from rowmq.stores import open_store
store = open_store(sys.argv[1])
begin = datetime.fromisoformat(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
scheduler = Scheduler(store)
print(sum(scheduler.run_once(begin + timedelta(minutes=minute)) for minute in range(60)), flush=True)
store.close()
"""


@pytest.fixture(params=("memory", "sqlite"))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'queue.db'}")
    put_queue(opened)
    yield opened
    opened.close()


@pytest.fixture(params=("sqlite", "postgres"))
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'queue.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


def put(store: Store, name: str = "s", *, queue: str = "q", **rule: Any) -> None:
    """Put a schedule whose next tick is the beginning; every minute unless it says otherwise."""
    spec = Rule.of(**(rule if {"cron", "every"} & set(rule) else {"every": MINUTE, **rule})).text()
    store.schedules.put(schedule(name, queue=queue, spec=spec), now=T0)


def next_at(store: Store) -> float:
    """How many seconds after the beginning the next tick of the only schedule is."""
    (kept,) = store.schedules.list()
    return (kept.next_at - T0).total_seconds()


def test_a_tick_fires_when_it_is_due_and_once(store: Store) -> None:
    put(store)
    assert Scheduler(store).run_once(after(-1)) == 0
    assert Scheduler(store).run_once(T0) == 1
    assert Scheduler(store).run_once(after(1)) == 0
    assert next_at(store) == MINUTE
    (kept,) = store.schedules.list()
    assert ids(everything(store)) == [derived_id(kept.message.id, T0.isoformat())]


def test_without_a_moment_the_stores_clock_decides(store: Store) -> None:
    put(store)
    assert Scheduler(store).run_once() == 1
    (kept,) = store.schedules.list()
    assert timedelta(0) < kept.next_at - store.now() <= timedelta(minutes=1)


def test_a_cron_schedule_fires_at_its_local_times_across_a_clock_change(store: Store) -> None:
    rule = Rule.of(cron="30 2 * * *", timezone="Europe/Berlin", catch_up="all")
    start = T0.replace(month=3, day=28, hour=1, minute=30)
    store.schedules.put(schedule("s", spec=rule.text(), next_at=start), now=T0)
    fired = []
    for hour in range(60):
        moment = start + timedelta(hours=hour)
        fired += [moment] * Scheduler(store).run_once(moment)
    # 01:00 UTC is 03:00 in Berlin, where the gap ends; seen half an hour later.
    assert [(each.day, each.hour, each.minute) for each in fired] == [(28, 1, 30), (29, 1, 30), (30, 0, 30)]


def test_one_message_stands_for_all_missed_ticks(store: Store) -> None:
    put(store, catch_up="one")
    assert Scheduler(store).run_once(after(10 * MINUTE + 5)) == 1
    assert next_at(store) == 11 * MINUTE
    assert Scheduler(store).run_once(after(10 * MINUTE + 6)) == 0


def test_every_missed_tick_fires_in_order_if_all_are_wanted(store: Store) -> None:
    put(store, catch_up="all")
    (kept,) = store.schedules.list()
    assert Scheduler(store).run_once(after(5 * MINUTE + 5)) == 6
    expected = [derived_id(kept.message.id, after(tick * MINUTE).isoformat()) for tick in range(6)]
    assert ids(everything(store, now=after(HOUR))) == expected
    assert next_at(store) == 6 * MINUTE


def test_a_long_absence_is_caught_up_with_in_several_runs(store: Store) -> None:
    put(store, catch_up="all")
    put(store, "t")
    late = after((MOST_TICKS + 20) * MINUTE)
    assert Scheduler(store).run_once(late) == MOST_TICKS + 1
    assert Scheduler(store).run_once(late) == 21
    assert Scheduler(store).run_once(late) == 0


def test_without_catching_up_only_ticks_up_to_a_minute_late_fire(store: Store) -> None:
    put(store, every=HOUR, catch_up="none")
    assert Scheduler(store).run_once(after(61)) == 0
    assert Scheduler(store).run_once(after(5 * HOUR + 61)) == 0
    assert Scheduler(store).run_once(after(6 * HOUR + 60)) == 1
    assert Scheduler(store).run_once(after(6 * HOUR + 60)) == 0
    assert next_at(store) == 7 * HOUR
    assert Scheduler(store).run_once(after(7 * HOUR)) == 1


def test_without_catching_up_each_tick_within_the_minute_fires(store: Store) -> None:
    put(store, every=20, catch_up="none")
    assert Scheduler(store).run_once(after(10 * MINUTE + 5)) == 3
    assert next_at(store) == 10 * MINUTE + 20


def test_a_schedule_that_cannot_be_read_does_not_stop_the_others(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.schedules.put(schedule("bad", spec="often"), now=T0)
    put(store, "good")
    with caplog.at_level(logging.WARNING):
        assert Scheduler(store).run_once(T0) == 1
    assert [each.schedule for each in _said(caplog)] == ["bad"]


class _Said:
    """A line of the log."""

    def __init__(self, record: logging.LogRecord) -> None:
        fields = record.__dict__["rowmq"]
        self.schedule, self.error = fields["schedule"], fields["error"]


def _said(caplog: pytest.LogCaptureFixture) -> list[_Said]:
    """What was said of schedules; threads that earlier tests have left behind may say something too."""
    records = [each for each in caplog.records if each.__dict__["rowmq"]["event"].startswith("schedule.")]
    return list(map(_Said, records))


def test_a_queue_that_refuses_does_not_stop_the_others_and_gets_its_tick_later(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    put_queue(store, "full", max_length=1)
    push(store, *messages(1), queue="full")
    put(store, "a", queue="full")
    put(store, "b")
    scheduler = Scheduler(store)
    with caplog.at_level(logging.WARNING):
        assert scheduler.run_once(T0) == 1
    (said,) = _said(caplog)
    assert (said.schedule, said.error) == ("a", "QueueFull")
    put_queue(store, "full", max_length=2)
    assert scheduler.run_once(after(1)) == 1


def test_a_refusal_is_logged_once_as_long_as_it_lasts(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    put_queue(store, "full", max_length=1)
    push(store, *messages(1), queue="full")
    put(store, "a", queue="full", catch_up="all")
    scheduler = Scheduler(store)
    with caplog.at_level(logging.WARNING):
        for second in range(5):
            scheduler.run_once(after(second))
        assert len(_said(caplog)) == 1
        put_queue(store, "full", max_length=2)
        assert scheduler.run_once(after(5)) == 1
        scheduler.run_once(after(MINUTE))
    assert len(_said(caplog)) == 2


def test_a_schedule_whose_queue_is_gone_is_gone_too(store: Store) -> None:
    put(store)
    store.queues.drop("q", now=T0)
    put_queue(store)
    assert Scheduler(store).run_once(T0) == 0


@pytest.mark.parametrize("catch_up", ["one", "all", "none"])
def test_eight_threads_fire_every_tick_exactly_once(store: Store, catch_up: str) -> None:
    threads, minutes = 8, 15
    barrier = Barrier(threads)
    put(store, catch_up=catch_up)

    def run(_: int) -> int:
        scheduler, fired = Scheduler(store), 0
        for minute in range(minutes):
            barrier.wait(timeout=30)
            fired += scheduler.run_once(after(minute * MINUTE))
        return fired

    with ThreadPoolExecutor(threads) as pool:
        assert sum(pool.map(run, range(threads))) == minutes
    found = everything(store, now=after(HOUR))
    assert len(set(ids(found))) == len(found) == minutes


def test_four_processes_fire_every_tick_exactly_once(shared_url: str) -> None:
    with closing(open_store(shared_url)) as store:
        put_queue(store)
        put(store, "s", catch_up="all")
        put(store, "t", every=5 * MINUTE, catch_up="all")
        assert sum(_by_processes(4, shared_url)) == 60 + 12
        found = everything(store, now=after(HOUR))
        expected = {
            derived_id(kept.message.id, after(tick * MINUTE).isoformat())
            for kept in store.schedules.list()
            for tick in range(0, 60, 1 if kept.name == "s" else 5)
        }
        assert len(found) == 72
        assert set(ids(found)) == expected


def _by_processes(count: int, url: str) -> list[int]:
    """Run schedulers in processes that begin together; how many messages each has pushed."""
    command = [sys.executable, "-c", PROCESS, url, T0.isoformat()]
    running = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    try:
        for each in running:
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        return [int(said) for said in _told(running)]
    finally:
        for each in running:
            each.kill()
            each.communicate()


def _told(running: list[subprocess.Popen[str]]) -> list[str]:
    for each in running:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    return [each.communicate(timeout=60)[0] for each in running]


def test_a_fired_message_is_what_the_schedule_says(store: Store) -> None:
    said = message({"a": 1}, metadata={"v": "1"}, priority=2)
    store.schedules.put(schedule("s", spec="every 60", message=said), now=T0)
    Scheduler(store).run_once(T0)
    (found,) = everything(store)
    assert (found.payload, found.metadata, found.priority) == ({"a": 1}, {"v": "1"}, 2)
