"""A job for a cluster, in a process of its own: JOB, MASTER, URL and FOLDER are its arguments."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import rowmq
from rowmq.pipeline import handled, register, session
from rowmq.pipeline.handlers.work import work
from rowmq.pipeline.lake.archive import archive

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rowmq.runtime.claimed import ClaimedMessage
    from rowmq.runtime.client import Client

CONF = {
    "spark_driver_host": "127.0.0.1",
    "spark_driver_bindAddress": "127.0.0.1",
    "spark_executor_memory": "512m",
    "spark_ui_enabled": "false",
}


def slowly(message: ClaimedMessage) -> int:
    """Take long enough for a worker to be killed meanwhile."""
    time.sleep(0.01)
    return int(message.payload)


def load(url: str) -> Client:
    mq = rowmq.connect(url)
    mq.handler("jobs")(slowly)
    return mq


def stream(spark: SparkSession, url: str, folder: Path) -> None:
    def sink(batch: DataFrame, _number: int) -> None:
        seqs = [row.seq for row in batch.collect()]
        with (folder / "out.txt").open("a") as out:
            out.writelines(f"{seq}\n" for seq in seqs)

    options = {"url": url, "queue": "jobs", "maxRowsPerTrigger": "500", "partitions": "4"}
    messages = spark.readStream.format("rowmq").options(**options).load()
    written = handled(messages, slowly, url=url).writeStream.foreachBatch(sink)
    query = (
        written.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    )
    query.awaitTermination()


def main(job: str, master: str, url: str, folder: str) -> None:
    spark = session(master, name=job, **CONF)
    register(spark)
    if job == "stream":
        stream(spark, url, Path(folder))
    elif job == "archive":
        archive(spark, url, str(Path(folder) / "lake"))
    else:
        with load(url) as mq:
            work(spark, mq, partial(load, url), mode=job, tasks=2, stop_when_empty=True)  # type: ignore[arg-type]
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
