"""Archiving: finished messages become Parquet files, and leave the store once those were read back.

A batch is planned, written aside, put in its place, read back, and gets its manifest; only then are exactly
the messages that its files hold deleted from the store. Killed before the manifest is there, the batch is
undone by the next run; killed afterwards, it is finished by it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 - Spark's own documentation calls it so
from pyspark.sql.types import StructType

from rowmq.core.errors import QueueNotFound, StoreError
from rowmq.core.store import Store
from rowmq.pipeline.lake.batch import check_batch, manifest_of, place, timestamps, verify, write_aside
from rowmq.pipeline.lake.folder import Lake
from rowmq.pipeline.lake.frames import chosen, day, finished, in_files
from rowmq.pipeline.lake.leading import TTL, Lead, leading
from rowmq.pipeline.lake.manifest import Batches, Manifest, Plan
from rowmq.pipeline.opening import absolute, store_at
from rowmq.pipeline.schema import MESSAGES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROLE = "archive"
LARGEST = 5_000_000
"""Seqs that one batch takes at most: what a crash can cost."""
CHUNK = 5_000
"""Messages that leave the store in one transaction."""


@dataclass(frozen=True, kw_only=True)
class Slice:
    """Which finished messages: of one queue or all, finished from a moment on and before another."""

    queue: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Archived:
    """What a run has done: batches with a manifest of theirs, and what an earlier run had left to do."""

    batches: int = 0
    rows: int = 0
    bytes: int = 0
    pruned: int = 0
    resumed: int = 0
    undone: int = 0

    def __add__(self, other: "Archived") -> "Archived":
        names = self.__dataclass_fields__
        return Archived(**{name: getattr(self, name) + getattr(other, name) for name in names})


def archive(
    spark: "SparkSession",
    url: str,
    to: str,
    *,
    of: Slice = Slice(),  # noqa: B008 - frozen
    largest: int = LARGEST,
    ttl: timedelta = TTL,
) -> Archived:
    """Move the finished messages of a store to the archive in the folder ``to``.

    What a killed run has left is finished, or undone, first. One run at a time works on a store: Refused
    while another is alive. Raises InvalidInput if the folder cannot be written, and QueueNotFound.
    """
    url = absolute(url)
    store, lake = store_at(url), Lake(to)
    check_queue(store, of.queue)
    lake.prepare()
    with leading(store, ROLE, ttl) as lead, timestamps(spark):
        job = _Job(spark, url, store, lake, lead)
        done = job.recover()
        for plan in plans(store, of, largest):
            done += job.run(plan)
        return done


def archivable(spark: "SparkSession", url: str, of: Slice = Slice()) -> "DataFrame":  # noqa: B008 - frozen
    """How many messages :func:`archive` would take, by day and queue."""
    url = absolute(url)
    store = store_at(url)
    check_queue(store, of.queue)
    first, last = store.history.bounds()
    plan = Plan(batch="", first_seq=max(first, 1), last_seq=max(last, 1), **_times(store, of))
    columns = StructType([MESSAGES["queue"], MESSAGES["finished_at"]])
    rows = chosen(spark, url, plan, columns).groupBy(day().alias("dt"), "queue")
    return rows.agg(F.count(F.lit(1)).alias("rows")).orderBy("dt", "queue")


def plans(store: Store, of: Slice, largest: int = LARGEST) -> Iterator[Plan]:
    """The batches that together take what is finished now."""
    times = _times(store, of)
    first, last = store.history.bounds()
    for start in range(max(first, 1), last + 1, largest):
        end = min(last, start + largest - 1)
        yield Plan(batch=new_batch(store), first_seq=start, last_seq=end, **times)


def new_batch(store: Store) -> str:
    """An id for a batch: later ones are greater, and no two are the same."""
    return f"{store.now():%Y%m%dT%H%M%S%f}-{uuid4().hex[:8]}"


def check_queue(store: Store, queue: str | None) -> None:
    """Raise QueueNotFound unless the store has the queue."""
    if queue is not None and store.queues.get(queue) is None:
        raise QueueNotFound(queue)


class _Job:
    """The steps of a batch; between any two, and in each, the process may die."""

    def __init__(self, spark: "SparkSession", url: str, store: Store, lake: Lake, lead: Lead) -> None:
        self.spark, self.url, self.store, self.lake, self.lead = spark, url, store, lake, lead
        self.batches = Batches(lake)

    def recover(self) -> Archived:
        """Finish the batches that have a manifest, and undo those that have none."""
        done = Archived()
        for plan in self.batches.planned():
            manifest = self.batches.manifest(plan.batch)
            if manifest is None:
                self.batches.forget(plan.batch)
                done += Archived(undone=1)
            elif plan.replaces:
                self.batches.replace(manifest)
                done += Archived(resumed=1)
            else:
                check_batch(self.spark, self.lake, manifest)
                done += Archived(resumed=1, pruned=self.prune(manifest))
        return done

    def run(self, plan: Plan) -> Archived:
        """Plan, write aside, place, verify, tell, prune."""
        self.batches.plan(plan)
        expected = write_aside(finished(self.spark, self.url, plan), self.lake, plan.batch)
        if not expected.rows:
            self.batches.forget(plan.batch)
            return Archived()
        files = verify(self.spark, self.lake, place(self.lake, plan.batch), expected)
        manifest = manifest_of(plan, files)
        self.check(plan.batch)
        self.batches.save(manifest)  # from here on the batch counts
        pruned = self.prune(manifest)
        return Archived(batches=1, rows=manifest.rows, bytes=manifest.bytes, pruned=pruned)

    def prune(self, manifest: Manifest) -> int:
        """Delete from the store what the files hold; what lives again there stays, and counts there."""
        held = in_files(self.spark, self.lake, [each.path for each in manifest.files])
        column = held.select("seq").toArrow()["seq"]
        seqs = column.take(pc.sort_indices(column)).to_pylist()
        chunks = [seqs[start : start + CHUNK] for start in range(0, len(seqs), CHUNK)]
        count = sum(self.prune_some(manifest, chunk) for chunk in chunks)
        returned = [] if count == len(seqs) else self.still_there(seqs)
        self.batches.finish(manifest, returned)
        return count

    def prune_some(self, manifest: Manifest, seqs: Sequence[int]) -> int:
        """Delete some of them."""
        self.check(manifest.batch)
        return self.store.history.archive(seqs, prune=True, before=manifest.plan.before)

    def check(self, batch: str) -> None:
        """Raise Refused or StoreError unless the batch is still ours to finish."""
        self.lead.check()
        if not self.batches.is_planned(batch):  # another run had the lead meanwhile
            raise StoreError(f"the batch {batch} was undone by another run; run this one again")

    def still_there(self, seqs: Sequence[int]) -> list[int]:
        """Those of the seqs that the store has: they were given another life after they were read."""
        read = self.spark.read.format("rowmq").schema("seq long").option("url", self.url)
        read = read.option("firstSeq", seqs[0]).option("lastSeq", seqs[-1])
        return sorted(set(read.load().toArrow()["seq"].to_pylist()) & set(seqs))


def _times(store: Store, of: Slice) -> dict[str, Any]:
    """What of a slice goes into a plan; what is finished from now on is for another time."""
    now = store.now()
    before = now if of.until is None else min(of.until, now)
    return {"before": before, "since": of.since, "queue": of.queue}
