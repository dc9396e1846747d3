"""Micro-batches: the driver claims, executors handle, and the driver acks when the job has succeeded."""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rowmq.core.delivery import Receipt, Settlement
from rowmq.core.outcome import Ack
from rowmq.core.store import Store
from rowmq.pipeline.handlers.handling import Handled, Handling
from rowmq.pipeline.handlers.work import Counts, Work, is_crash
from rowmq.pipeline.opening import store_at
from rowmq.pipeline.stream.batches import Batch, Batches
from rowmq.pipeline.stream.heartbeat import Heartbeat
from rowmq.pipeline.stream.pace import Pace
from rowmq.runtime.client import Client
from rowmq.runtime.hooks import Hooks
from rowmq.runtime.log import event, logger
from rowmq.runtime.registry import TASK

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

REPORT = "counts map<string,bigint>, seqs array<bigint>, results array<binary>"
ALONE = "the executor's process died while it handled this message alone"


def run(spark: "SparkSession", client: Client, work: Work, until: threading.Event) -> Iterator[Counts]:
    """Run batch after batch of each queue, until told or, if asked to stop then, until all are empty."""
    lines = [Line(spark, client.store, work, queue) for queue in work.queues]
    while not until.is_set():
        found = False
        for line in lines:
            counts = None if until.is_set() else line.run()
            if counts is not None:
                found = True
                yield counts
        if not found and work.stop_when_empty:
            return
        if not found:
            _wait(client.store, work, until)


def _wait(store: Store, work: Work, until: threading.Event) -> None:
    end = time.monotonic() + work.poll
    while not until.is_set() and (left := end - time.monotonic()) > 0:
        if store.wait(list(work.queues), timedelta(seconds=min(left, 0.2))):
            return


class Line:
    """The batches of one queue, one after another."""

    def __init__(self, spark: "SparkSession", store: Store, work: Work, queue: str) -> None:
        self._spark, self._store, self._work = spark, store, work
        name = uuid4().hex
        self._name, self._number = f"spark-work/{name}", 0
        self._beat, self._pace = Heartbeat(store), Pace(work.batch)
        self._batches = Batches(
            store,
            queue,
            consumer=f"spark-{name[:12]}",
            lease=work.lease,
            where=work.where,
            max_age=work.max_age,
            since=work.period[0],
            until=work.period[1],
        )

    def run(self) -> Counts | None:
        """Claim a batch, run its job and ack it: what became of it; None if there was nothing."""
        batch = self._batches.take(f"{self._name}/{self._number}", self._pace.size)
        if batch is None:
            return None
        self._number += 1
        self._beat.hold(batch.claim, batch.queue.lease)
        try:
            return self._done(batch, self._job(batch))
        except Exception as error:
            counts = self._failed(batch, error)
            if counts is None:
                raise
            return counts
        finally:
            self._beat.drop()

    def _job(self, batch: Batch) -> list[Any]:
        from rowmq.pipeline.stream.parcel import parcels  # noqa: PLC0415 - it needs Spark

        parts = [(each.data,) for each in parcels(batch, self._work.tasks)]
        frame = self._spark.createDataFrame(parts, "data binary")
        return frame.mapInArrow(partial(_handle, self._work, batch.queue.lease), REPORT).collect()

    def _done(self, batch: Batch, rows: Sequence[Any]) -> Counts:
        counts: Counts = Counter()
        for row in rows:
            counts.update(row.counts)
            kept = zip(row.seqs, row.results, strict=True)
            results = [
                Settlement(Receipt(seq, batch.claim.token), Ack(result=bytes(each))) for seq, each in kept
            ]
            if results:
                self._store.settle(results)
        self._batches.finish(batch.claim)
        self._pace.faster()
        return counts

    def _failed(self, batch: Batch, error: Exception) -> Counts | None:
        """Give the batch back; None if the error is not one that a message can have caused."""
        crashed = is_crash(error)
        if crashed and len(batch.deliveries) == 1:
            self._batches.fail(batch, ALONE)
            return Counter(retried=1)
        self._batches.keep(batch, 0)
        self._pace.slow_to(len(batch.deliveries) // 2)
        event(logger, "warning", "work.job_failed", claim=batch.claim.name, messages=len(batch.deliveries))
        return Counter(released=len(batch.deliveries)) if crashed else None


def _handle(work: Work, lease: timedelta, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """On an executor: open each parcel, run its messages, and report."""
    from rowmq.pipeline.stream.parcel import Parcel, is_repeated, slices, still_held  # noqa: PLC0415 - it needs Spark

    client, store = work.client(), store_at(work.url)
    registry, hooks = client.registry, Hooks(client.middleware)
    for data in (data for batch in batches for data in batch["data"].to_pylist()):
        deliveries = Parcel(data, lease).open()
        if is_repeated():
            deliveries = still_held(store, deliveries, lease)
        handling = Handling(store, lambda each: registry.job(each.queue, each.metadata.get(TASK)), hooks)
        handled = [each for piece in slices(deliveries) for each in handling.run(piece)]
        yield _report(handled, handling.counts)


def _report(handled: Sequence[Handled], counts: Counts) -> "pa.RecordBatch":
    import pyarrow as pa  # noqa: PLC0415 - on executors

    kept = [(each.delivery.seq, each.result) for each in handled if each.result is not None]
    return pa.RecordBatch.from_arrays(
        [
            pa.array([list(counts.items())], pa.map_(pa.string(), pa.int64())),
            pa.array([[seq for seq, _ in kept]], pa.list_(pa.int64())),
            pa.array([[result for _, result in kept]], pa.list_(pa.binary())),
        ],
        names=["counts", "seqs", "results"],
    )
