"""How fast Spark reads and moves messages: beside its own JDBC reader, and beside the engine's own workers.

    python -m benchmarks.spark [--messages 1000000] [--rounds 5] [--cores 2] [--json]

Reading: the same twelve columns of the same finished messages in PostgreSQL, with the same types, in the same
ranges of seqs, by our source and by JDBC in turn, into nothing. JDBC needs Debian's libpostgresql-jdbc-java.
Working: a no-op handler empties a queue of 200-byte messages, on executors and by the engine's own workers in
turn, and then in turn with mere claims and acks, as many processes as cores. Archiving and replaying are
timed once, writing a tenth of the messages too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from pyspark.sql.functions import from_json, timestamp_micros
from pyspark.sql.types import StructType

from benchmarks.places import places
from benchmarks.spark_jobs import by_engine, by_spark, move, run_loop, run_worker, write
from benchmarks.spark_places import JAR, fill_finished, spark_session
from rowmq.pipeline.schema import READ

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.synchronize import Barrier

    from pyspark.sql import DataFrame, SparkSession

    from benchmarks.places import Places

    Engine = Callable[[str, Barrier], None]

PARTS = 4
ENGINES: dict[Engine, str] = {run_worker: "workers", run_loop: "claims and acks"}
COLUMNS = (
    "seq",
    "id",
    "queue",
    "state",
    "payload",
    "metadata",
    "priority",
    "created_at",
    "attempts",
    "consumer",
    "started_at",
    "finished_at",
)
TIMES = ("created_at", "started_at", "finished_at")
TABLES = """(
SELECT m.seq, m.id, q.name AS queue, o.state, convert_from(m.body, 'UTF8') AS payload,
       COALESCE(m.metadata, '{}') AS metadata, m.priority, m.created_at, o.attempts, o.consumer,
       o.started_at, o.finished_at
FROM rowmq_outcomes o JOIN rowmq_messages m ON m.seq = o.seq JOIN rowmq_queues q ON q.id = o.queue
WHERE q.name = 'q' AND o.state IN ('done', 'dead')) AS finished"""
"""What JDBC reads; what it has no type for is made by Spark, which is quicker than the server."""


class Result(NamedTuple):
    """Messages per second by ours and by the other, and the rounds' ratios."""

    what: str
    messages: int
    ours: int
    other: int
    target: float
    ratio: float
    ratios: Sequence[float]


def by_source(spark: SparkSession, url: str, _messages: int) -> DataFrame:
    """The messages through our source."""
    reader = spark.read.format("rowmq").option("url", url).option("queue", "q")
    reader = reader.option("state", "done,dead").option("partitions", str(PARTS))
    return reader.schema(StructType([READ[name] for name in COLUMNS])).load()


def by_jdbc(spark: SparkSession, url: str, messages: int) -> DataFrame:
    """The same through Spark's JDBC reader, with the metadata made a map."""
    said = urlsplit(url)
    schema = parse_qs(said.query)["options"][0].rpartition("=")[2]
    reader = spark.read.format("jdbc").option(
        "url", f"jdbc:postgresql://{said.hostname}:{said.port}{said.path}"
    )
    reader = reader.options(user=said.username, currentSchema=schema, dbtable=TABLES, fetchsize=10_000)
    reader = reader.options(
        driver="org.postgresql.Driver",
        partitionColumn="seq",
        lowerBound=1,
        upperBound=messages,
        numPartitions=PARTS,
    )
    found = reader.load()
    made = {name: timestamp_micros(name) for name in TIMES}
    made |= {
        "metadata": from_json("metadata", "map<string,string>"),
        "priority": found["priority"].cast("int"),
    }
    return found.withColumns(made)


def taken(frame: DataFrame) -> float:
    """Seconds to read it all."""
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def sums(frame: DataFrame) -> Any:
    """Something that tells whether two frames have the same rows."""
    plain = ", ".join(name for name in COLUMNS if name != "metadata")
    hashes = f"xxhash64({plain}, metadata['trace'])"
    return frame.selectExpr("count(*) AS rows", f"sum(cast({hashes} AS decimal(38))) AS sum").first()


def reading(spark: SparkSession, url: str, messages: int, rounds: int) -> Result:
    """Our source against JDBC."""
    frames = [by_source(spark, url, messages), by_jdbc(spark, url, messages)]
    if sums(frames[0]) != sums(frames[1]):
        raise RuntimeError("the source and JDBC have read different messages")
    ways = [lambda: taken(by_source(spark, url, messages)), lambda: taken(by_jdbc(spark, url, messages))]
    return compare("source / JDBC", messages, rounds, 0.9, ways)


def working(
    spark: SparkSession, spots: Places, messages: int, rounds: int, cores: int, engine: Engine
) -> Result:
    """Handlers on executors against the engine itself, each time on a new queue."""

    def on_new(way: Callable[[str], float]) -> float:
        with spots.url() as url:
            write(spark, url, messages)
            return way(url)

    ways = [
        lambda: on_new(lambda url: by_spark(spark, url, messages, cores)),
        lambda: on_new(lambda url: by_engine(engine, url, messages, cores)),
    ]
    return compare(f"spark-work / {ENGINES[engine]}", messages, rounds, 0.8, ways)


def compare(
    what: str, messages: int, rounds: int, target: float, ways: Sequence[Callable[[], float]]
) -> Result:
    """Alternate the two, each going first every other time, after one round that does not count."""
    times: list[list[float]] = [[], []]
    for number in range(rounds + 1):
        for way in (0, 1) if number % 2 else (1, 0):
            times[way].append(ways[way]())
        said = ", ".join(f"{found[-1]:.2f} s" for found in times)
        print(f"# {what}, round {number} of {rounds}: {said}", file=sys.stderr)
    ours, other = (found[1:] for found in times)
    ratios = [round(theirs / mine, 2) for mine, theirs in zip(ours, other, strict=True)]
    ratio = round(statistics.median(ratios), 2)
    return Result(what, messages, rate(messages, ours), rate(messages, other), target, ratio, ratios)


def rate(messages: int, times: Sequence[float]) -> int:
    """Messages per second, in the median."""
    return round(messages / statistics.median(times))


def jobs(spark: SparkSession, spots: Places, url: str, messages: int) -> dict[str, int]:
    """Messages per second of what is timed once."""
    archived, replayed = move(spark, url, messages)
    with spots.url() as empty:
        written = write(spark, empty, messages // 10)
    return {
        "archive": round(messages / archived),
        "replay": round(messages / replayed),
        "write": round(messages // 10 / written),
    }


def show(results: Sequence[Result], rates: dict[str, int]) -> None:
    """Print tables."""
    print("| what | messages | ours, msgs/s | other, msgs/s | ratio | target | rounds |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for each in results:
        rounds = ", ".join(f"{ratio:.2f}" for ratio in each.ratios)
        print(
            f"| {each.what} | {each.messages:,} | {each.ours:,} | {each.other:,} | **{each.ratio:.2f}**"
            f" | {each.target} | {rounds} |"
        )
    print("\n| job | msgs/s |\n|---|---:|")
    for name, rate in rates.items():
        print(f"| {name} | {rate:,} |")


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    if not JAR.exists():
        sys.exit(f"{JAR} is missing: apt install libpostgresql-jdbc-java")
    with places("postgres") as spots, spots.url() as url:
        fill_finished(url, options.messages)
        spark = spark_session(options.cores)
        results = [
            reading(spark, url, options.messages, options.rounds),
            *(
                working(spark, spots, options.messages // 10, options.rounds, options.cores, engine)
                for engine in ENGINES
            ),
        ]
        rates = jobs(spark, spots, url, options.messages)
        spark.stop()
    if options.json:
        print(json.dumps({"compared": [each._asdict() for each in results], "timed": rates}, indent=1))
    else:
        show(results, rates)


if __name__ == "__main__":
    main()
