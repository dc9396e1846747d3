"""The streaming source: as Spark runs it, and its parts as plain objects on every store."""

from __future__ import annotations

import pickle
import threading
import time
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import StructType

import rowmq
from rowmq.core.errors import InvalidSetting
from rowmq.pipeline import handled
from rowmq.pipeline.reading.columns import columns_of
from rowmq.pipeline.schema import READ
from rowmq.pipeline.stream.reader import StreamReader
from tests.timing import timed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from rowmq.runtime.claimed import ClaimedMessage


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def reader_of(url: str, **options: str) -> StreamReader:
    said = {"url": url, "queue": "jobs", "poll": "0.001", **options}
    schema = columns_of(said)
    assert isinstance(schema, StructType)
    return StreamReader(said, schema)


def rows_of(reader: StreamReader, start: Any, end: Any) -> list[dict[str, Any]]:
    """What executors read, each part by a reader that was sent to them."""
    sent: StreamReader = pickle.loads(pickle.dumps(reader))  # noqa: S301
    parts = reader.partitions(start, end)
    return [row for part in parts for batch in sent.read(part) for row in batch.to_pylist()]


def test_a_reader_claims_gives_and_acks_on_every_store(any_store_url: str) -> None:
    with rowmq.connect(any_store_url) as mq:
        jobs = mq.queue("jobs")
        jobs.push_many(range(5))
        reader = reader_of(any_store_url)
        start = reader.initialOffset()
        middle = reader.latestOffset(start, ReadMaxRows(3))
        first = rows_of(reader, start, middle)
        end = reader.latestOffset(middle, ReadMaxRows(3))
        assert (jobs.stats().done, jobs.stats().leased) == (3, 2)
        second = rows_of(reader, middle, end)
        assert reader.latestOffset(end, ReadMaxRows(3)) == end
        assert jobs.stats().done == 5
    assert [row["payload"] for row in first + second] == ["0", "1", "2", "3", "4"]


def test_a_message_has_all_its_columns(sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        jobs = mq.queue("jobs", max_attempts=4)
        id = jobs.push({"é": 1}, metadata={"k": "v"}, priority=3, group="g")
        record = mq.get(id)
        assert record is not None
        reader = reader_of(sqlite_url)
        start = reader.initialOffset()
        (row,) = rows_of(reader, start, reader.latestOffset(start, ReadMaxRows(10)))
    assert list(row) == READ.fieldNames()
    said = {name: row[name] for name in ("id", "seq", "payload", "binary", "priority", "group", "queue")}
    assert said == {
        "id": str(id), "seq": record.seq, "payload": '{"é":1}', "binary": False, "priority": 3, "group": "g",
        "queue": "jobs",
    }  # fmt: skip
    assert (row["state"], row["attempts"], row["max_attempts"], row["receives"]) == ("leased", 1, 4, 1)
    assert dict(row["metadata"]) == {"k": "v"}
    assert row["created_at"] == record.created_at
    assert row["visible_at"] - row["created_at"] > timedelta(seconds=29)
    assert row["finished_at"] is None


def test_bytes_come_as_base64_or_as_they_are(sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("jobs").push_many([b"\x00\xff", b"\x01"])
        text, raw = reader_of(sqlite_url), reader_of(sqlite_url, payload="binary")
        for reader, want in ((text, "AP8="), (raw, b"\x01")):
            start = reader.initialOffset()
            (row,) = rows_of(reader, start, reader.latestOffset(start, ReadMaxRows(1)))
            assert (row["payload"], row["binary"]) == (want, True)


def test_what_a_reader_gives_fits_the_schema_asked_for(sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("jobs").push({"a": 1})
        schema = StructType().add("seq", "long").add("payload", StructType().add("a", "integer"))
        reader = StreamReader({"url": sqlite_url, "queue": "jobs"}, schema)
        start = reader.initialOffset()
        (part,) = reader.partitions(start, reader.latestOffset(start, ReadMaxRows(1)))
        (batch,) = reader.read(part)
    assert batch.schema.field("payload").type == pa.struct([("a", pa.int32())])
    assert batch.to_pylist()[0]["payload"] == {"a": 1}


def test_a_batch_of_nothing_has_no_parts_and_no_rows(sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("jobs")
        reader = reader_of(sqlite_url)
        start = reader.initialOffset()
        assert list(reader.partitions(start, start)) == []
        assert list(reader.read(None)) == []


def test_a_trigger_that_runs_once_is_refused(sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("jobs")
        reader = reader_of(sqlite_url)
        with pytest.raises(InvalidSetting, match="availableNow"):
            reader.latestOffset(reader.initialOffset(), ReadAllAvailable())


@pytest.mark.parametrize("option", ["maxRowsPerTrigger", "lease", "perGroup", "maxRuns"])
def test_an_option_that_is_no_number_is_refused(option: str) -> None:
    with pytest.raises(InvalidSetting, match=f"option {option}: say"):
        reader_of("sqlite:///x.db", **{option: "many"})


def messages_of(spark: SparkSession, url: str, **options: str) -> DataFrame:
    return spark.readStream.format("rowmq").options(url=url, queue="jobs", **options).load()


def started(
    frame: DataFrame, folder: Path, sink: Callable[[DataFrame, int], None], *, now: bool = True
) -> StreamingQuery:
    writer = frame.writeStream.foreachBatch(sink).option("checkpointLocation", str(folder))
    return (writer.trigger(availableNow=True) if now else writer).start()


def test_100_of_700_messages_always_fail_and_the_others_are_done_in_one_run(
    spark: SparkSession, store_url: str, tmp_path: Path
) -> None:
    def handle(message: ClaimedMessage) -> int:
        if message.payload % 7 == 0:
            raise ValueError("always")
        return int(message.payload)

    results: list[int] = []
    with rowmq.connect(store_url) as mq:
        jobs = mq.queue("jobs", max_attempts=2, backoff={"first": 0, "cap": 0})
        jobs.push_many(range(700))
        frame = handled(messages_of(spark, store_url, maxRowsPerTrigger="500"), handle, url=store_url)
        query = started(
            frame, tmp_path, lambda batch, _: results.extend(int(row.result) for row in batch.collect())
        )
        query.awaitTermination()
        stats = jobs.stats()
        (failures,) = {len(mq.failures(each.id)) for each in jobs.find(state="dead")}
    assert query.exception() is None
    assert (stats.done, stats.dead, stats.leased, stats.ready, stats.scheduled) == (600, 100, 0, 0, 0)
    assert failures == 2
    assert sorted(results) == [number for number in range(700) if number % 7]


def test_two_queries_share_a_queue_and_while_idle_leave_nothing_unacked(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    seen: list[list[int]] = [[], []]

    def sink(place: int) -> Callable[[DataFrame, int], None]:
        return lambda batch, _: seen[place].extend(row.seq for row in batch.select("seq").collect())

    with rowmq.connect(sqlite_url) as mq:
        jobs = mq.queue("jobs")
        queries = [
            started(
                messages_of(spark, sqlite_url, maxRowsPerTrigger="50", poll="0.2"),
                tmp_path / str(place),
                sink(place),
                now=False,
            )
            for place in range(2)
        ]
        try:
            jobs.push_many(range(400))
            until(lambda: jobs.stats().done == 400)
            assert [query.isActive for query in queries] == [True, True]
            assert jobs.stats().leased == 0
        finally:
            for query in queries:
                query.stop()
    assert Counter(seen[0] + seen[1]).total() == len(set(seen[0] + seen[1])) == 400
    assert all(seen)


@timed
def test_a_batch_longer_than_its_lease_is_not_given_to_others(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    begun = threading.Event()
    taken: list[object] = []

    def sink(batch: DataFrame, _number: int) -> None:
        batch.count()
        begun.set()
        end = time.monotonic() + 3
        while time.monotonic() < end:
            taken.extend(jobs.claim())
            time.sleep(0.1)

    with rowmq.connect(sqlite_url) as mq:
        jobs = mq.queue("jobs")
        id = jobs.push("long")
        query = started(messages_of(spark, sqlite_url, lease="1"), tmp_path, sink)
        query.awaitTermination()
        record = mq.get(id)
    assert record is not None
    assert begun.is_set()
    assert taken == []
    assert (record.state, record.attempts) == ("done", 1)


def test_a_query_on_a_queue_that_does_not_exist_says_so(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    rowmq.connect(sqlite_url).close()
    query = started(messages_of(spark, sqlite_url), tmp_path, lambda batch, _: None)
    with pytest.raises(Exception, match="there is no queue 'jobs'; create it first"):
        query.awaitTermination()


def test_a_handler_is_refused_what_is_no_stream_of_messages(spark: SparkSession) -> None:
    with pytest.raises(InvalidSetting, match="receipt are missing"):
        handled(spark.range(1), print, url="sqlite:///x.db")
