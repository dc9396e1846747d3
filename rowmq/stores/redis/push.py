"""Pushing: batches as scripts take them, and their answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from rowmq.core.errors import DuplicateMessage, InvalidMessage, QueueFull, QueueNotFound, RowMQError
from rowmq.core.message import Batch, Pushed
from rowmq.stores.redis.server import Argument, Server
from rowmq.stores.redis.values import cut, said, stamp

MOST_MESSAGES = 1000
MOST_BYTES = 8 * 2**20
"""How much one script gets at most, unless a single batch is larger: that is not cut."""
LARGEST_BATCH = 100_000
LARGEST_BATCH_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class Parcel:
    """A batch on its way, its messages packed."""

    batch: Batch
    packed: list[bytes]
    size: int


def push(server: Server, batches: Sequence[Batch], now: datetime | None) -> list[Pushed | RowMQError]:
    """Push batches, as many of them with one script as is reasonable."""
    results: list[Pushed | RowMQError] = []
    for parcels in _loads(list(map(_parcel, batches))):
        given: list[Argument] = [stamp(now)]
        for parcel in parcels:
            given += [parcel.batch.queue, len(parcel.packed), *parcel.packed]
        answers = server.call("push", *given, repeatable=True)
        results += [_pushed(*each) for each in zip(parcels, answers, strict=True)]
    return results


def refused(queue: str, answer: Sequence[bytes]) -> RowMQError:
    """Why a script did not push to a queue."""
    kind, what, *_ = answer
    if kind == b"duplicate":
        return DuplicateMessage(f"another message already has the id {UUID(bytes=what)}")
    waiting, longest, more = what.decode().split()
    return QueueFull(f"queue {queue!r} holds {waiting} of {longest}: no room for {more} more")


def check_size(packed: Sequence[bytes]) -> int:
    """The size of what one script must take whole. Raises InvalidMessage if that is too much."""
    size = sum(map(len, packed))
    if len(packed) > LARGEST_BATCH or size > LARGEST_BATCH_BYTES:
        raise InvalidMessage(
            f"a batch for Redis has at most {LARGEST_BATCH} messages and {LARGEST_BATCH_BYTES} bytes, "
            f"this one has {len(packed)} and {size}; cut it"
        )
    return size


def _parcel(batch: Batch) -> Parcel:
    packed = list(map(said, batch.messages))
    return Parcel(batch, packed, check_size(packed))


def _loads(parcels: Sequence[Parcel]) -> Iterator[list[Parcel]]:
    load: list[Parcel] = []
    for parcel in parcels:
        count = sum(len(each.packed) for each in load) + len(parcel.packed)
        size = sum(each.size for each in load) + parcel.size
        if load and (count > MOST_MESSAGES or size > MOST_BYTES):
            yield load
            load = []
        load.append(parcel)
    if load:
        yield load


def _pushed(parcel: Parcel, answer: Any) -> Pushed | RowMQError:
    batch = parcel.batch
    if answer == b"missing":
        return QueueNotFound(batch.queue)
    if answer[0] in {b"duplicate", b"full"}:
        return refused(batch.queue, answer)
    seqs, seen, ids = answer
    return Pushed(
        [UUID(bytes=id) for id in cut(ids, 16)] if ids else [each.id for each in batch.messages],
        list(map(int, cut(seqs, 16))),
        frozenset(place for place, flag in enumerate(seen) if flag == ord("1")),
    )
