"""A stream and micro-batches over Spark Connect, in a process of their own; arguments: URL and FOLDER."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

import rowmq
from rowmq.pipeline import handled, register
from rowmq.pipeline.handlers.work import work

if TYPE_CHECKING:
    from rowmq.runtime.claimed import ClaimedMessage
    from rowmq.runtime.client import Client


def main(url: str, folder: str) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark: Any = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
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
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
