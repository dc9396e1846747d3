"""litequeue: no workers, no handler; one message a call."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from litequeue import LiteQueue

from benchmarks.peers.adapters.peer import PullPeer
from benchmarks.peers.adapters.serve import serve

if TYPE_CHECKING:
    from collections.abc import Sequence


class Lite(PullPeer):
    """A connection for pushing and one for taking, as its README has one a process."""

    def describe(self) -> dict[str, Any]:
        return {
            "version": version("litequeue"),
            "settings": "WAL; PRAGMA synchronous=FULL on its connection (its own NORMAL can lose what was"
            " committed); many messages in its transaction(); pop() and done() one by one, it has"
            " no other; history kept; runs no handler; asks again after 1 ms when empty",
        }

    def open(self, url: str, *, make: bool) -> None:  # noqa: ARG002 - it makes its table in any case
        self.url = url
        self.putting, self.taking = self._connected(), self._connected()

    def _connected(self) -> LiteQueue:
        queue = LiteQueue(f"{self.url}/queue.db", timeout=30)
        queue.conn.execute("PRAGMA synchronous = FULL")
        return queue

    def push(self, message: dict[str, Any]) -> None:
        self.putting.put(json.dumps(message))

    def push_many(self, messages: Sequence[dict[str, Any]]) -> None:
        with self.putting.transaction():
            for message in messages:
                self.putting.put(json.dumps(message))

    def take(self) -> list[int]:
        found = self.taking.pop()
        if found is None:
            return []
        self.taking.done(found.message_id)
        return [json.loads(found.data)["n"]]

    def left(self) -> int:
        row = self.putting.conn.execute(
            f"SELECT count(*) FROM {self.putting.table} WHERE status < 2"
        ).fetchone()
        return int(row[0])

    def seed(self, finished: int, body: str) -> int:
        """Messages that are done."""
        self.putting.conn.execute(
            "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?) "
            f"INSERT INTO {self.putting.table} SELECT ?, printf('0%015d', n), 2, n, n, n FROM numbers",
            (finished, body),
        )
        return finished


if __name__ == "__main__":
    serve(Lite())
