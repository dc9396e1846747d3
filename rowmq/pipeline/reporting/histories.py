"""The messages and failures of a store and an archive, read as one history."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import StructType

from rowmq.pipeline.lake.folder import Lake
from rowmq.pipeline.lake.frames import archived as rows_of
from rowmq.pipeline.lake.manifest import Batches, Manifest
from rowmq.pipeline.reporting.events import NEEDED
from rowmq.pipeline.schema import FAILURES, MESSAGES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

History = tuple["DataFrame", "DataFrame"]
WHAT_FAILED = ("id", "attempt", "queue", "consumer", "started_at", "ended_at", "error")
"""The columns of failures that the figures are made of."""


def archived(spark: "SparkSession", archive: str, queue: str | None, since: datetime | None) -> History:
    """What an archive has of messages finished since then, and of their failures. Raises InvalidInput."""
    lake = Lake(archive)
    lake.check_there()
    manifests = [_parts_since(each, since) for each in Batches(lake).manifests()]
    rows = rows_of(spark, lake, manifests)
    failures = rows.select("id", F.explode("failures").alias("failure")).select("id", "failure.*")
    messages = rows if queue is None else rows.where(F.col("queue") == queue)
    return messages.select(*NEEDED), failures.select(*WHAT_FAILED)


def payloads(spark: "SparkSession", archive: str, ids: Sequence[str], length: int) -> dict[str, str]:
    """The beginnings of payloads in an archive, by id."""
    lake = Lake(archive)
    rows = rows_of(spark, lake, Batches(lake).manifests()).where(F.col("id").isin(list(ids)))
    start = F.when(F.col("binary"), F.concat(F.length(F.unbase64("payload")), F.lit(" bytes")))
    found = rows.select("id", start.otherwise(F.substring("payload", 1, length)).alias("start")).collect()
    return {row["id"]: row["start"] for row in found}


def stored(spark: "SparkSession", url: str, queue: str | None) -> History:
    """What a store has of messages, and of failures in any queue: a message may have moved since."""
    read = spark.read.format("rowmq").option("url", url).schema(_only(MESSAGES, NEEDED))
    messages = (read if queue is None else read.option("queue", queue)).load()
    failed = spark.read.format("rowmq").option("url", url).option("table", "failures")
    return messages, failed.schema(_only(FAILURES, WHAT_FAILED)).load()


def joined(parts: Sequence[History], since: datetime | None, until: datetime | None) -> History:
    """Several histories as one, in which the first that has a message says what it is."""
    ranked = [messages.withColumn("rank", F.lit(rank)) for rank, (messages, _) in enumerate(parts)]
    messages = reduce(lambda one, other: one.unionByName(other), ranked)
    if len(parts) > 1:
        messages = _each_once(messages)
    failures = reduce(lambda one, other: one.unionByName(other), [failed for _, failed in parts])
    known = ["id", "attempt", "ended_at"]
    return _alive(messages.drop("rank"), since, until), failures.dropDuplicates(known)


def _each_once(messages: "DataFrame") -> "DataFrame":
    """One row of each id: the store's, or else the latest of the archive."""
    kept = [name for name in messages.columns if name != "id"]
    first = F.min_by(F.struct(*kept), F.struct("rank", -F.unix_micros("finished_at")))
    return messages.groupBy("id").agg(first.alias("kept")).select("id", "kept.*")


def _alive(messages: "DataFrame", since: datetime | None, until: datetime | None) -> "DataFrame":
    """Only messages that were unfinished at some time of the period."""
    if until is not None:
        messages = messages.where(F.col("created_at") < F.lit(until))
    if since is not None:
        messages = messages.where(F.col("finished_at").isNull() | (F.col("finished_at") >= F.lit(since)))
    return messages


def _only(schema: StructType, names: Sequence[str]) -> StructType:
    return StructType([schema[name] for name in names])


def _parts_since(manifest: Manifest, since: datetime | None) -> Manifest:
    """The manifest without the files of days before a moment: nothing in them was finished since."""
    kept = [
        each for each in manifest.files if since is None or each.day >= f"{since.astimezone(UTC):%Y-%m-%d}"
    ]
    return replace(manifest, files=kept)
