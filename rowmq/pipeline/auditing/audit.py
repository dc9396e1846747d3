"""The audit: every message is owed or finished, once, or in the archive, or its deletion is in the ledger."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F  # noqa: N812 - Spark's own documentation calls it so

from rowmq.core.history import LedgerEntry
from rowmq.pipeline.auditing.accounts import (
    counted,
    damaged_files,
    filed,
    in_store,
    is_double,
    is_wrong,
    nowhere,
    sheet,
    without,
)
from rowmq.pipeline.auditing.census import BOTH, FINISHED, NEITHER, OWED, STRAY
from rowmq.pipeline.auditing.coverage import Balance, Coverage, balance, lacking
from rowmq.pipeline.auditing.narrowing import Answer, coverage_of, narrowed
from rowmq.pipeline.auditing.scope import Scope
from rowmq.pipeline.lake.folder import Lake
from rowmq.pipeline.lake.manifest import Batches
from rowmq.pipeline.opening import absolute, store_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TRIES = 3
"""How often it is counted because something was deleted meanwhile."""
WRONG = {
    BOTH: "double: owed and finished",
    NEITHER: "broken: neither owed nor finished",
    STRAY: "broken: owed or finished, and no message",
}


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
    unexplained: int | None
    """Seqs that nothing accounts for: lost, or (but on SQLite) never committed. None: not known."""
    double: int
    broken: int
    missing: int | None
    """None: not known, because it cannot be told whether what is missing is of this scope."""
    damaged: Sequence[str]
    """Files of the archive that are gone or do not hold what their manifest says."""
    steady: bool
    """Whether nothing was deleted while it was counted; if something was, missing seqs are not told."""
    not_known: Sequence[str] = ()
    """What cannot be told of a part of everything, in words."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, as far as there is anything to know; what is not known is not right."""
        return self.missing == 0 and not (self.double or self.broken or self.damaged)


def audit(
    spark: "SparkSession",
    url: str,
    archive: str | None = None,
    *,
    of: Scope = Scope(),  # noqa: B008 - frozen
    found: Callable[[Finding], None] | None = None,
) -> Audit:
    """Count a store, and its archive, and compare them with the ledger; ``found`` is told what is wrong.

    Without the archive what was deleted as archived is taken to be there. With a scope everything is read all
    the same, and what is said is about that part. Raises InvalidInput if there is no such archive, and
    QueueNotFound.
    """
    lake = None if archive is None else Lake(archive)
    if lake is not None:
        lake.check_there()
    with closing(_Counting(spark, absolute(url), lake, of)) as counting:
        while not counting.steady and counting.tries < TRIES:
            counting.count()
        if found is not None:
            counting.tell(found)
        return counting.result()


class _Counting:
    """One audit under way: the sheet, the deletions, and what they come to."""

    def __init__(self, spark: "SparkSession", url: str, lake: Lake | None, scope: Scope) -> None:
        self.spark, self.url, self.lake, self.scope = spark, url, lake, scope
        self.store = store_at(url)
        self.steady, self.tries = False, 0
        self.kept: list[DataFrame] = []

    def close(self) -> None:
        """Let go of the sheet, which executors keep: the session may be the user's, and go on."""
        while self.kept:
            self.kept.pop().unpersist()

    def count(self) -> None:
        """Count store and archive between two looks at the ledger."""
        self.close()
        self.ledger = self.store.history.ledger()
        top = self.store.history.bounds()[1]
        manifests = [] if self.lake is None else Batches(self.lake).manifests()
        self.scope.check(self.store, self.ledger, manifests)
        self.damaged = [] if self.lake is None else damaged_files(self.spark, self.lake, manifests)
        expired = [one for each in manifests for one in each.expired]
        self.coverage = Coverage([(each.action, each) for each in self.ledger], expired)
        self.own = coverage_of(self.scope, self.ledger, expired)
        ends = [top, *(each.last_seq for each in self.ledger), *(each.last_seq for each in manifests)]
        self.last = max(ends)
        archive = filed(self.spark, self.lake, self.scope, without(manifests, self.damaged))
        store = counted(self.spark, self.url, self.scope, top)
        self.sheet = sheet(store, archive, self.coverage, self.own).persist()
        self.kept.append(self.sheet)
        self.totals = _totals(self.sheet)
        self.steady = len(self.store.history.ledger()) == len(self.ledger)
        self.tries += 1

    @property
    def strict(self) -> bool:
        """Whether each seq that nothing accounts for is a message that was lost."""
        return self.url.startswith("sqlite") and self.steady

    @property
    def balance(self) -> Balance:
        """What is gone against what was deleted."""
        present, archived = _by_place(self.totals, "held"), self.only_archived
        return balance(self.coverage, self.last, present, archived)

    @property
    def only_archived(self) -> dict[int, int]:
        """How many messages are in the archive alone, by stretch."""
        return _by_place((row for row in self.totals if not row["held"]), "filed")

    @property
    def lost(self) -> int:
        """How many messages should be in the archive and are not."""
        return self.balance.lost if self.lake is not None and self.steady else 0

    def tell(self, found: Callable[[Finding], None]) -> None:
        """Name what is wrong, and the seqs that are nowhere where some are missing."""
        for row in self.sheet.where(is_wrong() & F.col("here")).toLocalIterator():
            found(Finding(row["seq"], row["id"], _problem(row)))
        if not self.scope.whole:
            return  # whose the missing ones were is not known
        suspect = self.suspect()
        if self.lost or (self.strict and self.balance.unexplained):
            gaps = nowhere(self.sheet, self.last, self.coverage)
            for row in gaps.where(F.col("place").isin(suspect)).toLocalIterator():
                found(Finding(row["seq"], None, "missing: in neither store nor archive"))

    def suspect(self) -> list[int]:
        """The stretches where a message is missing; -1 for what is outside of any."""
        present, archived = _by_place(self.totals, "held"), self.only_archived
        return ([-1] if self.strict else []) + [
            place
            for place, each in enumerate(self.coverage.stretches)
            if (self.lost and lacking(each, archived.get(place, 0)))
            or (self.strict and each.length - present.get(place, 0) > each.deleted)
        ]

    def result(self) -> Audit:
        """Everything in figures."""
        here = [row for row in self.totals if row["here"]]
        kinds, gone = _by(here, "kind"), self.gone(here)
        return Audit(
            owed=kinds[OWED] + kinds[BOTH],
            finished=kinds[FINISHED],
            archived=_by(here, "filed")[True],
            unpruned=sum(row["count"] for row in here if row["filed"] and row["held"] and not row["done"]),
            deleted=gone.deleted,
            unexplained=gone.unexplained,
            double=kinds[BOTH] + _by(here, "double")[True],
            broken=kinds[NEITHER] + kinds[STRAY],
            missing=gone.missing,
            damaged=[path for path in self.damaged if self.scope.has_file(path)],
            steady=self.steady,
            not_known=gone.not_known,
        )

    def gone(self, here: Sequence[Any]) -> Answer:
        """What is gone: from everything, or from the scope as far as that is known."""
        unexplained = self.balance.unexplained if self.steady else 0
        if self.scope.whole:
            missing = self.lost + (unexplained if self.strict else 0)
            return Answer(missing, unexplained, _deleted(self.ledger))
        only = [row for row in here if row["filed"] and not row["held"]]
        return narrowed(
            self.scope,
            self.balance._replace(lost=self.lost, unexplained=unexplained),
            self.own,
            dict(_by(only, "spot")),
            self.scope.entries(self.ledger),
            strict=self.strict,
            count=None if self.lake is None else _by(only, "filed")[True],
        )


def _totals(found: "DataFrame") -> list[Any]:
    """How many seqs are alike."""
    held, double = in_store().alias("held"), is_double().alias("double")
    is_filed = (F.col("times") > 0).alias("filed")
    alike = ("place", "spot", "kind", "done", "here")
    return found.groupBy(*alike, held, is_filed, double).count().collect()


def _by(totals: Iterable[Any], column: str) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for row in totals:
        found[row[column]] += row["count"]
    return found


def _by_place(totals: Iterable[Any], column: str) -> dict[int, int]:
    return dict(_by((row for row in totals if row[column]), "place"))


def _deleted(ledger: Iterable[LedgerEntry]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for each in ledger:
        found[each.action] += each.count
    return dict(found)


def _problem(row: Any) -> str:
    if row["times"] > 1:
        return "double: archived twice"
    return WRONG.get(row["kind"], "double: in store and archive")
