"""What runs on Spark runs with MySQL and Redis too, from a stream to a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import rowmq
from rowmq.core.outcome import State
from rowmq.pipeline import handled
from rowmq.pipeline.handlers.work import work
from rowmq.pipeline.lake.archive import archive
from rowmq.pipeline.lake.replay import Again, replay
from rowmq.pipeline.reporting.report import figures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rowmq.runtime.claimed import ClaimedMessage
    from rowmq.runtime.client import Client

OTHERS = pytest.mark.parametrize("any_store_url", ["mysql", "redis"], indirect=True)
"""SQLite and PostgreSQL have tests of their own for each of these."""


def handle(message: ClaimedMessage) -> int:
    """Refuse each fifth message, and fail with the next one once."""
    if message.payload % 5 == 0:
        raise rowmq.Kill("no")
    if message.payload % 5 == 1 and message.attempt == 1:
        raise rowmq.Retry(after=0)
    return int(message.payload)


def loading(url: str) -> Callable[[], Client]:
    """What makes a client with the handler, here and on executors."""

    def load() -> Client:
        mq = rowmq.connect(url)
        mq.handler("jobs")(handle)
        return mq

    return load


@OTHERS
def test_a_stream_is_handled_and_acked(spark: SparkSession, any_store_url: str, tmp_path: Path) -> None:
    with rowmq.connect(any_store_url) as mq:
        jobs = mq.queue("jobs", max_attempts=2)
        jobs.push_many(range(10))
        messages = spark.readStream.format("rowmq").options(url=any_store_url, queue="jobs").load()
        written = handled(messages, handle, url=any_store_url).writeStream.format("parquet")
        places = {"path": str(tmp_path / "out"), "checkpointLocation": str(tmp_path / "checkpoint")}
        written.options(**places).trigger(availableNow=True).start().awaitTermination()
        stats = jobs.stats()
    results = sorted(int(row.result) for row in spark.read.parquet(places["path"]).collect())
    assert results == [1, 2, 3, 4, 6, 7, 8, 9]
    assert (stats.done, stats.dead, stats.ready, stats.leased) == (8, 2, 0, 0)


@OTHERS
@pytest.mark.parametrize("mode", ["workers", "microbatch"])
def test_work_is_done_in_both_modes(spark: SparkSession, any_store_url: str, mode: Any) -> None:
    load = loading(any_store_url)
    with load() as mq:
        jobs = mq.queue("jobs", max_attempts=2)
        jobs.push_many(range(10))
        counts = work(spark, mq, load, mode=mode, tasks=1, stop_when_empty=True)
        stats = jobs.stats()
    assert counts == {"done": 8, "dead": 2, "retried": 2}
    assert (stats.done, stats.dead, stats.ready, stats.leased) == (8, 2, 0, 0)


@OTHERS
@pytest.mark.soak
def test_what_was_archived_is_replayed_and_reported_on(
    spark: SparkSession, any_store_url: str, tmp_path: Path
) -> None:
    lake = str(tmp_path / "lake")
    with rowmq.connect(any_store_url) as mq:
        jobs, again = mq.queue("jobs"), mq.queue("again")
        ids = jobs.push_many(range(5))
        for message in jobs.claim(limit=5):
            message.kill("no") if message.payload == 0 else message.ack()
        assert archive(spark, any_store_url, lake).pruned == 5
        asked = Again(queue="jobs", to="again", state=State.DONE)
        assert [replay(spark, any_store_url, lake, asked).pushed for _ in range(2)] == [4, 0]
        replayed = {record.metadata["rowmq.replay_of"]: record.payload for record in mq.find("again")}
        assert replayed == {str(id): number for number, id in enumerate(ids) if number}
        again.claim()[0].ack()
        total = figures(spark, any_store_url, archive=lake).total
    assert (total["pushed"], total["done"], total["dead"]) == (9, 5, 1)
