"""The sheet that an audit is read from: every seq of store and archive, and its place among the deletions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - Spark's own documentation calls it so

from rowmq.pipeline.auditing.census import BOTH, COLUMNS, NEITHER, STRAY, census
from rowmq.pipeline.auditing.coverage import Coverage
from rowmq.pipeline.auditing.scope import Scope
from rowmq.pipeline.lake.batch import inside
from rowmq.pipeline.lake.folder import Lake
from rowmq.pipeline.lake.frames import archived, in_files, sum_of, summed
from rowmq.pipeline.lake.manifest import Manifest
from rowmq.pipeline.reading.reader import ranges

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

IDS = "seq long, id string, queue string, created_at timestamp"
Ranges = Sequence[tuple[int, int]]
PLACED = f"{COLUMNS}, times long, done boolean, place int, spot int"


def counted(spark: "SparkSession", url: str, scope: Scope, top: int) -> "DataFrame":
    """What the store has up to a seq."""
    given = ranges(1, top) or [(1, 0)]
    frame = spark.createDataFrame(given, "first long, last long").repartition(len(given))
    return frame.mapInArrow(partial(census, url, scope), COLUMNS)


def filed(
    spark: "SparkSession", lake: Lake | None, scope: Scope, manifests: Sequence[Manifest]
) -> "DataFrame":
    """What the archive has: each seq, how many ``times``, and whether it is ``done`` with the store."""
    parts = []
    for done in (True, False):
        some = [each for each in manifests if each.pruned == done]
        rows = spark.createDataFrame([], IDS) if lake is None else archived(spark, lake, some)
        parts.append(rows.select("seq", "id", scope.of_archived().alias("inside"), F.lit(done).alias("done")))
    times, first = F.count(F.lit(1)).alias("times"), F.first("id").alias("filed_id")
    flags = [F.max(name).alias(name) for name in ("done", "inside")]
    return parts[0].unionAll(parts[1]).groupBy("seq").agg(first, times, *flags)


def sheet(store: "DataFrame", archive: "DataFrame", coverage: Coverage, own: Coverage) -> "DataFrame":
    """Every seq that is anywhere, what it is where, and the stretch of deletions it is in.

    ``place`` is its stretch among all deletions, ``spot`` that among the scope's ``own``.
    """
    no = F.expr("false")
    joined = store.join(archive, "seq", "full_outer").select(
        "seq",
        F.coalesce("id", "filed_id").alias("id"),
        "kind",
        (F.coalesce("here", no) | F.coalesce("inside", no)).alias("here"),
        F.coalesce("times", F.lit(0).cast("long")).alias("times"),
        F.coalesce("done", no).alias("done"),
    )
    return joined.mapInArrow(partial(_place, coverage.ranges, own.ranges), PLACED)


def in_store() -> "Column":
    """Whether the store has a seq's message."""
    return F.col("kind").isNotNull() & (F.col("kind") != STRAY)


def is_double() -> "Column":
    """Whether a message is in the archive twice, or in the store though the archive is done with it."""
    return (F.col("times") > 1) | (F.col("done") & in_store())


def is_wrong() -> "Column":
    """Whether something is wrong with a seq that is somewhere."""
    return is_double() | F.coalesce(F.col("kind").isin(BOTH, NEITHER, STRAY), F.expr("false"))


def nowhere(found: "DataFrame", last: int, coverage: Coverage) -> "DataFrame":
    """The seqs that neither store nor archive has, and the stretch each is in."""
    known = found.where(in_store() | (F.col("times") > 0)).select("seq")
    every = found.sparkSession.range(1, last + 1).toDF("seq")
    lacking = every.join(known, "seq", "left_anti")
    empty = lacking.selectExpr("seq", "'' id", "'' kind", "false here", "0L times", "false done")
    return empty.mapInArrow(partial(_place, coverage.ranges, []), PLACED)


def damaged_files(spark: "SparkSession", lake: Lake, manifests: Sequence[Manifest]) -> list[str]:
    """The files that are gone, or do not hold what their manifest says."""
    parts = {part.path: part for each in manifests for part in each.files}
    there = {found.path for found in lake.files("")} & parts.keys()
    rows = in_files(spark, lake, sorted(there), tolerant=True).groupBy("file").agg(*summed()).collect()
    held = {inside(row["file"]): sum_of(row) for row in rows}
    return sorted(path for path, part in parts.items() if held.get(path) != part.sum)


def without(manifests: Sequence[Manifest], damaged: Sequence[str]) -> list[Manifest]:
    """The manifests without the files that cannot be read."""
    return [
        replace(each, files=tuple(part for part in each.files if part.path not in damaged))
        for each in manifests
    ]


def _place(all: Ranges, own: Ranges, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each row with the numbers of the stretches that its seq is in, or -1; on an executor."""
    for batch in given:
        columns = [*batch.columns, *(_numbers(batch["seq"].to_numpy(), each) for each in (all, own))]
        yield pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, "place", "spot"])


def _numbers(seqs: Any, stretches: Ranges) -> pa.Array:
    edges = np.array([(0, -1), *stretches], dtype=np.int64)  # the first is before all others, and has nothing
    found = np.searchsorted(edges[:, 0], seqs, side="right") - 1
    return pa.array(np.where(seqs <= edges[found, 1], found - 1, -1).astype(np.int32))
