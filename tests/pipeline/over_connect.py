"""Everything that moves messages in bulk, over Spark Connect, in a process of its own: URL and FOLDER."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

import rowmq
from rowmq.core.outcome import State
from rowmq.pipeline import handled, register
from rowmq.pipeline.auditing.audit import audit
from rowmq.pipeline.auditing.scope import Scope
from rowmq.pipeline.handlers.work import work
from rowmq.pipeline.lake.archive import archive
from rowmq.pipeline.lake.replay import Again, replay
from rowmq.pipeline.writing.export import export, messages_of
from rowmq.pipeline.writing.load import load, rows_of, was_loaded

if TYPE_CHECKING:
    from rowmq.runtime.claimed import ClaimedMessage
    from rowmq.runtime.client import Client


def main(url: str, folder: str) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
    spark: Any = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    found = spark.read.format("rowmq").options(url=url, queue="jobs").load()
    assert found.count() == 100  # Spark has found the format by itself
    register(spark)

    def handle(message: ClaimedMessage) -> int:
        if message.payload % 10 == 0:
            raise rowmq.Kill("no")
        return int(message.payload)

    def load() -> Client:
        mq = rowmq.connect(url)
        mq.handler("jobs")(handle)
        return mq

    messages = spark.readStream.format("rowmq").options(url=url, queue="jobs").load()
    written = handled(messages, handle, url=url).writeStream.format("parquet").trigger(availableNow=True)
    places = {"path": str(Path(folder) / "out"), "checkpointLocation": str(Path(folder) / "checkpoint")}
    written.options(**places).start().awaitTermination()
    assert spark.read.parquet(places["path"]).count() == 90
    with load() as mq:
        mq.push_many("jobs", range(100))
        for mode in ("microbatch", "workers"):
            counts = work(spark, mq, load, mode=mode, tasks=2, stop_when_empty=True)
            assert sum(counts.values()) == (100 if mode == "microbatch" else 0), counts
        mq.queue("copies")
        mq.queue("more")
    move(spark, url, str(Path(folder) / "lake"))
    spark.stop()


def move(spark: Any, url: str, lake: str) -> None:
    """Write, archive, replay, audit, export and load."""
    rows = spark.range(50).selectExpr("id AS payload")
    rows.write.format("rowmq").options(url=url, queue="copies", txnId="once").mode("append").save()
    moved = archive(spark, url, lake)
    assert (moved.rows, moved.pruned) == (200, 200)
    again = Again(queue="jobs", to="copies", state=State.DEAD)
    assert [replay(spark, url, lake, again).pushed for _ in range(2)] == [20, 0]
    named: list[Any] = []
    audited = audit(spark, url, lake, found=named.append)
    assert (audited.ok, audited.archived, audited.owed, named) == (True, 200, 70, [])
    part = audit(spark, url, lake, of=Scope(queue="jobs"))
    assert (part.ok, part.archived, part.owed) == (True, 200, 0)
    files = str(Path(lake).parent / "copies.parquet")
    assert export(messages_of(spark, url, queue="copies"), files) == 70
    assert not was_loaded(url, "copies again")
    assert load(rows_of(spark, files, new_ids=True), url, queue="more", once="copies again") == 70
    assert was_loaded(url, "copies again")


if __name__ == "__main__":
    main(*sys.argv[1:])
