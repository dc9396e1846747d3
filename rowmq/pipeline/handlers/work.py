"""A client's handlers and tasks on Spark's executors."""

import os
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from rowmq.core.errors import InvalidSetting
from rowmq.core.where import Where
from rowmq.pipeline.opening import absolute, refuse_memory
from rowmq.runtime.client import Client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Mode = Literal["workers", "microbatch"]
Counts = Counter[str]
CRASHED = ("exited unexpectedly", "ExecutorLostFailure", "EOFException")
"""What Spark says when a task's process died; whatever else fails a job is not a message's doing."""
Load = Callable[[], Client]
"""Makes or imports the client on an executor."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """What is worked on, and how."""

    load: Load
    url: str
    queues: Sequence[str]
    tasks: int
    concurrency: int = 8
    batch: int = 10_000
    lease: timedelta | None = None
    where: Where = ()
    max_age: timedelta | None = None
    period: tuple[datetime | None, datetime | None] = (None, None)
    """Only messages created at or after the first moment, and before the second."""
    poll: float = 1.0
    round: float = 5.0
    """Seconds after which workers on executors end and report; a stop waits that long at most."""
    stop_when_empty: bool = False

    def client(self) -> Client:
        """The client, on an executor; one that leaves its URL to its surroundings gets the driver's."""
        os.environ["ROWMQ_URL"] = self.url
        return self.load()


def work(
    spark: "SparkSession",
    client: Client,
    load: Load,
    *queues: str,
    mode: Mode = "workers",
    tasks: int | None = None,
    until: threading.Event | None = None,
    report: Callable[[Counts], object] | None = None,
    **options: object,
) -> Counts:
    """Handle the messages of some queues on executors, until an event is set or, if asked, they are empty.

    It is the client's handlers and tasks that run; ``load`` gives the same client on an executor, where this
    one cannot go. In mode ``workers`` each task is a worker of its own that claims and settles; in
    ``microbatch`` the driver claims batches and acks each when its job has succeeded. Returns how many were
    ``done``, ``retried``, ``dead`` and ``released``; ``report`` is called with the same after each round or
    batch. The other options are the fields of :class:`Work`.
    """
    refuse_memory(client.url)
    if mode not in ("workers", "microbatch"):
        raise InvalidSetting(f"a mode is workers or microbatch, not {mode!r}")
    made = Work(
        load=load,
        url=absolute(client.url),
        queues=client.worker(*queues).queues,
        tasks=tasks or parallelism(spark),
        **options,  # type: ignore[arg-type]
    )
    from rowmq.pipeline.handlers import microbatch, workers  # noqa: PLC0415 - they need Spark

    run = workers.run if mode == "workers" else microbatch.run
    total: Counts = Counter()
    for counts in run(spark, client, made, until or threading.Event()):
        total += counts
        if report is not None:
            report(counts)
    return total


def parallelism(spark: "SparkSession") -> int:
    """How many tasks run at once by default, as far as Spark knows now; also over Spark Connect."""
    from pyspark.sql import functions  # noqa: PLC0415 - Spark is an extra

    parts = spark.range(10_000).select(functions.spark_partition_id().alias("part"))
    return parts.distinct().count()


def is_crash(error: Exception) -> bool:
    """Whether a job failed because a process of its died, as a handler can make it."""
    return any(word in str(error) for word in CRASHED)
