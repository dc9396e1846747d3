"""Going through a long list, a page at a time and never all of it."""

from collections.abc import Sequence

import pytest

from rowmq.core import monitor
from rowmq.core.look import MOST_AT_ONCE, Spot, gather
from rowmq.core.monitor import Place


class Numbers:
    """A list of numbers, of which every so many is wanted."""

    def __init__(self, count: int, every: int = 1) -> None:
        self._count, self._every = count, every
        self.looks: list[int] = []

    def look(self, place: Place | None, size: int) -> list[Spot]:
        first = 0 if place is None else place[0] + 1
        self.looks.append(size)
        return [Spot((number,), number) for number in range(first, min(first + size, self._count))]

    def choose(self, spots: Sequence[Spot]) -> list[Spot]:
        return [spot for spot in spots if spot.seq % self._every == 0]

    def page(self, place: Place | None, limit: int) -> tuple[list[int], Place | None]:
        spots, more = gather(self.look, self.choose, place, limit)
        return [spot.seq for spot in spots], more


def test_a_page_is_looked_at_once_with_one_more_to_know_whether_it_is_the_last() -> None:
    numbers = Numbers(10)
    assert numbers.page(None, 4) == ([0, 1, 2, 3], (3,))
    assert numbers.page((3,), 4) == ([4, 5, 6, 7], (7,))
    assert numbers.page((7,), 4) == ([8, 9], None)
    assert numbers.looks == [5, 5, 5]


def test_a_page_that_ends_with_the_list_is_the_last() -> None:
    assert Numbers(4).page(None, 4) == ([0, 1, 2, 3], None)
    assert Numbers(0).page(None, 4) == ([], None)


def test_looks_grow_while_little_is_found() -> None:
    numbers = Numbers(10**6, every=30_000)
    found, more = numbers.page(None, 2)
    assert (found, more) == ([0, 30_000], (49_999,))
    assert numbers.looks[:4] == [3, 12, 48, 192]
    assert max(numbers.looks) == MOST_AT_ONCE


@pytest.mark.parametrize("bound", [1, 3, 10, 50_000])
def test_no_page_goes_through_more_than_the_bound(bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "MOST_LOOKED", bound)
    numbers = Numbers(100_000, every=10**6)
    assert numbers.page((0,), 50) == ([], (bound,))
    assert sum(numbers.looks) == bound


@pytest.mark.parametrize("limit", [1, 2, 5, 7, 100])
@pytest.mark.parametrize("bound", [1, 2, 4, 9, 1000])
@pytest.mark.parametrize("every", [1, 3, 10])
def test_pages_together_are_the_whole_list(
    limit: int, bound: int, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitor, "MOST_LOOKED", bound)
    numbers, found = Numbers(50, every), list[int]()
    place: Place | None = None
    for _ in range(60):
        some, place = numbers.page(place, limit)
        found += some
        if place is None:
            break
    assert found == list(range(0, 50, every))
    assert place is None
