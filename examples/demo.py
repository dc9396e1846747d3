"""The whole story on SQLite: a broker, four ways in, work that fails, and everything in bulk on Spark.

make demo, or: python examples/demo.py [FOLDER]
"""

import json
import logging
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import boto3

import rowmq
from rowmq.pipeline import handled, register, session
from rowmq.pipeline.auditing.audit import audit
from rowmq.pipeline.lake.archive import archive
from rowmq.pipeline.reporting.report import report
from rowmq.pipeline.session import check_java

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EACH = 5_000
"""Messages that come in through each door."""
DOORS = ("http", "sqs", "grpc", "library")
ON_SPARK = 1_000
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM for a minute: its first compiler is quick enough."""
BEGAN = time.monotonic()


class Served(NamedTuple):
    """Where the broker is."""

    http: str
    grpc: str


def main(folder: Path, each: int = EACH, running: "SparkSession | None" = None) -> Path:
    """Tell the story, and say where the report is; in a Spark session of its own, unless one is running."""
    logging.getLogger("rowmq").setLevel(logging.ERROR)  # a thousand failures on purpose need no line each
    check_java()  # now, not after half of the story
    url, lake = f"sqlite:///{folder}/demo.db", str(folder / "lake")
    with rowmq.connect(url) as mq:
        for door in DOORS:
            mq.queue(door, max_attempts=3, backoff={"first": 0.05})
        with broker(url) as served:
            push_everywhere(mq, served, each)
            work(mq, DOORS)
        stats = [mq.queue(door).stats() for door in DOORS]
        say(f"worked on: {sum(one.done for one in stats):,} done, {sum(one.dead for one in stats):,} dead")
        spark = running or start_spark()
        try:
            keep(spark, url, lake, folder / "report-of-the-broker")
            on_spark(spark, mq, url, folder / "checkpoint")
            path = keep(spark, url, lake, folder / "report")
        finally:
            if running is None:
                spark.stop()
    print(f"\nEverything is in {folder}; open the report: {path}")
    return path


@contextmanager
def broker(url: str) -> Iterator[Served]:
    """`rowmq serve` as a process of its own, on ports that are free."""
    command = [
        sys.executable,
        "-m",
        "rowmq",
        "serve",
        "--json",
        "--port",
        "0",
        "--grpc-port",
        "0",
        "--url",
        url,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            said = json.loads(process.stdout.readline())
            say(f"the broker serves {said['url']} and {said['grpc']}")
            yield Served(said["url"], said["grpc"])
        finally:
            process.terminate()


def push_everywhere(mq: rowmq.Client, served: Served, each: int) -> None:
    """The same orders through each door, a queue each."""
    ways: dict[str, Callable[[Sequence[dict[str, int]]], object]] = {
        "http": lambda orders: over_http(served.http, orders),
        "sqs": lambda orders: over_sqs(served.http, orders),
        "grpc": lambda orders: over_grpc(served.grpc, orders),
        "library": lambda orders: mq.push_many("library", orders),
    }
    for door, push in ways.items():
        began = time.monotonic()
        push([{"order": order} for order in range(1, each + 1)])
        say(f"pushed {each:,} messages through {door} in {time.monotonic() - began:.1f} s")


def over_http(url: str, orders: Sequence[dict[str, int]]) -> None:
    """A thousand a request."""
    for start in range(0, len(orders), 1000):
        body = json.dumps([{"payload": order} for order in orders[start : start + 1000]]).encode()
        request = urllib.request.Request(f"{url}/v1/queues/http/messages", body)  # noqa: S310 - our own broker
        urllib.request.urlopen(request).close()  # noqa: S310 - the same


def over_sqs(url: str, orders: Sequence[dict[str, int]]) -> None:
    """Ten a request, as many as SQS takes, in four threads."""
    sqs = boto3.client(
        "sqs",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="anybody",
        aws_secret_access_key="anything",  # noqa: S106 - the broker asks for none
    )
    queue = sqs.get_queue_url(QueueName="sqs")["QueueUrl"]
    entries = [{"Id": str(order["order"]), "MessageBody": json.dumps(order)} for order in orders]

    def send(start: int) -> int:
        return len(sqs.send_message_batch(QueueUrl=queue, Entries=entries[start : start + 10])["Successful"])

    with ThreadPoolExecutor(4) as threads:
        sent = sum(threads.map(send, range(0, len(entries), 10)))
    if sent != len(orders):
        raise SystemExit(f"only {sent} of {len(orders)} messages went through SQS")


def over_grpc(url: str, orders: Sequence[dict[str, int]]) -> None:
    """A thousand a call."""
    with rowmq.connect(url) as remote:
        for start in range(0, len(orders), 1000):
            remote.push_many("grpc", orders[start : start + 1000])


def work(mq: rowmq.Client, queues: Sequence[str]) -> None:
    """Handle everything: one in a hundred never succeeds, and one in twenty not at the first try."""
    for name in queues:
        mq.queue(name).handler(deliver)
    while any(unfinished(mq, name) for name in queues):
        mq.work(*queues, concurrency=4, stop_when_empty=True)


def deliver(message: rowmq.ClaimedMessage) -> None:
    """Deliver an order, or fail."""
    order = number(message.payload)
    if order % 100 == 0:
        raise ValueError(f"order {order} has no address")
    if order % 20 == 0 and message.attempt == 1:
        raise TimeoutError(f"no answer from 10.0.0.{order % 7} for order {order}")


def number(payload: Any) -> int:
    """The order's number; SQS knows only text."""
    order: int = (json.loads(payload) if isinstance(payload, str) else payload)["order"]
    return order


def unfinished(mq: rowmq.Client, name: str) -> int:
    """How many messages of a queue are not finished."""
    stats = mq.queue(name).stats()
    return stats.ready + stats.scheduled + stats.leased


def start_spark() -> "SparkSession":
    """One session for everything that follows."""
    spark = session("local[2]", name="demo", spark_driver_extraJavaOptions=QUICK)
    register(spark)
    say("Spark is there")
    return spark


def keep(spark: "SparkSession", url: str, lake: str, to: Path) -> Path:
    """Archive what is finished, report on store and archive together, and see that nothing is missing."""
    moved = archive(spark, url, lake)
    say(f"archived {moved.rows:,} messages in {moved.bytes / 1024:,.0f} KiB of Parquet")
    made = report(spark, url, to=to, archive=lake)
    counts = ", ".join(
        f"{made.figures.total[name]:,} {name}" for name in ("done", "dead", "failures", "retries")
    )
    say(f"reported: {counts}: {made.page}")
    found = audit(spark, url, lake)
    lines = (
        f"{found.archived:,} archived, {found.owed:,} owed, {found.missing} missing, {found.double} double"
    )
    say(f"audited: {lines}")
    if not found.ok or found.missing:
        raise SystemExit(f"the audit found something wrong: {found}")
    return made.page


def on_spark(spark: "SparkSession", mq: rowmq.Client, url: str, checkpoint: Path) -> None:
    """DataFrame, sink, queue, streaming source with a handler that fails, sink, second queue."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - its usual name, and only here

    mq.queue("parcels", max_attempts=2, backoff={"first": 0.01})
    mq.queue("bills")
    parcels = spark.range(1, ON_SPARK + 1).select(F.struct(F.col("id").alias("order")).alias("payload"))
    parcels.write.format("rowmq").option("url", url).option("queue", "parcels").mode("append").save()
    say(f"a DataFrame of {mq.queue('parcels').stats().ready:,} rows became messages")
    while unfinished(mq, "parcels"):
        stream = spark.readStream.format("rowmq").option("url", url).option("queue", "parcels").load()
        to_bills(handled(stream, weigh, url=url), url, checkpoint)
    stats, bills = mq.queue("parcels").stats(), mq.queue("bills").stats().ready
    say(f"a stream handled them: {stats.done:,} done, {stats.dead:,} dead, {bills:,} bills")
    work(mq, ["bills"])


def weigh(message: rowmq.ClaimedMessage) -> dict[str, int]:
    """Runs on executors; what it returns is the next queue's payload."""
    order = number(message.payload)
    if order % 50 == 0:
        raise rowmq.Kill(f"parcel {order} is empty")
    if order % 10 == 1 and message.attempt == 1:
        raise OSError(f"scales {order % 3} are busy")
    return {"order": order * 100 + 1}


def to_bills(results: "DataFrame", url: str, checkpoint: Path) -> None:
    """Each result is a message of the second queue, once."""
    rows = results.selectExpr("result AS payload").writeStream.format("rowmq")
    rows = rows.option("url", url).option("queue", "bills").option("checkpointLocation", str(checkpoint))
    rows.trigger(availableNow=True).start().awaitTermination()


def say(text: str) -> None:
    """A line, and how long it took to get there."""
    print(f"{time.monotonic() - BEGAN:6.1f} s  {text}", flush=True)


if __name__ == "__main__":
    chosen = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="rowmq-demo-"))
    chosen.mkdir(parents=True, exist_ok=True)
    try:
        main(chosen.resolve())
    except rowmq.RowMQError as error:
        raise SystemExit(f"demo: {error}") from None
