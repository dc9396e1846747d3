"""The collector of cycles while a worker works."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, NoReturn

import pytest

import rowmq
from rowmq.runtime.calm import YOUNG, calm
from tests.runtime.working import working

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def untouched() -> Iterator[None]:
    """A collector of which nobody has said anything."""
    former = gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(700, 10, 10)
    yield
    gc.unfreeze()
    gc.set_threshold(*former)


def test_a_worker_keeps_the_collector_from_what_was_there_before_it_as_long_as_it_works() -> None:
    with rowmq.connect("memory://") as mq:
        mq.handler("q")(print)
        with working(mq, "q"):
            assert gc.get_freeze_count() > 0
            assert gc.get_threshold() == (YOUNG, 10, 10)
        assert gc.get_freeze_count() == 0
        assert gc.get_threshold() == (700, 10, 10)


class Unwilling(rowmq.Middleware):
    """Keeps workers from starting."""

    def around_worker(self, worker: rowmq.Worker) -> NoReturn:
        raise RuntimeError(worker.name)


def test_a_worker_that_cannot_start_leaves_the_collector_as_it_was() -> None:
    with rowmq.connect("memory://") as mq:
        mq.handler("q")(print)
        worker = mq.worker("q", middleware=[Unwilling()])
        with pytest.raises(RuntimeError):
            worker.start()
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == (700, 10, 10)


def test_what_somebody_else_has_frozen_stays_frozen() -> None:
    gc.freeze()
    with calm():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() > 0


def test_what_is_made_meanwhile_is_collected_as_ever() -> None:
    with calm():
        cycle: list[object] = []
        cycle.append(cycle)
        del cycle
        assert gc.collect() > 0


@pytest.mark.parametrize("young", [0, 50_000], ids=["never", "rarely"])
def test_who_has_it_look_more_rarely_or_never_is_heard(young: int) -> None:
    gc.set_threshold(young, 7, 7)
    with calm():
        assert gc.get_threshold() == (young, 7, 7)


def test_what_is_said_meanwhile_stays_said() -> None:
    with calm():
        gc.set_threshold(1234, 5, 6)
    assert gc.get_threshold() == (1234, 5, 6)
