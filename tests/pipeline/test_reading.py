"""Batch reads: what is there, in the columns asked for, on every store."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import BinaryType, StructType

import rowmq
from rowmq.pipeline.options import ReadOptions, given
from rowmq.pipeline.reading import reader as reading
from rowmq.pipeline.reading import tables as reading_tables
from rowmq.pipeline.reading.columns import columns_of
from rowmq.pipeline.reading.look import Look
from rowmq.pipeline.reading.reader import BatchReader
from rowmq.pipeline.reading.tables import _driver, read_tables
from rowmq.pipeline.schema import FAILURES, LEDGER, MESSAGES, READ, arrow_schema, read_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

WEIRD = "jöbs' ; -- \"%s {now} \\"
"""A queue's name may be anything, and none of it may be taken for SQL."""


def fill(url: str) -> None:
    """Messages in every state, with everything that a message can have."""
    with rowmq.connect(url) as mq:
        jobs, odd = mq.queue("jobs", max_attempts=2), mq.queue(WEIRD)
        mq.topic("nobody").publish("kept for the first to subscribe")
        jobs.push_many([{"n": n, "text": "ü\u2028"} for n in range(6)])
        jobs.push(b"\x00\xff", metadata={"kind": "raw", "ключ": "значение"}, priority=3)
        jobs.push(b"", key="once", deadline=datetime(2100, 1, 1, tzinfo=UTC))
        jobs.push("later", delay=3600, metadata={"kind": "late"})
        odd.push_many([1.5, None, True], group="g")
        claimed = jobs.claim(limit=5, lease=600)
        claimed[0].ack(result={"sum": 3})
        claimed[1].kill("broken\x01")
        claimed[2].retry(after=0, error="first")
        odd.claim(limit=1)[0].ack()


def table(url: str, schema: StructType = READ, **options: str) -> pa.Table:
    """A read, range by range, as a table."""
    reader = BatchReader({"url": url, **options}, schema)
    batches = [batch for each in reader.partitions() for batch in reader.read(each)]
    return pa.Table.from_batches(batches, arrow_schema(schema)).sort_by("seq")


OPTIONS: list[dict[str, str]] = [
    {},
    {"queue": WEIRD},
    {"state": "done"},
    {"state": "dead,leased"},
    {"state": "ready"},
    {"state": "scheduled,ready,leased"},
    {"queue": "jobs", "state": "done,dead", "partitions": "5"},
    {"firstSeq": "3", "lastSeq": "7"},
    {"where": '{"kind": ["raw", "late"]}'},
    {"since": "2100-01-01T00:00:00+00:00"},
    {"until": "2100-01-01T00:00:00+00:00", "maxAge": "3600"},
]


FAILURE_OPTIONS: list[dict[str, str]] = [{}, {"state": "dead"}, {"queue": "jobs"}]


def test_tables_are_read_as_the_protocol_tells_them(
    sql_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(sql_store_url)
    fast = [table(sql_store_url, **each).to_pylist() for each in OPTIONS]
    monkeypatch.setattr(reading, "read_tables", lambda *_: None)
    for options, found in zip(OPTIONS, fast, strict=True):
        assert (options, found) == (options, table(sql_store_url, **options).to_pylist())
    assert [len(found) for found in fast] == [12, 3, 2, 3, 6, 9, 2, 5, 2, 0, 12]


def test_failures_are_read_as_the_protocol_tells_them(
    sql_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(sql_store_url)
    fast = [table(sql_store_url, FAILURES, table="failures", **each).to_pylist() for each in FAILURE_OPTIONS]
    monkeypatch.setattr(reading, "read_tables", lambda *_: None)
    for options, found in zip(FAILURE_OPTIONS, fast, strict=True):
        slow = table(sql_store_url, FAILURES, table="failures", **options).to_pylist()
        assert (options, found) == (options, slow)
    assert [len(found) for found in fast] == [2, 1, 2]


def test_every_sql_store_is_read_from_its_tables(sql_store_url: str) -> None:
    fill(sql_store_url)
    batches = read_tables(given(ReadOptions, {"url": sql_store_url}), READ, 1, 100, datetime.now(UTC))
    assert batches is not None
    assert sum(batch.num_rows for batch in batches) == 12


def test_every_state_of_every_store_is_read_by_spark(spark: SparkSession, any_store_url: str) -> None:
    fill(any_store_url)
    frame = spark.read.format("rowmq").option("url", any_store_url).load()
    found = {row["seq"]: row for row in frame.collect()}
    with rowmq.connect(any_store_url) as mq:
        records = mq.store.history.scan(1, 2**31)
    assert {seq: row["state"] for seq, row in found.items()} == {each.seq: each.state for each in records}
    for each in records:
        row = found[each.seq]
        assert (row["id"], row["queue"], row["metadata"]) == (str(each.id), each.queue, each.metadata)
        assert row["created_at"].replace(tzinfo=UTC) == each.created_at
        body = each.body or b""
        assert row["payload"] == (base64.b64encode(body).decode() if each.binary else body.decode())


def test_a_payload_can_be_read_as_its_bytes(sql_store_url: str) -> None:
    fill(sql_store_url)
    found = table(sql_store_url, columns_of({"payload": "binary"}), queue="jobs")
    assert isinstance(read_columns(BinaryType())["payload"].dataType, BinaryType)
    assert b"\x00\xff" in found["payload"].to_pylist()
    assert json.loads(found["payload"][0].as_py())["n"] == 0


def test_only_the_columns_asked_for_are_read(sql_store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(sql_store_url)
    looks: list[Look] = []

    def seen(kind: str) -> Callable[[Look], Iterator[pa.RecordBatch]]:
        def read(look: Look) -> Iterator[pa.RecordBatch]:
            looks.append(look)
            return _driver(kind)(look)

        return read

    monkeypatch.setattr(reading_tables, "_driver", seen)
    found = table(sql_store_url, StructType([MESSAGES["priority"], MESSAGES["seq"]]))
    assert found.column_names == ["priority", "seq"]
    assert found.num_rows == 12
    assert [look.columns for look in looks] == [["priority", "seq"]]
    assert "body" not in looks[0].sql


def test_the_ledger_is_read(spark: SparkSession, any_store_url: str) -> None:
    with rowmq.connect(any_store_url) as mq:
        mq.queue("jobs").push_many(range(3))
        mq.queue("jobs").purge()
    frame = spark.read.format("rowmq").options(url=any_store_url, table="ledger").load()
    assert frame.schema == LEDGER
    [row] = frame.collect()
    assert (row["queue"], row["action"], row["count"]) == ("jobs", "purge", 3)


def test_an_empty_store_has_the_columns_and_no_rows(spark: SparkSession, store_url: str) -> None:
    frame = spark.read.format("rowmq").option("url", store_url).load()
    assert frame.schema == READ
    assert frame.collect() == []


def test_spark_makes_something_of_no_partitions_and_it_is_nothing(sqlite_url: str) -> None:
    rowmq.connect(sqlite_url).close()
    reader = BatchReader({"url": sqlite_url}, READ)
    assert list(reader.partitions()) == []
    assert list(reader.read(InputPartition(None))) == []
