"""The accounts that an audit compares: the store's seqs, the archive's, and their place among deletions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - Spark's own documentation calls it so

from rowmq.core.history import LedgerEntry
from rowmq.core.store import Store
from rowmq.pipeline.batch import inside
from rowmq.pipeline.census import BOTH, COLUMNS, NEITHER, STRAY, census
from rowmq.pipeline.coverage import Coverage
from rowmq.pipeline.frames import archived, in_files, sum_of, summed
from rowmq.pipeline.lake import Lake
from rowmq.pipeline.manifest import Batches, Manifest
from rowmq.pipeline.reading import ranges

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PLACED = "seq long, place int"


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """What was counted once: the store by seq, and the sound files of the archive."""

    store: "DataFrame"
    done: "DataFrame"
    """Archived messages that have left the store."""
    under_way: "DataFrame"
    """Archived messages that the store may still have, too."""
    manifests: Sequence[Manifest]
    damaged: Sequence[str]
    has_archive: bool
    last: int

    def kinds(self) -> dict[str, int]:
        """How many seqs of the store are what."""
        return {row["kind"]: row["count"] for row in self.store.groupBy("kind").count().collect()}

    def wrong(self) -> "DataFrame":
        """What is owed and finished, or neither, or no message."""
        return self.store.where(F.col("kind").isin(BOTH, NEITHER, STRAY))

    def doubles(self) -> "DataFrame":
        """What is in the archive twice, or in the archive and the store."""
        kept = (
            self.done.unionAll(self.under_way)
            .groupBy("seq")
            .agg(F.first("id").alias("id"), F.count(F.lit(1)).alias("times"))
        )
        twice = kept.where("times > 1").select("seq", "id", F.lit("archived twice").alias("places"))
        both = self.done.join(self._held(), "seq", "left_semi").dropDuplicates(["seq"])
        return twice.unionAll(both.select("seq", "id", F.lit("in store and archive").alias("places")))

    def archived_rows(self) -> int:
        """How many messages the archive has, each once."""
        return int(self.done.unionAll(self.under_way).select("seq").distinct().count())

    def unpruned(self) -> int:
        """How many messages of unfinished batches the store still has."""
        return int(self.under_way.join(self._held(), "seq", "left_semi").count())

    def present(self, coverage: Coverage) -> dict[int, int]:
        """How many of the store's seqs are in which stretch."""
        return _by_place(self._held(), coverage)

    def archived_only(self, coverage: Coverage) -> dict[int, int]:
        """How many of the archive's seqs that the store has not are in which stretch."""
        return _by_place(self._filed().join(self._held(), "seq", "left_anti"), coverage)

    def nowhere(self, coverage: Coverage) -> "DataFrame":
        """The seqs that neither store nor archive has, and the stretch each is in."""
        every = self.store.sparkSession.range(1, self.last + 1).toDF("seq")
        known = self._held().unionAll(self._filed())
        return _placed(every.join(known, "seq", "left_anti"), coverage)

    def _held(self) -> "DataFrame":
        return self.store.where(F.col("kind") != STRAY).select("seq")

    def _filed(self) -> "DataFrame":
        return self.done.unionAll(self.under_way).select("seq").distinct()


def accounts(
    spark: "SparkSession", url: str, store: Store, lake: Lake | None, ledger: Sequence[LedgerEntry]
) -> Accounts:
    """Count the store, and read the archive's files back."""
    top = store.history.bounds()[1]
    manifests = [] if lake is None else Batches(lake).manifests()
    damaged = [] if lake is None else damaged_files(spark, lake, manifests)
    sound = [
        replace(each, files=[part for part in each.files if part.path not in damaged]) for each in manifests
    ]
    ends = [top, *(each.last_seq for each in ledger), *(each.last_seq for each in manifests)]
    return Accounts(
        store=_census(spark, url, top).persist(),
        done=_ids(spark, lake, [each for each in sound if each.pruned]),
        under_way=_ids(spark, lake, [each for each in sound if not each.pruned]),
        manifests=manifests,
        damaged=damaged,
        has_archive=lake is not None,
        last=max(ends),
    )


def damaged_files(spark: "SparkSession", lake: Lake, manifests: Sequence[Manifest]) -> list[str]:
    """The files that are gone, or do not hold what their manifest says."""
    parts = {part.path: part for each in manifests for part in each.files}
    there = {found.path for found in lake.files("")} & parts.keys()
    rows = in_files(spark, lake, sorted(there), tolerant=True).groupBy("file").agg(*summed()).collect()
    held = {inside(row["file"]): sum_of(row) for row in rows}
    return sorted(path for path, part in parts.items() if held.get(path) != part.sum)


def _census(spark: "SparkSession", url: str, top: int) -> "DataFrame":
    given = ranges(1, top) or [(1, 0)]
    frame = spark.createDataFrame(given, "first long, last long").repartition(len(given))
    return frame.mapInArrow(partial(census, url), COLUMNS)


def _ids(spark: "SparkSession", lake: Lake | None, manifests: Sequence[Manifest]) -> "DataFrame":
    if lake is None:
        return spark.createDataFrame([], "seq long, id string")
    return archived(spark, lake, manifests).select("seq", "id")


def _by_place(seqs: "DataFrame", coverage: Coverage) -> dict[int, int]:
    return {row["place"]: row["count"] for row in _placed(seqs, coverage).groupBy("place").count().collect()}


def _placed(seqs: "DataFrame", coverage: Coverage) -> "DataFrame":
    return seqs.mapInArrow(partial(_place, coverage.ranges), PLACED)


def _place(stretches: Sequence[tuple[int, int]], given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The number of the stretch that each seq is in, or -1; on an executor."""
    starts, ends = (
        (np.array(column, dtype=np.int64) for column in zip(*stretches, strict=True))
        if stretches
        else (
            np.empty(0, np.int64),
            np.empty(0, np.int64),
        )
    )
    for batch in given:
        seqs = batch["seq"].to_numpy()
        found = np.searchsorted(starts, seqs, side="right") - 1
        inside_it = (found >= 0) & (seqs <= ends[found]) if len(ends) else np.zeros(len(seqs), bool)
        place = np.where(inside_it, found, -1).astype(np.int32)
        yield pa.RecordBatch.from_arrays([pa.array(seqs), pa.array(place)], names=["seq", "place"])
