"""The ids of queues are remembered for a while, and those of queues that are not there are not."""

from collections.abc import Sequence

import pytest

from rowmq.stores.ids import FRESH, Ids


class Queues:
    """Queues that can be looked up, and how often that was done."""

    def __init__(self) -> None:
        self.ids = {"a": 1, "b": 2}
        self.looks = 0
        self.now = 1000.0

    def look_up(self, names: Sequence[str]) -> dict[str, int]:
        self.looks += 1
        return {name: self.ids[name] for name in names if name in self.ids}


@pytest.fixture
def queues() -> Queues:
    return Queues()


@pytest.fixture
def ids(queues: Queues) -> Ids[int]:
    return Ids(queues.look_up, lambda: queues.now)


def test_an_id_is_looked_up_once_in_a_while(queues: Queues, ids: Ids[int]) -> None:
    for _ in range(3):
        assert ids.of(["a", "b", "a"]) == {1, 2}
    assert queues.looks == 1
    queues.now += FRESH
    assert ids.of(["a"]) == {1}
    assert queues.looks == 2


def test_a_queue_made_anew_has_its_new_id_a_little_later(queues: Queues, ids: Ids[int]) -> None:
    ids.of(["a"])
    queues.ids["a"] = 3
    assert ids.of(["a"]) == {1}
    queues.now += FRESH
    assert ids.of(["a"]) == {3}


def test_a_queue_that_there_is_not_is_looked_up_each_time(queues: Queues, ids: Ids[int]) -> None:
    assert ids.of(["a", "new"]) == {1}
    queues.ids["new"] = 3
    assert ids.of(["a", "new"]) == {1, 3}


def test_who_waits_for_no_queue_looks_up_nothing(queues: Queues, ids: Ids[int]) -> None:
    assert ids.of([]) == set()
    assert queues.looks == 0
