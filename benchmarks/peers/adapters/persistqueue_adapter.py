"""persist-queue on SQLite: no workers, no handler.

persistqueue_adapter.py          one message a transaction, with acks
persistqueue_adapter.py batch    auto_commit=False: what was put or taken is committed by task_done
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from persistqueue import Empty, SQLiteAckQueue, SQLiteQueue
from persistqueue.serializers import json as serializer

from benchmarks.peers.adapters.peer import PullPeer
from benchmarks.peers.adapters.serve import serve

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH = 1000


class Acked(PullPeer):
    """SQLiteAckQueue: put, get, ack."""

    def describe(self) -> dict[str, Any]:
        return {
            "version": version("persist-queue"),
            "settings": "SQLiteAckQueue, multithreading, WAL with SQLite's default synchronous=FULL, JSON;"
            " clear_acked_data every 1000, as its README asks; runs no handler; asks again after 1"
            " ms when empty",
        }

    def open(self, url: str, *, make: bool) -> None:  # noqa: ARG002 - it makes its table in any case
        self.queue = SQLiteAckQueue(url, multithreading=True, serializer=serializer, auto_resume=False)
        self.taken = 0

    def push(self, message: dict[str, Any]) -> None:
        self.queue.put(message)

    def take(self) -> list[int]:
        try:
            found = self.queue.get(block=False, raw=True)
        except Empty:
            return []
        self.queue.ack(id=found["pqid"])
        self.taken += 1
        if self.taken % BATCH == 0:
            self.queue.clear_acked_data(max_delete=BATCH, keep_latest=0)
        return [found["data"]["n"]]

    def left(self) -> int:
        row = self.queue._getter.execute("SELECT count(*) FROM ack_queue_default WHERE status < 5").fetchone()  # noqa: SLF001
        return int(row[0])


class Batched(PullPeer):
    """SQLiteQueue without auto_commit: many puts or gets, then task_done."""

    def describe(self) -> dict[str, Any]:
        return {
            "version": version("persist-queue"),
            "settings": f"SQLiteQueue(auto_commit=False), task_done every {BATCH} puts or gets, its README's"
            " way to more speed; WAL, synchronous=FULL, JSON; one consumer; no history; runs no"
            " handler",
        }

    def open(self, url: str, *, make: bool) -> None:  # noqa: ARG002 - it makes its table in any case
        self.queue = SQLiteQueue(url, multithreading=True, auto_commit=False, serializer=serializer)

    def push(self, message: dict[str, Any]) -> None:
        self.push_many([message])

    def push_many(self, messages: Sequence[dict[str, Any]]) -> None:
        for message in messages:
            self.queue.put(message)
        self.queue.task_done()

    def take(self) -> list[int]:
        numbers: list[int] = []
        try:
            while len(numbers) < BATCH:
                numbers.append(self.queue.get(block=False)["n"])
        except Empty:
            pass
        if numbers:
            self.queue.task_done()
        return numbers

    def left(self) -> int:
        row = self.queue._getter.execute("SELECT count(*) FROM queue_default").fetchone()  # noqa: SLF001
        return int(row[0])


if __name__ == "__main__":
    serve(Batched() if "batch" in sys.argv else Acked())
