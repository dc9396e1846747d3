"""The arithmetic of a comparison: medians, spreads, ratios, and what counts as a tie."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

NOISE = 0.05
"""Medians that are closer than this are a tie, whatever single rounds say."""
ALONE = 0.15
"""With a single round nothing is known of its spread: closer than this is a tie."""


class Record(NamedTuple):
    """One measure of one system in one case, a value for each round; None where it has no such thing."""

    store: str
    system: str
    case: str
    measure: str
    values: list[float | None]

    @property
    def known(self) -> list[float]:
        """The rounds that have a value."""
        return [value for value in self.values if value is not None]

    @property
    def median(self) -> float | None:
        """The middle of the rounds."""
        return statistics.median(self.known) if self.known else None


class Ratio(NamedTuple):
    """How one system compares with another: the median of the rounds' own ratios, and their range."""

    median: float
    least: float
    most: float
    rounds: int

    @property
    def is_tie(self) -> bool:
        """Whether the difference is within the noise.

        >>> Ratio(1.2, 0.9, 1.4, rounds=3).is_tie, Ratio(1.2, 1.1, 1.4, rounds=3).is_tie
        (True, False)
        """
        if self.rounds == 1:
            return abs(self.median - 1) < ALONE
        return abs(self.median - 1) < NOISE or self.least <= 1 <= self.most


def ratio(ours: Record, theirs: Record) -> Ratio | None:
    """Round by round: what ran close together is compared with each other.

    >>> ours = Record("sqlite", "RowMQ", "200 B", "work", [30.0, 20.0, 25.0])
    >>> theirs = Record("sqlite", "huey", "200 B", "work", [3.0, 4.0, None])
    >>> ratio(ours, theirs)
    Ratio(median=7.5, least=5.0, most=10.0, rounds=2)
    """
    pairs = zip(ours.values, theirs.values, strict=False)
    found = [one / other for one, other in pairs if one is not None and other]
    if not found:
        return None
    return Ratio(statistics.median(found), min(found), max(found), len(found))


def percentile(times: Sequence[float], part: float) -> float:
    """What that part of the times is not above.

    >>> percentile([4, 1, 3, 2], 0.5), percentile([4, 1, 3, 2], 0.99)
    (2, 4)
    """
    ordered = sorted(times)
    return ordered[max(0, -int(-part * len(ordered) // 1) - 1)]


class Book:
    """All records of a run, looked up by what they are of."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._records = {each[:4]: each for each in records}

    def put(self, store: str, system: str, case: str, number: int, found: Mapping[str, float | None]) -> None:
        """Note a round's values, by measure; rounds before it that have none are gaps."""
        for measure, value in found.items():
            key = (store, system, case, measure)
            values = self._records.setdefault(key, Record(*key, [])).values
            values += [None] * (number + 1 - len(values))
            values[number] = value

    def has(self, store: str, system: str, case: str, number: int) -> bool:
        """Whether a round of a case has been measured."""
        found = self.get(store, system, case, "work")
        return found is not None and len(found.values) > number and found.values[number] is not None

    def drop(self, store: str, system: str, case: str) -> None:
        """Forget a case, to measure it anew."""
        self._records = {key: each for key, each in self._records.items() if key[:3] != (store, system, case)}

    def get(self, store: str, system: str, case: str, measure: str) -> Record | None:
        """A record, if there is one."""
        return self._records.get((store, system, case, measure))

    def ratio(self, store: str, case: str, measure: str, systems: tuple[str, str]) -> Ratio | None:
        """How the first of two systems compares with the second."""
        ours, theirs = (self.get(store, name, case, measure) for name in systems)
        return ratio(ours, theirs) if ours and theirs else None

    def all(self) -> list[Record]:
        """Every record, in the order of their first values."""
        return list(self._records.values())

    def systems(self, store: str, *cases: str) -> list[str]:
        """Who was measured on a store in any of these cases."""
        found = (each.system for each in self.all() if each.store == store and each.case in cases)
        return list(dict.fromkeys(found))

    def best(self, store: str, case: str, measure: str, count: int, without: set[str]) -> list[str]:
        """The systems with the highest medians."""
        ranked = sorted(
            (
                each
                for each in self.all()
                if (each.store, each.case, each.measure) == (store, case, measure)
                and each.system not in without
            ),
            key=lambda each: -(each.median or 0),
        )
        return [each.system for each in ranked[:count]]
