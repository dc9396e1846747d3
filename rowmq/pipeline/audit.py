"""The audit: every message is owed or finished, once, or in the archive, or its deletion is in the ledger."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F  # noqa: N812 - Spark's own documentation calls it so

from rowmq.core.history import LedgerEntry
from rowmq.core.store import Store
from rowmq.pipeline.accounts import Accounts, accounts
from rowmq.pipeline.census import BOTH, FINISHED, NEITHER, OWED, STRAY, is_exact
from rowmq.pipeline.coverage import Coverage, balance, lacking
from rowmq.pipeline.lake import Lake
from rowmq.pipeline.opening import absolute, store_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TRIES = 3
"""How often it is counted again because something was deleted meanwhile."""


class Finding(NamedTuple):
    """A seq that something is wrong with, the message's id where it is known, and what is wrong."""

    seq: int
    id: str | None
    problem: str


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What there is, what went and why, and what is wrong."""

    owed: int
    finished: int
    archived: int
    unpruned: int
    """Messages in the archive and still in the store: a batch under way, or killed and to be finished."""
    deleted: Mapping[str, int]
    """By what the ledger says they were deleted for."""
    unexplained: int
    """Seqs that nothing accounts for: lost, or (but on SQLite) never committed."""
    double: int
    broken: int
    missing: int
    damaged: Sequence[str]
    """Files of the archive that are gone or do not hold what their manifest says."""
    steady: bool
    """Whether nothing was deleted while it was counted; if something was, seqs are not accounted for."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.double or self.broken or self.missing or self.damaged)


def audit(
    spark: "SparkSession",
    url: str,
    archive: str | None = None,
    *,
    found: Callable[[Finding], None] | None = None,
) -> Audit:
    """Count a store, and its archive, and compare them with the ledger; ``found`` is told what is wrong.

    Without the archive what was deleted as archived is taken to be there.
    """
    url = absolute(url)
    store, lake = store_at(url), None if archive is None else Lake(archive)
    if lake is not None:
        lake.check_there()
    for _ in range(TRIES):
        before = store.history.ledger()
        seen = accounts(spark, url, store, lake, before)
        steady = len(store.history.ledger()) == len(before)
        if steady:
            break
    return _judge(seen, store, url, before, found, steady=steady)


def _judge(
    seen: Accounts,
    store: Store,
    url: str,
    ledger: Sequence[LedgerEntry],
    found: Callable[[Finding], None] | None,
    *,
    steady: bool,
) -> Audit:
    kinds = seen.kinds()
    double, expired = seen.doubles(), [one for each in seen.manifests for one in each.expired]
    coverage = Coverage([(each.action, each) for each in ledger], expired)
    present, archived = seen.present(coverage), seen.archived_only(coverage)
    sheet = balance(coverage, seen.last, present, archived if seen.has_archive else {})
    lost = sheet.lost if seen.has_archive and steady else 0
    strict = url.startswith("sqlite") and is_exact(store) and steady
    if found is not None:
        names = _gaps(seen, coverage, archived, strict=strict) if lost or strict else None
        _name(seen, double, names, found)
    deleted: Counter[str] = Counter()
    for each in ledger:
        deleted[each.action] += each.count
    return Audit(
        owed=kinds.get(OWED, 0) + kinds.get(BOTH, 0),
        finished=kinds.get(FINISHED, 0),
        archived=seen.archived_rows(),
        unpruned=seen.unpruned(),
        deleted=dict(deleted),
        unexplained=sheet.unexplained if steady else 0,
        double=kinds.get(BOTH, 0) + int(double.count()),
        broken=kinds.get(NEITHER, 0) + kinds.get(STRAY, 0),
        missing=lost + (sheet.unexplained if strict else 0),
        damaged=seen.damaged,
        steady=steady,
    )


def _gaps(seen: Accounts, coverage: Coverage, archived: Mapping[int, int], *, strict: bool) -> "DataFrame":
    """Seqs that are nowhere, where something is missing."""
    suspect = [
        place
        for place, each in enumerate(coverage.stretches)
        if seen.has_archive and lacking(each, archived.get(place, 0))
    ]
    outside = [-1] if strict else []
    return seen.nowhere(coverage).where(F.col("place").isin([*outside, *suspect]))


def _name(
    seen: Accounts, double: "DataFrame", gaps: "DataFrame | None", found: Callable[[Finding], None]
) -> None:
    for row in seen.wrong().toLocalIterator():
        found(Finding(row["seq"], row["id"], WRONG[row["kind"]]))
    for row in double.toLocalIterator():
        found(Finding(row["seq"], row["id"], f"double: {row['places']}"))
    for row in _rows(gaps):
        found(Finding(row["seq"], None, "missing: in neither store nor archive"))


def _rows(frame: "DataFrame | None") -> Iterator[Any]:
    return iter(()) if frame is None else frame.toLocalIterator()


WRONG = {
    BOTH: "double: owed and finished",
    NEITHER: "broken: neither owed nor finished",
    STRAY: "broken: owed or finished, and no message",
}
