"""A Spark driver that is killed in a write: ``python -m tests.pipeline.dying POINT HOW URL FOLDER``.

Whoever reaches the point kills the driver, its JVM and all of their Python processes, with SIGKILL.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowmq.pipeline.session import session
from rowmq.pipeline.source import RowMQSource
from rowmq.pipeline.writing.sink import BatchWriter, StreamWriter
from rowmq.stores.sql import stages
from tests.pipeline import doomed
from tests.pipeline.quick import QUICK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from rowmq.pipeline.writing.staging import Staged

POINTS = ("writing", "staged", "committing", "committed")
ROWS = 3_000
POINT = "ROWMQ_TEST_POINT"


def die(point: str) -> None:
    """Kill everybody, if this is the point for it."""
    if os.environ[POINT] == point:
        doomed.die()


def committing(commit: Callable[..., None], *arguments: Any) -> None:
    """Commit, dying on the way."""
    die("staged")
    move = stages._move

    def moved(*them: Any) -> None:
        move(*them)
        die("committing")

    vars(stages)["_move"] = moved
    commit(*arguments)
    die("committed")


class DyingBatchWriter(BatchWriter):
    """Dies after its first task has staged its rows, or in its commit."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        done = super().write(iterator)
        die("writing")
        return done

    def commit(self, messages: Any) -> None:
        committing(super().commit, messages)


class DyingStreamWriter(StreamWriter):
    """The same for a stream."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        done = super().write(iterator)
        die("writing")
        return done

    def commit(self, messages: Any, batchId: int) -> None:  # noqa: N803 - Spark's name
        committing(super().commit, messages, batchId)


class DyingSource(RowMQSource):
    """The source with writers that die."""

    @classmethod
    def name(cls) -> str:
        return "dying"

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        return DyingBatchWriter(self.options, schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: N802 - Spark's signature
        return DyingStreamWriter(self.options, schema, overwrite=overwrite)


def batch(spark: SparkSession, kind: str, url: str, _: Path) -> None:
    """Write ROWS numbers, once."""
    frame = spark.range(0, ROWS, 1, 2).withColumnRenamed("id", "payload")
    frame.write.format(kind).options(url=url, queue="q", txnId="once").mode("append").save()


def stream(spark: SparkSession, kind: str, url: str, folder: Path) -> None:
    """Write the same from files, in one batch or more."""
    source = spark.readStream.schema("payload long").json(str(folder / "in"))
    options = {"url": url, "queue": "q", "checkpointLocation": str(folder / "checkpoint")}
    query = source.writeStream.format(kind).options(**options).trigger(availableNow=True).start()
    query.awaitTermination()


WAYS = {"batch": batch, "stream": stream}


def main(point: str, how: str, url: str, folder: str) -> None:
    """Start Spark, write, and be killed."""
    os.environ[POINT] = point
    spark = session("local[2]", **QUICK)
    spark.dataSource.register(DyingSource)
    WAYS[how](spark, "dying", url, Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
