"""Which deletions explain which missing messages: the ledger's ranges, joined where they overlap."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

ARCHIVE = "archive"


class Deletion(Protocol):
    """So many messages between two seqs went."""

    @property
    def count(self) -> int:
        """How many."""

    @property
    def first_seq(self) -> int:
        """The lowest of them."""

    @property
    def last_seq(self) -> int:
        """The highest of them."""


@dataclass(slots=True)
class Stretch:
    """Seqs from the first to the last of deletions that overlap, and how many those deletions took.

    A deletion says how many messages went between two seqs, not which: so what can be told about a stretch
    is whether as many are gone as were deleted.
    """

    first: int
    last: int
    deleted: int = 0
    archived: int = 0
    """How many of the deleted are said to be in the archive."""
    expired: int = 0
    """How many the archive has let go."""

    @property
    def length(self) -> int:
        """How many seqs it has."""
        return self.last - self.first + 1


class Coverage:
    """The stretches of all deletions, in order; no two overlap."""

    def __init__(self, ledger: Iterable[tuple[str, Deletion]], expired: Iterable[Deletion] = ()) -> None:
        went = [
            Stretch(each.first_seq, each.last_seq, each.count, each.count if action == ARCHIVE else 0)
            for action, each in ledger
        ]
        went += [Stretch(each.first_seq, each.last_seq, expired=each.count) for each in expired]
        self.stretches: Sequence[Stretch] = _joined(went)
        self._starts = [each.first for each in self.stretches]

    def place(self, seq: int) -> int:
        """The number of the stretch that a seq is in, or -1."""
        found = bisect_right(self._starts, seq) - 1
        return found if found >= 0 and seq <= self.stretches[found].last else -1

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """The first and last seq of each stretch."""
        return [(each.first, each.last) for each in self.stretches]


class Balance(NamedTuple):
    """What the seqs up to the last come to."""

    gone: int
    """Seqs that the store does not have."""
    deleted: int
    """Messages that the ledger says were deleted."""
    unexplained: int
    """Seqs that are gone and that no deletion accounts for: never committed, or lost."""
    overcounted: int
    """Messages that the ledger says were deleted where fewer are gone."""
    lost: int
    """Messages that were deleted as archived, and that the archive does not have."""


def balance(coverage: Coverage, last: int, present: dict[int, int], archived: dict[int, int]) -> Balance:
    """Compare what is gone with what was deleted; counts are by stretch, -1 for outside of any."""
    outside = last - sum(each.length for each in coverage.stretches) - present.get(-1, 0)
    gone = [each.length - present.get(place, 0) for place, each in enumerate(coverage.stretches)]
    slack = [there - each.deleted for there, each in zip(gone, coverage.stretches, strict=True)]
    return Balance(
        gone=outside + sum(gone),
        deleted=sum(each.deleted for each in coverage.stretches),
        unexplained=outside + sum(each for each in slack if each > 0),
        overcounted=-sum(each for each in slack if each < 0),
        lost=sum(lacking(each, archived.get(place, 0)) for place, each in enumerate(coverage.stretches)),
    )


def lacking(stretch: Stretch, archived: int) -> int:
    """How many messages the archive should have in a stretch, and has not."""
    return max(0, stretch.archived - stretch.expired - archived)


def _joined(given: Iterable[Stretch]) -> list[Stretch]:
    joined: list[Stretch] = []
    for each in sorted(given, key=lambda one: (one.first, one.last)):
        if joined and each.first <= joined[-1].last:
            whole = joined[-1]
            whole.last = max(whole.last, each.last)
            whole.deleted += each.deleted
            whole.archived += each.archived
            whole.expired += each.expired
        else:
            joined.append(each)
    return joined
