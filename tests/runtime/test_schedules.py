"""The book of schedules: put, paused, resumed and dropped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rowmq.core.errors import QueueNotFound, Refused, ScheduleNotFound
from rowmq.runtime.rule import Rule
from rowmq.runtime.scheduler import Scheduler
from rowmq.runtime.schedules import ScheduleBook
from rowmq.stores import open_store
from rowmq.testing.build import T0, after, everything, message, put_queue, schedule

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rowmq.core.history import Schedule
    from rowmq.core.store import Store

MINUTE, HOUR = 60, 3600
HOURLY = Rule.of(every=HOUR)


@pytest.fixture(params=("memory", "sqlite"))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'queue.db'}")
    put_queue(opened)
    yield opened
    opened.close()


def put(store: Store, rule: Rule = HOURLY, *, seconds: float = 1, queue: str = "q", **said: Any) -> Schedule:
    """Put the schedule "s" so many seconds after the beginning."""
    new = message(said.pop("payload", "hello"), **said)
    return ScheduleBook(store).put("s", queue=queue, message=new, rule=rule, now=after(seconds))


def pushed(store: Store, seconds: float) -> int:
    """Run a scheduler then; how many messages it pushed."""
    return Scheduler(store).run_once(after(seconds))


def test_a_schedule_is_put_with_its_first_tick(store: Store) -> None:
    given = put(store)
    assert (given.name, given.queue, given.next_at, given.paused) == ("s", "q", after(HOUR), False)
    assert Rule.parse(given.spec) == HOURLY
    assert ScheduleBook(store).list() == [given]


def test_a_schedule_put_without_a_moment_goes_by_the_stores_clock(store: Store) -> None:
    given = ScheduleBook(store).put("s", queue="q", message=message(), rule=HOURLY)
    assert 0 <= (given.next_at - store.now()).total_seconds() <= HOUR


def test_a_schedule_for_an_unknown_queue_is_refused(store: Store) -> None:
    with pytest.raises(QueueNotFound):
        put(store, queue="nowhere")
    assert ScheduleBook(store).list() == []


def test_the_same_schedule_put_again_keeps_its_missed_tick_and_its_message(store: Store) -> None:
    given = put(store)
    assert put(store, seconds=2.5 * HOUR) == given
    assert ScheduleBook(store).list() == [given]
    assert pushed(store, 2.5 * HOUR) == 1


def test_a_schedule_put_by_two_processes_has_the_same_message(store: Store) -> None:
    first = put(store)
    ScheduleBook(store).drop("s")
    assert put(store).message == first.message


def test_a_tick_that_two_processes_put_and_fire_is_pushed_once(store: Store) -> None:
    put(store)
    assert pushed(store, HOUR) == 1
    ScheduleBook(store).drop("s")
    put(store, seconds=HOUR)
    pushed(store, HOUR)
    assert len(everything(store, now=after(HOUR))) == 1


def test_a_changed_message_keeps_the_next_tick(store: Store) -> None:
    put(store)
    changed = put(store, seconds=2.5 * HOUR, payload="changed")
    assert changed.next_at == after(HOUR)
    assert pushed(store, 2.5 * HOUR) == 1
    assert [each.payload for each in everything(store)] == ["changed"]


def test_changed_ticks_begin_after_now(store: Store) -> None:
    put(store)
    assert put(store, Rule.of(every=MINUTE), seconds=2.5 * HOUR).next_at == after(2.5 * HOUR)
    assert put(store, Rule.of(cron="0 4 * * *"), seconds=2.5 * HOUR).next_at == after(4 * HOUR)


def test_another_way_to_catch_up_keeps_the_next_tick(store: Store) -> None:
    put(store)
    changed = put(
        store, replace(HOURLY, catch_up=Rule.of(every=1, catch_up="all").catch_up), seconds=3 * HOUR
    )
    assert changed.next_at == after(HOUR)
    assert pushed(store, 3 * HOUR) == 3


def test_a_schedule_that_could_not_be_read_is_put_right(store: Store) -> None:
    store.schedules.put(schedule("s", spec="often"), now=T0)
    assert put(store).next_at == after(HOUR)


def test_a_paused_schedule_does_not_fire(store: Store) -> None:
    put(store)
    assert ScheduleBook(store).pause("s", now=T0).paused
    assert pushed(store, 2 * HOUR) == 0


def test_a_pause_outlasts_a_put(store: Store) -> None:
    put(store)
    ScheduleBook(store).pause("s", now=T0)
    assert put(store, payload="changed").paused
    assert pushed(store, 2 * HOUR) == 0


@pytest.mark.parametrize("catch_up", ["one", "none"])
def test_a_resumed_schedule_fires_nothing_for_its_pause(store: Store, catch_up: str) -> None:
    put(store, Rule.of(every=HOUR, catch_up=catch_up))
    book = ScheduleBook(store)
    book.pause("s", now=T0)
    resumed = book.resume("s", now=after(5 * HOUR + 10))
    assert (resumed.paused, resumed.next_at) == (False, after(6 * HOUR))
    assert pushed(store, 5 * HOUR + 10) == 0
    assert pushed(store, 6 * HOUR) == 1


def test_a_resumed_schedule_that_catches_up_with_all_fires_what_its_pause_held_back(store: Store) -> None:
    put(store, Rule.of(every=HOUR, catch_up="all"))
    book = ScheduleBook(store)
    book.pause("s", now=T0)
    book.resume("s", now=after(5.5 * HOUR))
    assert pushed(store, 5.5 * HOUR) == 5


def test_resuming_what_is_not_paused_changes_nothing(store: Store) -> None:
    given = put(store)
    assert ScheduleBook(store).resume("s", now=after(5.5 * HOUR)) == given
    assert pushed(store, 5.5 * HOUR) == 1


def test_pausing_twice_is_pausing_once(store: Store) -> None:
    put(store)
    book = ScheduleBook(store)
    assert book.pause("s", now=T0) == book.pause("s", now=T0)


def test_a_dropped_schedule_fires_no_more_and_what_it_pushed_stays(store: Store) -> None:
    put(store)
    pushed(store, HOUR)
    assert ScheduleBook(store).drop("s") is True
    assert ScheduleBook(store).drop("s") is False
    assert pushed(store, 2 * HOUR) == 0
    assert len(everything(store, now=after(HOUR))) == 1


def test_an_unknown_schedule_is_named(store: Store) -> None:
    for change in (ScheduleBook(store).pause, ScheduleBook(store).resume):
        with pytest.raises(ScheduleNotFound, match="there is no schedule 'nightly'; put it first") as refused:
            change("nightly")
        assert isinstance(refused.value, Refused | LookupError)
        assert refused.value.name == "nightly"
