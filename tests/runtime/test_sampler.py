"""Sampling: by one of many, and never in anybody's way."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest

from rowmq.core.errors import StoreUnavailable
from rowmq.core.monitor import MINUTE
from rowmq.runtime import upkeep as upkeeping
from rowmq.runtime.sampler import LEAD, Sampler
from rowmq.runtime.sweeper import Sweeper
from rowmq.runtime.upkeep import Upkeep
from rowmq.stores import open_store
from rowmq.stores.memory import MemoryStore
from rowmq.testing.build import T0, after, done_message, messages, push, put_queue, span
from tests.runtime.test_upkeep import PACE, becomes, events, stats

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rowmq.core.store import Store


@pytest.fixture(params=("memory", "sqlite"))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'queue.db'}")
    put_queue(opened)
    yield opened
    opened.close()


def broken(**_options: object) -> int:
    raise StoreUnavailable("no samples here\nat all")


def test_a_minute_that_is_over_is_sampled(store: Any) -> None:
    done_message(store)
    assert Sampler(store, "a").run_once(after(60)) == 1
    assert [each.done for each in store.monitor.samples(MINUTE, T0)] == [1]


def test_only_the_leader_samples_and_another_follows_it(store: Store) -> None:
    first, second = Sampler(store, "a"), Sampler(store, "b")
    done_message(store)
    assert first.run_once(after(30)) == 0
    assert second.run_once(after(61)) == 0
    push(store, *messages(1), now=after(61))
    assert second.run_once(after(30) + LEAD + span(60)) > 0


def test_a_store_without_a_monitor_is_left_alone() -> None:
    store: Any = MemoryStore()
    del store.monitor
    sampler = Sampler(store, "a")
    assert (sampler.can, sampler.run_once(after(60))) == (False, 0)
    assert store.tables.leads == {}
    store.close()


def test_trouble_is_logged_once_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    store: Any = MemoryStore()
    kept, store.monitor.sample = store.monitor.sample, broken
    sampler = Sampler(store, "a")
    with caplog.at_level(logging.INFO):
        assert [sampler.run_once(after(seconds)) for seconds in (60, 120, 180)] == [0, 0, 0]
        assert events(caplog) == ["samples.failed"]
        assert caplog.records[0].__dict__["rowmq"]["reason"] == "no samples here"
        store.monitor.sample = kept
        sampler.run_once(after(240))
        sampler.run_once(after(300))
    assert events(caplog) == ["samples.failed", "samples.recovered"]
    store.close()


def test_upkeep_samples_and_sweeps_on_when_sampling_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeeping, "EVERY", PACE)
    store: Any = MemoryStore()
    taken: list[int] = []

    def sample(**_options: object) -> int:
        taken.append(1)
        if len(taken) > 1:
            raise StoreUnavailable("gone")
        return 1

    store.monitor.sample = sample
    put_queue(store, max_age=span(1))
    stop = threading.Event()
    upkeep = Upkeep(None, Sweeper(store, "a", every=PACE), stop)
    upkeep.start()
    try:
        assert becomes(lambda: len(taken) > 3)
        push(store, *messages(3))
        assert becomes(lambda: stats(store).dead == 3)
    finally:
        stop.set()
        assert upkeep.join(30)
    store.close()
