"""How batch reads go about it: ranges, batches bounded by bytes, drivers and what is done without them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from sqlalchemy.engine import make_url

import rowmq
from rowmq.core.errors import StoreUnavailable
from rowmq.pipeline.options import ReadOptions, given
from rowmq.pipeline.reading import look
from rowmq.pipeline.reading import postgres as reading_postgres
from rowmq.pipeline.reading import scan as reading_scan
from rowmq.pipeline.reading import sqlite as reading_sqlite
from rowmq.pipeline.reading import tables as reading_tables
from rowmq.pipeline.reading.look import Look, Unreadable
from rowmq.pipeline.reading.mysql import address
from rowmq.pipeline.reading.postgres import conninfo
from rowmq.pipeline.reading.reader import BatchReader, ranges
from rowmq.pipeline.reading.sqlite import read_sqlite
from rowmq.pipeline.schema import READ
from rowmq.stores.sql.cursor import Cursor, Row

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def batches(url: str, **options: str) -> list[pa.RecordBatch]:
    reader = BatchReader({"url": url, **options}, READ)
    return [batch for each in reader.partitions() for batch in reader.read(each)]


def payloads(found: list[pa.RecordBatch]) -> list[str]:
    return [value for batch in found for value in batch["payload"].to_pylist()]


@pytest.mark.parametrize(
    ("first", "last", "count", "expected"),
    [
        (1, 0, None, []),
        (0, -1, 3, []),
        (5, 5, 4, [(5, 5)]),
        (1, 10, 3, [(1, 3), (4, 6), (7, 10)]),
        (1, 999, None, [(1, 999)]),
    ],
)
def test_ranges_cover_every_seq_once(
    first: int, last: int, count: int | None, expected: list[tuple[int, int]]
) -> None:
    assert ranges(first, last, count) == expected


def test_a_large_store_has_no_range_that_is_too_much_for_a_task() -> None:
    found = ranges(1, 10_000_000)
    assert max(last - first + 1 for first, last in found) <= 250_000
    assert [found[0][0], found[-1][1]] == [1, 10_000_000]


def test_large_payloads_come_in_small_batches(any_store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (look, reading_sqlite, reading_postgres, reading_scan):
        monkeypatch.setattr(module, "FULL", 50_000, raising=False)
    monkeypatch.setattr(reading_sqlite, "FIRST", 2)
    monkeypatch.setattr(reading_scan, "STEP", 2)
    texts = [str(n % 10) * 20_000 for n in range(60)]
    with rowmq.connect(any_store_url) as mq:
        mq.queue("jobs").push_many(texts)
    found = batches(any_store_url, partitions="1")
    assert payloads(found) == [f'"{text}"' for text in texts]
    assert max(batch.nbytes for batch in found) < 150_000


def test_without_its_driver_a_store_is_read_through_the_protocol(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_kind: str) -> None:
        raise Unreadable("not installed")

    with rowmq.connect(store_url) as mq:
        mq.queue("jobs").push_many(range(3))
    monkeypatch.setattr(reading_tables, "_driver", missing)
    assert payloads(batches(store_url)) == ["0", "1", "2"]


def test_a_connection_that_adbc_cannot_make_is_left_to_the_protocol(postgres_url: str) -> None:
    rowmq.connect(postgres_url).close()
    nowhere = make_url(postgres_url).set(port=1).render_as_string(hide_password=False)
    options = given(ReadOptions, {"url": nowhere})
    assert reading_tables.read_tables(options, READ, 1, 10, datetime.now(UTC)) is None


def test_a_statement_that_fails_says_that_the_read_broke_off(postgres_url: str) -> None:
    wrong = Look(
        make_url(postgres_url), "SELECT 1 / (n - 1) AS seq FROM generate_series(1, 1) n", ["seq"], 1, 1
    )
    with pytest.raises(StoreUnavailable, match=r"PostgreSQL broke off while being read: .*division by zero"):
        list(reading_postgres.read_postgres(wrong))


def test_a_message_that_is_finished_during_a_scan_is_seen_once_as_it_was(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with rowmq.connect(postgres_url) as mq:
        mq.queue("jobs").push_many(range(5))
        claimed = mq.queue("jobs").claim(limit=5)
        select = Cursor.select

        def interrupted(cursor: Cursor, statement: str, *given: Any, **parameters: Any) -> list[Row]:
            found = select(cursor, statement, *given, **parameters)
            while statement == "find_pending" and claimed:
                claimed.pop().ack()
            return found

        monkeypatch.setattr(Cursor, "select", interrupted)
        options = given(ReadOptions, {"url": postgres_url})
        found = list(reading_scan.read_messages(mq.store, options, READ, 1, 5, mq.store.now()))
    assert [row["state"] for batch in found for row in batch.to_pylist()] == ["leased"] * 5


def test_sqlite_is_read_without_writing_or_making_a_file(tmp_path: Path) -> None:
    look_at = Look(make_url(f"sqlite:///{tmp_path}/missing.db"), "SELECT 1 AS seq", ["seq"], 1, 1)
    with pytest.raises(
        StoreUnavailable, match=r"missing\.db cannot be opened on this machine .* local master"
    ):
        list(read_sqlite(look_at))
    assert list(tmp_path.iterdir()) == []


def test_a_url_is_told_to_adbc_in_libpqs_words() -> None:
    url = make_url("postgresql+psycopg://ada:p%40ss'@db:5433/jobs?sslmode=require&durability=off&prepare=off")
    said = conninfo(url)
    for part in ("host=db", "port=5433", "user=ada", r"password=p@ss\'", "dbname=jobs", "sslmode=require"):
        assert part in said
    assert "durability" not in said
    assert "enable_" not in said
    with pytest.raises(Unreadable):
        conninfo(make_url("postgresql:///jobs?host=a&host=b"))


def test_a_url_with_tls_is_not_told_to_connectorx() -> None:
    assert address(make_url("mariadb://ada:p%40ss@db/jobs?charset=utf8mb4")) == "mysql://ada:p%40ss@db/jobs"
    with pytest.raises(Unreadable):
        address(make_url("mysql://ada@db/jobs?ssl_ca=/ca.pem"))


def test_payloads_are_parsed_with_a_schema_given_or_inferred(spark: SparkSession, store_url: str) -> None:
    with rowmq.connect(store_url) as mq:
        mq.queue("jobs").push_many([{"user": "ada", "n": 1}, {"user": None, "n": 2.5}, "text", b"\x00"])
        mq.queue("plain").push_many([{"user": "ada", "n": 1}, {"n": 2.5, "tags": ["a"]}])
    reader = spark.read.format("rowmq").option("url", store_url)
    frame = reader.option("payloadSchema", "user string, n double").option("queue", "jobs").load()
    given_one = [tuple(row) for row in frame.orderBy("seq").select("payload.user", "payload.n").collect()]
    assert given_one == [("ada", 1.0), (None, 2.5), (None, None), (None, None)]
    frame = reader.option("payloadSchema", "infer").option("queue", "plain").load()
    assert (
        frame.schema["payload"].dataType.simpleString() == "struct<user:string,n:double,tags:array<string>>"
    )
    inferred = [tuple(row) for row in frame.orderBy("seq").select("payload.n", "payload.tags").collect()]
    assert inferred == [(1.0, None), (2.5, ["a"])]


def test_a_subscription_is_read_by_its_topic(sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("other").push("no")
        mq.topic("orders").subscribe("billing")
        mq.topic("orders").publish("yes")
    assert payloads(batches(sqlite_url, topic="orders", subscription="billing")) == ['"yes"']


def test_a_url_in_the_environment_does_not_travel(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("jobs").push_many(range(3))
    monkeypatch.setenv("ROWMQ_TEST_URL", sqlite_url)
    found = batches(sqlite_url)
    reader = BatchReader({"urlEnv": "ROWMQ_TEST_URL"}, READ)
    [part] = reader.partitions()
    assert payloads(list(reader.read(part))) == payloads(found)
    assert sqlite_url not in repr((part, vars(reader)))
