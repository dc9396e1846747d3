"""What an audit can say of a part of everything: what is gone has left no queue and no time behind."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rowmq.core.history import LedgerEntry
from rowmq.pipeline.auditing.coverage import ARCHIVE, Balance, Coverage, lacking
from rowmq.pipeline.auditing.scope import Scope
from rowmq.pipeline.lake.manifest import Expired

REMEDY = "audit the whole store for that"


class Answer(NamedTuple):
    """What is gone from a scope: how much and why, as far as it is known."""

    missing: int | None
    unexplained: int | None
    deleted: Mapping[str, int]
    not_known: Sequence[str] = ()


def narrowed(
    scope: Scope,
    whole: Balance,
    coverage: Coverage,
    archived: Mapping[int, int],
    entries: Sequence[LedgerEntry],
    *,
    strict: bool,
    count: int | None,
) -> Answer:
    """The answer for a scope, from that for everything.

    ``coverage`` has the deletions of the scope's queue, ``archived`` says how many of the scope's messages
    only the archive has in each of its stretches, and ``count`` how many in all, None without an archive.
    ``entries`` are the deletions that may have been of the scope; ``strict`` says that an unexplained seq is
    a message that was lost.
    """
    least, most = _lost(scope, whole.lost, coverage, archived)
    doubtful = whole.unexplained if strict else 0
    deleted, words = _deleted(scope, entries, count)
    words += _unexplained(whole.unexplained) + _missing(least, most + doubtful)
    known = least == most and not doubtful
    return Answer(least if known else None, None if whole.unexplained else 0, deleted, words)


def coverage_of(scope: Scope, ledger: Iterable[LedgerEntry], expired: Iterable[Expired]) -> Coverage:
    """The deletions of the scope's queue, at any time: those of different times overlap."""
    return Coverage([(each.action, each) for each in Scope(queue=scope.queue).entries(ledger)], expired)


def _lost(scope: Scope, lost: int, coverage: Coverage, archived: Mapping[int, int]) -> tuple[int, int]:
    """How many of the messages that the archive should have and has not are inside: at least, at most.

    What the archive itself has let go may have been any queue's.
    """
    if scope.timed or not lost:
        return 0, lost
    found = [(each, archived.get(place, 0)) for place, each in enumerate(coverage.stretches)]
    least = sum(lacking(each, there) for each, there in found)
    most = sum(max(0, each.archived - there) for each, there in found)
    return min(least, lost), min(most, lost)


def _deleted(
    scope: Scope, entries: Sequence[LedgerEntry], count: int | None
) -> tuple[dict[str, int], list[str]]:
    """How many were deleted for what; what the ledger alone knows has no time of creation."""
    found: Counter[str] = Counter()
    for each in entries:
        found[each.action] += each.count
    if not scope.timed:
        return dict(found), []
    known = {ARCHIVE: count} if count else {}
    if count is not None:
        found.pop(ARCHIVE, None)
    listed = ", ".join(f"{action} {number}" for action, number in sorted(found.items()))
    said = f"{found.total()} messages were deleted ({listed}); whether they were created then is not known"
    return known, [said] if found else []


def _unexplained(count: int) -> list[str]:
    said = f"{count} seqs are nowhere, and whose they were is not known: {REMEDY}"
    return [said] if count else []


def _missing(least: int, most: int) -> list[str]:
    said = f"of {most} messages that are missing, {least} are known to be of this part: {REMEDY}"
    return [said] if most > least else []
