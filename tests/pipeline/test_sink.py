"""DataFrames and streams are pushed as a whole, once; what cannot be a message is refused in a sentence."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own way to write it
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)
from sqlalchemy import text

import rowmq
from rowmq.core.message import decode
from rowmq.core.outcome import State
from rowmq.pipeline.schema import arrow_schema
from rowmq.pipeline.writing import staging
from rowmq.pipeline.writing.sink import BatchWriter, StreamWriter
from rowmq.pipeline.writing.staging import Staged
from rowmq.stores.sql.store import SQLStore

AT = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
TYPES: dict[str, DataType] = {
    "string": StringType(),
    "binary": BinaryType(),
    "bigint": LongType(),
    "int": IntegerType(),
    "boolean": BooleanType(),
    "double": DoubleType(),
    "timestamp": TimestampType(),
    "decimal(20,2)": DecimalType(20, 2),
    "array<int>": ArrayType(IntegerType()),
    "map<string,int>": MapType(StringType(), IntegerType()),
    "map<string,string>": MapType(StringType(), StringType()),
    "struct<n:int,b:binary>": StructType().add("n", IntegerType()).add("b", BinaryType()),
    "struct<t:timestamp,d:date>": StructType().add("t", TimestampType()).add("d", DateType()),
}
"""Spark reads the names of types in the JVM, and these tests start none."""
PAYLOADS = [
    ("payload string", '{"a": [1, 2.50]}', False, b'{"a": [1, 2.50]}'),
    ("payload binary", b"\x00\xff", True, b"\x00\xff"),
    ("payload bigint", 7, False, b"7"),
    ("payload boolean", True, False, b"true"),
    ("payload array<int>", [1, None], False, b"[1,null]"),
    ("payload map<string,int>", [("k", 1)], False, b'{"k":1}'),
    ("payload struct<n:int,b:binary>", {"n": None, "b": b"\x01"}, False, b'{"n":null,"b":"AQ=="}'),
    ("payload struct<t:timestamp,d:date>", {"t": AT, "d": AT.date()}, False,
     b'{"t":"2030-01-02T03:04:05.678901Z","d":"2030-01-02"}'),
    ("payload decimal(20,2)", Decimal("12345678901234567.80"), False,
     b'"12345678901234567.80"'),
]  # fmt: skip


@pytest.fixture
def mq(store_url: str) -> Iterator[rowmq.Client]:
    with rowmq.connect(store_url) as client:
        client.queue("q")
        yield client


def batch(schema: str, *rows: tuple[Any, ...]) -> tuple[StructType, pa.RecordBatch]:
    """Rows as Spark gives them to a writer."""
    columns = [each.split(" ") for each in schema.split(", ")]
    kind = StructType([StructField(name, TYPES[type]) for name, type in columns])
    arrow = arrow_schema(kind)
    values = [pa.array([row[place] for row in rows], each.type) for place, each in enumerate(arrow)]
    return kind, pa.RecordBatch.from_arrays(values, schema=arrow)


def written(url: str, schema: str, *rows: tuple[Any, ...], queue: str | None = "q", **options: str) -> Staged:
    """Write rows as one task would, and commit them."""
    kind, data = batch(schema, *rows)
    given = {"url": url, **({"queue": queue} if queue else {}), **options}
    writer = BatchWriter(given, kind, overwrite=False)
    done = writer.write(iter([data]))
    writer.commit([done])
    return done


def bodies(mq: rowmq.Client, queue: str = "q") -> list[bytes]:
    return [record.body or b"" for record in mq.find(queue, limit=100_000)]


def numbers(mq: rowmq.Client, queue: str = "q") -> list[int]:
    return [decode(body, binary=False) for body in bodies(mq, queue)]


def left(mq: rowmq.Client) -> int:
    """How many chunks are staged."""
    assert isinstance(mq.store, SQLStore)
    with mq.store.database.engine.connect() as connection:
        return int(connection.execute(text("SELECT COUNT(*) FROM rowmq_stages")).scalar_one())


@pytest.mark.parametrize(("schema", "value", "binary", "body"), PAYLOADS)
def test_a_payload_of_any_type_becomes_json_or_stays_bytes(
    sqlite_url: str, schema: str, value: Any, body: bytes, *, binary: bool
) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("q")
        written(sqlite_url, schema, (value,))
        (record,) = mq.find("q")
    assert (record.body, record.binary) == (body, binary)


def test_every_column_is_heeded(mq: rowmq.Client, store_url: str) -> None:
    id, later = uuid4(), AT + timedelta(days=1)
    schema = (
        "payload string, id string, metadata map<string,string>, at timestamp, priority int,"
        " deadline timestamp, key string, group string"
    )
    written(
        store_url,
        schema,
        ("1", str(id), [("a", "b")], AT, 7, later, "k", "g"),
        ("2", None, None, None, None, None, "k", None),
        ("3", None, None, None, None, None, None, None),
    )
    full, plain = mq.find("q")
    assert (full.id, full.metadata, full.priority, full.group, full.key) == (id, {"a": "b"}, 7, "g", "k")
    assert (full.scheduled_for, full.deadline, full.state) == (AT, later, State.SCHEDULED)
    assert (plain.body, plain.metadata, plain.priority, plain.group) == (b"3", {}, 0, None)


def test_text_that_is_not_json_is_refused_or_kept_as_a_string(mq: rowmq.Client, store_url: str) -> None:
    with pytest.raises(rowmq.InvalidMessage, match=r"not JSON.*json.*false.*row 1 of its partition.*nothing"):
        written(store_url, "payload string", ("1",), ("hello",))
    assert bodies(mq) == []
    written(store_url, "payload string", ("1",), ("hello",), json="false")
    assert bodies(mq) == [b'"1"', b'"hello"']


def test_a_column_may_say_which_payloads_are_binary(mq: rowmq.Client, store_url: str) -> None:
    written(store_url, "payload string, binary boolean", ("AP8=", True), ("[1]", False), ("2", None))
    written(store_url, "payload binary, binary boolean", (b"\x00\xff", True), (b"[1]", False))
    assert [(record.body, record.binary) for record in mq.find("q")] == [
        (b"\x00\xff", True),
        (b"[1]", False),
        (b"2", False),
        (b"\x00\xff", True),
        (b"[1]", False),
    ]


@pytest.mark.parametrize(
    ("schema", "row", "sentence"),
    [
        ("payload string", (None,), "payload is null"),
        ("payload double", (float("nan"),), "neither"),
        ("payload string, binary boolean", ("1!", True), "not base64"),
        ("payload binary, binary boolean", (b"1!", False), "not JSON"),
        ("payload int, id string", (1, "7"), "an id is a UUID, not '7'"),
        ("payload int, priority int", (1, 10), "0 to 9"),
        ("payload int, key string", (1, ""), "dedup key has 1 to 255"),
        ("payload int, metadata map<string,string>", (1, [("a", None)]), "strings to strings"),
    ],
)
def test_a_row_that_cannot_be_a_message_fails_the_write(
    sqlite_url: str, schema: str, row: tuple[Any, ...], sentence: str
) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("q")
        with pytest.raises(rowmq.InvalidMessage, match=sentence):
            written(sqlite_url, schema, row)
        assert bodies(mq) == []


@pytest.mark.parametrize(
    ("schema", "options", "sentence"),
    [
        ("x int", {}, r"needs a column payload.*struct"),
        ("payload int, x int", {}, r"no column 'x'.*payload or the metadata"),
        ("payload int, at string", {}, r"column at is a timestamp, not string: cast it"),
        ("payload int, metadata map<string,int>", {}, r"metadata is a map<string,string>"),
        ("payload int", {"topic": "t"}, "either"),
        ("payload int", {"json": "perhaps"}, "true or false"),
        ("payload int", {"quue": "q"}, "no option quue"),
    ],
)
def test_columns_and_options_that_do_not_fit_are_refused_before_anything_is_done(
    sqlite_url: str, schema: str, options: dict[str, str], sentence: str
) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("q")
    with pytest.raises(rowmq.InvalidSetting, match=sentence):
        BatchWriter({"url": sqlite_url, "queue": "q", **options}, batch(schema)[0], overwrite=False)


def test_a_queue_that_is_not_there_and_overwriting_are_refused(sqlite_url: str) -> None:
    rowmq.connect(sqlite_url).close()
    kind, _ = batch("payload int")
    with pytest.raises(rowmq.QueueNotFound, match="'none'"):
        BatchWriter({"url": sqlite_url, "queue": "none"}, kind, overwrite=False)
    with pytest.raises(rowmq.InvalidSetting, match="append"):
        StreamWriter({"url": sqlite_url, "queue": "none"}, kind, overwrite=True)


def test_chunks_are_bounded_by_rows_and_by_bytes(
    mq: rowmq.Client, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "MOST_ROWS", 3)
    monkeypatch.setattr(staging, "MOST_BYTES", 20)
    kind, data = batch("payload string", *((f'"{"x" * size}"',) for size in (1, 1, 1, 1, 21, 1)))
    writer = BatchWriter({"url": store_url, "queue": "q"}, kind, overwrite=False)
    done = writer.write(iter([data]))
    assert (done.rows, left(mq)) == (6, 4)
    writer.commit([done, None])
    assert [len(body) - 2 for body in bodies(mq)] == [1, 1, 1, 1, 21, 1]
    assert left(mq) == 0


def test_an_aborted_write_leaves_nothing(mq: rowmq.Client, store_url: str) -> None:
    kind, data = batch("payload int", (1,))
    writer = BatchWriter({"url": store_url, "queue": "q"}, kind, overwrite=False)
    done = writer.write(iter([data]))
    writer.abort([done])
    assert (bodies(mq), left(mq)) == ([], 0)


def test_the_same_txn_id_is_written_once(mq: rowmq.Client, store_url: str) -> None:
    for _ in range(2):
        written(store_url, "payload int", (1,), (2,), txnId="monday")
    written(store_url, "payload int", (3,), txnId="tuesday")
    assert numbers(mq) == [1, 2, 3]


def test_redis_takes_rows_as_they_come_and_the_same_job_twice_counts_once(redis_url: str) -> None:
    with rowmq.connect(redis_url) as mq:
        mq.queue("q")
        for _ in range(2):
            written(redis_url, "payload int", (1,), (2,), txnId="monday")
        written(redis_url, "payload int", (1,))
        assert sorted(numbers(mq)) == [1, 1, 2]
        written(redis_url, "payload int", (5,), queue=None, topic="t", txnId="x")
        mq.topic("t").subscribe("sub")
        assert numbers(mq, "sub") == [5]


def frame(spark: SparkSession, count: int, partitions: int = 2) -> DataFrame:
    return spark.range(0, count, 1, partitions).select(F.col("id").alias("payload"))


def test_a_data_frame_is_pushed_in_its_order(spark: SparkSession, mq: rowmq.Client, store_url: str) -> None:
    frame(spark, 5_000, 3).write.format("rowmq").option("url", store_url).option("queue", "q").mode(
        "append"
    ).save()
    assert numbers(mq) == list(range(5_000))
    assert left(mq) == 0


def test_a_row_that_fails_in_one_task_leaves_nothing_of_the_others(
    spark: SparkSession, mq: rowmq.Client, store_url: str
) -> None:
    bad = F.when(F.col("payload") == 19_999, F.lit("no json")).otherwise(F.col("payload").cast("string"))
    # The other task is long over by then: Spark does not wait for one that still runs before it aborts.
    broken = frame(spark, 10, 1).union(frame(spark, 20_000, 1)).select(bad.alias("payload"))
    with pytest.raises(Exception, match="InvalidMessage: the payload is not JSON"):
        broken.write.format("rowmq").option("url", store_url).option("queue", "q").mode("append").save()
    assert (bodies(mq), left(mq)) == ([], 0)


def test_a_topic_gets_what_is_written_to_it(spark: SparkSession, mq: rowmq.Client, store_url: str) -> None:
    mq.topic("t").subscribe("a")
    mq.topic("t").subscribe("b")
    frame(spark, 10).write.format("rowmq").option("url", store_url).option("topic", "t").mode("append").save()
    assert numbers(mq, "a") == numbers(mq, "b") == list(range(10))


@pytest.mark.parametrize("kind", ["mysql", "redis"])
def test_a_write_that_failed_may_be_run_again_and_counts_once_on_mysql_and_redis_too(
    spark: SparkSession, request: pytest.FixtureRequest, kind: str
) -> None:
    url: str = request.getfixturevalue(f"{kind}_url")
    bad = F.when(F.col("payload") == 999, F.lit("no json")).otherwise(F.col("payload").cast("string"))
    whole = frame(spark, 1_000).select(F.col("payload").cast("string").alias("payload"))
    with rowmq.connect(url) as mq:
        mq.queue("q")
        for name in ("a", "b"):
            mq.topic("t").subscribe(name)
        with pytest.raises(Exception, match="InvalidMessage: the payload is not JSON"):
            write(whole.select(bad.alias("payload")), url, queue="q", txnId="monday")
        if kind == "mysql":  # one transaction; Redis has what was pushed before the bad row came
            assert (bodies(mq), left(mq)) == ([], 0)
        for _ in range(2):
            write(whole, url, queue="q", txnId="monday")
            write(frame(spark, 10), url, topic="t", txnId="tuesday")
        assert sorted(numbers(mq)) == list(range(1_000))
        assert sorted(numbers(mq, "a")) == sorted(numbers(mq, "b")) == list(range(10))


def write(rows: DataFrame, url: str, **options: str) -> None:
    rows.write.format("rowmq").options(url=url, **options).mode("append").save()


def stream(spark: SparkSession, folder: Path, url: str) -> None:
    source = spark.readStream.schema("n int").option("maxFilesPerTrigger", 1).json(str(folder / "in"))
    query = (
        source.select(F.col("n").alias("payload"))
        .writeStream.format("rowmq")
        .options(url=url, queue="q", checkpointLocation=str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def put(folder: Path, number: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{number}.json").write_text(
        "".join(json.dumps({"n": number * 10 + each}) + "\n" for each in range(10))
    )


def test_each_batch_of_a_stream_is_pushed_once_also_when_spark_runs_it_again(
    spark: SparkSession, mq: rowmq.Client, store_url: str, tmp_path: Path
) -> None:
    for number in range(3):
        put(tmp_path, number)
    stream(spark, tmp_path, store_url)
    assert sorted(numbers(mq)) == list(range(30))
    for file in (tmp_path / "checkpoint" / "commits").glob("*2*"):  # as if Spark had died before writing it
        file.unlink()
    put(tmp_path, 3)
    stream(spark, tmp_path, store_url)
    assert sorted(numbers(mq)) == list(range(40))
    assert left(mq) == 0
