"""What the driver sends to the executors: messages it holds, a part of a batch for each task."""

import os
import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from pyspark import TaskContext
from pyspark.sql.datasource import InputPartition

from rowmq.core.delivery import Delivery
from rowmq.core.outcome import group_of
from rowmq.core.store import Store
from rowmq.pipeline.stream.batches import Batch

SMALLEST = 250
"""Messages below which a part is not worth a task."""
LARGEST_BYTES = 16 * 2**20
"""Bytes above which a part is split, whatever was asked for: Spark sends each with its task."""
SLICE, SLICE_BYTES = 1_000, 4 * 2**20
"""How much an executor makes one Arrow batch of."""


@dataclass(frozen=True)
class Parcel(InputPartition):
    """Messages for one task, as the driver holds them.

    They travel with the task, so a message is read from the store once, by the driver's claim.
    """

    data: bytes
    lease: timedelta

    @classmethod
    def of(cls, deliveries: Sequence[Delivery], lease: timedelta) -> "Parcel":
        """Pack messages."""
        # Not left to Spark, whose pickle looks at each object in Python.
        return cls(pickle.dumps([tuple(each) for each in deliveries], pickle.HIGHEST_PROTOCOL), lease)

    def open(self) -> list[Delivery]:
        """The messages."""
        return [Delivery(*each) for each in pickle.loads(self.data)]  # noqa: S301 - our own, with Spark's task


def parcels(batch: Batch, count: int | None = None) -> list[Parcel]:
    """A batch in about so many parts, a group always whole and everything in order."""
    size = sum(len(each.body) for each in batch.deliveries)
    chosen = count or max(1, min(os.cpu_count() or 1, len(batch.deliveries) // SMALLEST))
    parts = _parts(batch, max(chosen, -(-size // LARGEST_BYTES)))
    return [Parcel.of(part, batch.queue.lease) for part in parts if part]


def slices(deliveries: Iterable[Delivery]) -> Iterator[list[Delivery]]:
    """Messages in pieces that are neither many nor large."""
    piece: list[Delivery] = []
    size = 0
    for each in deliveries:
        piece.append(each)
        size += len(each.body)
        if len(piece) >= SLICE or size >= SLICE_BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def still_held(store: Store, deliveries: Sequence[Delivery], lease: timedelta) -> list[Delivery]:
    """Those that nobody has settled or taken meanwhile; their leases begin anew."""
    ends = store.extend([each.receipt for each in deliveries], lease)
    return [each for each, end in zip(deliveries, ends, strict=True) if end is not None]


def is_repeated() -> bool:
    """Whether this task has run before, at least in part."""
    context = TaskContext.get()
    return context is not None and context.attemptNumber() > 0


def _parts(batch: Batch, count: int) -> list[list[Delivery]]:
    parts: list[list[Delivery]] = [[] for _ in range(count)]
    total, fifo = len(batch.deliveries), batch.queue.fifo
    for place, each in enumerate(batch.deliveries):
        group = group_of(each.group, fifo=fifo)
        part = place * count // total if group is None else zlib.crc32(group.encode()) % count
        parts[part].append(each)
    return parts
