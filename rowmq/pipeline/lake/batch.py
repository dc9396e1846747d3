"""One batch of the archive: written aside, put in its place, read back, described."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 - Spark's own documentation calls it so

from rowmq.core.errors import StoreError
from rowmq.pipeline.lake.folder import STAGING, Found, Lake, folder_name
from rowmq.pipeline.lake.frames import day, in_files, sum_of, summed
from rowmq.pipeline.lake.manifest import Manifest, Part, Plan, Sum, added

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TIMESTAMPS = "spark.sql.parquet.outputTimestampType"
MICROS = "TIMESTAMP_MICROS"
"""What other readers of Parquet understand; Spark's default is a form of its own."""
LEVELS = 4
"""The parts of a file's path in the lake: day, queue, batch, name."""


@contextmanager
def timestamps(spark: "SparkSession") -> Iterator[None]:
    """Let Spark write times as Parquet does."""
    former = spark.conf.get(TIMESTAMPS)
    spark.conf.set(TIMESTAMPS, MICROS)
    try:
        yield
    finally:
        spark.conf.set(TIMESTAMPS, former)


def write_aside(rows: "DataFrame", lake: Lake, batch: str, *, gather: bool = False) -> Sum:
    """Write rows to the batch's own folder, by day and queue; their sum, taken on the way.

    ``gather`` brings each day and queue into one file, at the price of moving all rows between tasks.
    """
    seen = Observation()
    # A queue's name may be longer than a folder's, or say something else there; its hash does not.
    parted = rows.observe(seen, *summed()).select("*", day().alias("dt"), F.sha1("queue").alias("slot"))
    if gather:
        parted = parted.repartition("dt", "slot").sortWithinPartitions("dt", "slot", "seq")
    writing = parted.write.option("compression", "zstd").partitionBy("dt", "slot")
    writing.parquet(lake.for_spark(f"{STAGING}/{batch}"))
    return sum_of(seen.get)


def place(lake: Lake, batch: str) -> list[Found]:
    """Move the batch's files to their day and queue."""
    placed = []
    for found in lake.files(f"{STAGING}/{batch}"):
        if found.path.endswith(".parquet"):
            _, _, date, _, name = found.path.split("/")
            target = f"{date}/queue={folder_name(_queue_in(lake, found.path))}/batch={batch}/{name}"
            lake.move(found.path, target)
            placed.append(Found(target, found.size))
    lake.delete_folder(f"{STAGING}/{batch}")
    return placed


def verify(spark: "SparkSession", lake: Lake, files: Sequence[Found], expected: Sum) -> list[Part]:
    """The files with what they hold, as it was read back; StoreError unless that is what is expected."""
    found = in_files(spark, lake, [each.path for each in files]).groupBy("file").agg(*summed()).collect()
    held = {inside(row["file"]): row for row in found}
    total = added(sum_of(row) for row in found)
    if total != expected:
        raise StoreError(
            f"the archive does not hold what was written to it: {total.rows} rows were read back of"
            f" {expected.rows}, or they differ; nothing was deleted: look at the disk, and run it again"
        )
    return [_part(each, held[each.path]) for each in files]


def check_batch(spark: "SparkSession", lake: Lake, manifest: Manifest) -> None:
    """Raise StoreError unless the batch's files are there and hold what its manifest says."""
    files = [Found(each.path, each.bytes) for each in manifest.files]
    try:
        verify(spark, lake, files, manifest.sum)
    except PySparkException:  # a file that is gone, or is no Parquet
        raise StoreError(
            f"files of the archive's batch {manifest.batch} are gone or broken; nothing was deleted:"
            " bring them back, and run it again"
        ) from None


def inside(file: str) -> str:
    """The path in the lake of a file that Spark names by its URI."""
    return "/".join(unquote(file).split("/")[-LEVELS:])


def manifest_of(plan: Plan, files: Sequence[Part]) -> Manifest:
    """The manifest of a batch whose files were read back."""
    total = added(each.sum for each in files)
    return Manifest(
        batch=plan.batch,
        plan=plan,
        rows=total.rows,
        bytes=sum(each.bytes for each in files),
        checksum=total.text,
        first_seq=min((each.first_seq for each in files), default=0),
        last_seq=max((each.last_seq for each in files), default=0),
        files=tuple(files),
        replaces=plan.replaces,
    )


def _part(found: Found, row: Any) -> Part:
    return Part(
        path=found.path,
        rows=row["rows"],
        bytes=found.size,
        checksum=sum_of(row).text,
        first_seq=row["first_seq"],
        last_seq=row["last_seq"],
    )


def _queue_in(lake: Lake, path: str) -> str:
    """The name of the queue whose messages a file holds."""
    with lake.open(path) as file:
        first = next(pq.ParquetFile(file).iter_batches(batch_size=1, columns=["queue"]))
    return str(first["queue"][0].as_py())
