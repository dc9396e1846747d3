"""The jobs that move messages with Spark, timed: writing, archiving, replaying, and handlers on executors."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from typing import TYPE_CHECKING

import rowmq
from rowmq.core.delivery import Settlement, Want
from rowmq.core.outcome import ACK
from rowmq.pipeline.handlers.work import work
from rowmq.pipeline.lake.archive import archive
from rowmq.pipeline.lake.replay import Again, replay

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.synchronize import Barrier

    from pyspark.sql import SparkSession

BATCH = 1000
PAYLOAD = '{"text": "' + "x" * 186 + '"}'


def write(spark: SparkSession, url: str, messages: int) -> float:
    """Seconds to push so many messages from a DataFrame, in one transaction."""
    with rowmq.connect(url) as mq:
        mq.queue("written", lease=3600, retention=None)
    frame = spark.range(messages).selectExpr(f"'{PAYLOAD}' AS payload")
    began = time.perf_counter()
    frame.write.format("rowmq").options(url=url, queue="written").mode("append").save()
    return time.perf_counter() - began


def move(spark: SparkSession, url: str, messages: int) -> tuple[float, float]:
    """Seconds to archive so many finished messages and prune them, and to replay them into another queue."""
    with tempfile.TemporaryDirectory() as lake:
        began = time.perf_counter()
        moved = archive(spark, url, lake)
        archived = time.perf_counter()
        with rowmq.connect(url) as mq:
            mq.queue("again")
        pushed = replay(spark, url, lake, Again(queue="q", to="again"))
        ended = time.perf_counter()
    check(messages, moved.rows)
    check(messages, pushed.pushed)
    return archived - began, ended - archived


def by_spark(spark: SparkSession, url: str, messages: int, cores: int) -> float:
    """Seconds that handlers on executors take, one worker a core."""
    with rowmq.connect(url) as mq:
        mq.handler("written")(nothing)
        began = time.perf_counter()
        counts = work(spark, mq, loaded, "written", tasks=cores, stop_when_empty=True)
        took = time.perf_counter() - began
    check(messages, counts["done"])
    return took


def by_engine(run: Callable[[str, Barrier], None], url: str, messages: int, cores: int) -> float:
    """Seconds that the engine itself takes, run so in one process a core."""
    several = multiprocessing.get_context("spawn")
    start = several.Barrier(cores + 1)
    workers = [several.Process(target=run, args=(url, start)) for _ in range(cores)]
    for each in workers:
        each.start()
    start.wait()
    began = time.perf_counter()
    for each in workers:
        each.join()
    took = time.perf_counter() - began
    with rowmq.connect(url) as mq:
        check(messages, mq.queue("written").stats().done)
    return took


def run_worker(url: str, start: Barrier) -> None:
    """Empty the queue by a worker."""
    with rowmq.connect(url, migrate=False) as mq:
        mq.handler("written")(nothing)
        start.wait()
        mq.worker("written", stop_when_empty=True).run()


def run_loop(url: str, start: Barrier) -> None:
    """Empty the queue by claims and acks alone."""
    with rowmq.connect(url, migrate=False) as mq:
        start.wait()
        while found := mq.store.claim("written", [Want(limit=BATCH)])[0]:
            mq.store.settle([Settlement(each.receipt, ACK) for each in found])


def loaded() -> rowmq.Client:
    """The client on an executor."""
    mq = rowmq.connect(migrate=False)
    mq.handler("written")(nothing)
    return mq


def nothing(_message: object) -> None:
    """Handle a message."""


def check(expected: int, found: int) -> None:
    """Make sure that it did what it was timed for."""
    if found != expected:
        raise RuntimeError(f"{found} of {expected} messages were done")
