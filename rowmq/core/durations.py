"""Durations in buckets: few numbers that tell percentiles to within a tenth, and can be added up."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta

FINENESS = 4
"""Buckets for each doubling: the middle of one is off by less than 10 %."""


def bucket(micros: int) -> int:
    """The bucket of a duration in microseconds.

    >>> bucket(0), bucket(1), bucket(1_000_000)
    (0, 0, 79)
    """
    return 0 if micros <= 1 else math.floor(math.log2(micros) * FINENESS)


def histogram(durations: Iterable[int]) -> dict[int, int]:
    """How many durations fell into each bucket."""
    return dict(Counter(map(bucket, durations)))


def added(histograms: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """Several as one.

    >>> added([{1: 2}, {1: 1, 5: 1}])
    {1: 3, 5: 1}
    """
    total: Counter[int] = Counter()
    for each in histograms:
        total.update(each)
    return dict(total)


def percentile(buckets: Mapping[int, int], share: float) -> timedelta | None:
    """The duration that this share of them do not exceed, about; None if there are none.

    >>> percentile(histogram([1000] * 99 + [2_000_000]), 0.5)
    datetime.timedelta(microseconds=939)
    """
    rank, seen = share * sum(buckets.values()), 0
    for each in sorted(buckets):
        seen += buckets[each]
        if seen >= rank:
            return timedelta(microseconds=2 ** ((each + 0.5) / FINENESS))
    return None
