"""Message move tasks as they are kept: in the tags of the queue that messages are moved out of."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from rowmq.core.errors import QueueNotFound
from rowmq.core.history import Amendment, Record
from rowmq.core.outcome import State
from rowmq.core.queue import Queue
from rowmq.core.store import Store
from rowmq.doors.http.sqs.reserved import MOVES

KEPT = 10
"""How many tasks of a queue are remembered."""
STEP = 500
"""How many messages are moved at once where no rate was asked for."""
STEPS_A_SECOND = 5
LOST_SOURCE = "CouldNotDetermineMessageSource"
LOST_QUEUE = "AWS.SimpleQueueService.NonExistentQueue"


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """One task: where to, how fast, and how far it is. Times in milliseconds, as AWS says them."""

    handle: str
    status: str = "RUNNING"
    destination: str | None = None
    rate: int | None = None
    moved: int = 0
    total: int = 0
    started: int = 0
    reason: str | None = None

    @property
    def active(self) -> bool:
        """Whether anything is still to be done."""
        return self.status in {"RUNNING", "CANCELLING"}

    @property
    def step(self) -> int:
        """How many messages go at once."""
        return STEP if self.rate is None else max(1, self.rate // STEPS_A_SECOND)

    @property
    def pause(self) -> float:
        """Seconds between two steps."""
        return 0.0 if self.rate is None else self.step / self.rate


def moves_of(queue: Queue) -> list[Move]:
    """The tasks of a queue, newest first."""
    return msgspec.json.decode(queue.tags.get(MOVES, "[]"), type=list[Move])


def active_move(queue: Queue) -> Move | None:
    """The task that is under way, if one is."""
    return next((move for move in moves_of(queue) if move.active), None)


def with_moves(queue: Queue, moves: Iterable[Move]) -> dict[str, Any]:
    """The change of a queue that keeps these tasks."""
    text = msgspec.json.encode(list(moves)[:KEPT]).decode()
    return {"tags": {**queue.tags, MOVES: text}}


def advanced(queue: Queue, handle: str, moved: int, status: str, reason: str | None) -> Mapping[str, Any]:
    """The change of a queue whose task has come so much further."""
    moves = moves_of(queue)
    return with_moves(
        queue, [_advanced(move, moved, status, reason) if move.handle == handle else move for move in moves]
    )


def _advanced(move: Move, moved: int, status: str, reason: str | None) -> Move:
    if status == "RUNNING":
        status = move.status  # somebody may have had it cancelled in the meantime
    return msgspec.structs.replace(move, moved=move.moved + moved, status=status, reason=reason)


def advance(store: Store, source: str, move: Move) -> tuple[int, str, str | None]:
    """Move some messages: how many, the task's status afterwards, and why if it has failed."""
    if move.status == "CANCELLING":
        return 0, "CANCELLED", None
    room = min(move.step, max(0, move.total - move.moved))
    records = store.history.find(source, state=State.READY, limit=room).records if room else ()
    if not records:
        return 0, "COMPLETED", None
    try:
        moved = _move(store, records, move.destination)
    except QueueNotFound:
        return 0, "FAILED", LOST_QUEUE
    return (moved, "RUNNING", None) if moved else (0, "FAILED", LOST_SOURCE)


def _move(store: Store, records: Sequence[Record], destination: str | None) -> int:
    """Move messages to the destination, or back to where each one came from."""
    ids: dict[str, list[UUID]] = defaultdict(list)
    for record in records:
        to = destination or record.source
        if to is not None:
            ids[to].append(record.id)
    return sum(store.history.amend(some, Amendment.MOVE, to=to) for to, some in ids.items())


def handle_of(task: UUID, source_arn: str) -> str:
    """A task's handle: it says which queue's task it is."""
    return urlsafe_b64encode(json.dumps({"taskId": str(task), "sourceArn": source_arn}).encode()).decode()


def source_of(handle: str) -> str | None:
    """The ARN of the queue that a handle's task is of; None if it is no handle."""
    try:
        said = json.loads(urlsafe_b64decode(handle.encode()))
        arn = said["sourceArn"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return arn if isinstance(arn, str) else None
