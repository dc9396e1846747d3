"""Workers on executors: each task claims, handles and settles by itself, for a while."""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rowmq.core.outcome import Settled
from rowmq.pipeline.handlers.handling import WORDS
from rowmq.pipeline.handlers.work import Counts, Work, is_crash
from rowmq.runtime.client import Client
from rowmq.runtime.log import event, logger
from rowmq.runtime.middleware import Middleware

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

REPORT = "counts map<string,bigint>, empty boolean"


class Counting(Middleware):
    """Counts what was settled."""

    def __init__(self) -> None:
        self.counts: Counts = Counter()

    def on_settle(self, settled: Sequence[tuple[Any, Any, Settled]]) -> None:
        """Count what counted."""
        self.counts.update(
            WORDS[type(outcome)] for _, outcome, answer in settled if answer is not Settled.LOST
        )


def run(spark: "SparkSession", _client: Client, work: Work, until: threading.Event) -> Iterator[Counts]:
    """Run rounds of workers, until told or, if asked to stop then, until a round found nothing left."""
    while not until.is_set():
        try:
            rows = _round(spark, work)
        except Exception as error:
            if not is_crash(error):
                raise
            event(logger, "error", "work.process_died", queues=list(work.queues))
            until.wait(work.poll)
            continue  # what it held comes back when its lease ends, and the attempt counts
        yield sum((Counter(row.counts) for row in rows), Counter())
        if work.stop_when_empty and all(row.empty for row in rows):
            return


def _round(spark: "SparkSession", work: Work) -> list[Any]:
    tasks = spark.range(0, work.tasks, 1, work.tasks)
    return tasks.mapInArrow(partial(_work, work), REPORT).collect()


def _work(work: Work, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa  # noqa: PLC0415 - on executors

    for batch in batches:
        if batch.num_rows:
            counts, empty = work_for_a_round(work)
            reports = [pa.array([list(counts.items())], pa.map_(pa.string(), pa.int64())), pa.array([empty])]
            yield pa.RecordBatch.from_arrays(reports, names=["counts", "empty"])


def work_for_a_round(work: Work) -> tuple[Counts, bool]:
    """Run one worker for a while: what it settled, and whether it ended because there was nothing left."""
    over, counting = threading.Event(), Counting()
    worker = work.client().worker(
        *work.queues,
        concurrency=work.concurrency,
        lease=work.lease,
        where=work.where,
        max_age=work.max_age,
        since=work.period[0],
        until=work.period[1],
        poll=work.poll,
        stop_when_empty=work.stop_when_empty,
        middleware=[counting],
    )
    end = time.monotonic() + work.round
    timer = threading.Timer(work.round, over.set)
    timer.daemon = True
    timer.start()
    try:
        worker.run(over)
    finally:
        timer.cancel()
    return counting.counts, work.stop_when_empty and time.monotonic() < end
