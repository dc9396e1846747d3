"""Batch reads: what is there, in the columns asked for, on every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rowmq

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read(spark: SparkSession, url: str, **options: str) -> DataFrame:
    return spark.read.format("rowmq").option("url", url).options(**options).load()


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.orderBy("seq").collect()]


def test_every_state_of_every_store_is_read_as_the_store_tells_it(
    spark: SparkSession, any_store_url: str
) -> None:
    with rowmq.connect(any_store_url) as mq:
        jobs = mq.queue("jobs", max_attempts=1)
        ids = jobs.push_many([{"n": n} for n in range(4)])
        jobs.push(b"\x00\xff", delay=3600, metadata={"kind": "raw"}, priority=3)
        first, second, third = jobs.claim(limit=3)
        first.ack()
        second.kill("broken")
        found = rows(read(spark, any_store_url))
        records = mq.store.history.scan(0, 2**31)
    assert [row["id"] for row in found] == [str(record.id) for record in records]
    assert [row["state"] for row in found] == [record.state.value for record in records]
    assert third.id in ids
