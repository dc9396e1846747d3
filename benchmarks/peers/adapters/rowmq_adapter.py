"""RowMQ, with the settings it has when nobody sets any."""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

import rowmq
from benchmarks.peers.adapters.peer import Peer
from benchmarks.peers.adapters.serve import serve

if TYPE_CHECKING:
    from collections.abc import Sequence

COUNTED = (
    "WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {count})"
    " SELECT n FROM counted"
)
NUMBERS = {
    "sqlite": COUNTED,
    "postgresql": "SELECT generate_series(1, {count}) AS n",
    "mysql": "SELECT seq AS n FROM seq_1_to_{count}",
}
IDS = {
    "sqlite": "randomblob(16)",
    "postgresql": "gen_random_uuid()",
    "mysql": "UNHEX(REPLACE(UUID(), '-', ''))",
}
MESSAGES = """INSERT INTO rowmq_messages (seq, id, queue, {binary}, priority, created_at)
SELECT -n, {id}, (SELECT id FROM rowmq_queues WHERE name = 'q'), false, 0, {now} + n
FROM ({numbers}) AS numbers"""
OUTCOMES = """INSERT INTO rowmq_outcomes (seq, queue, state, finished_at, attempts, receives)
SELECT -n, (SELECT id FROM rowmq_queues WHERE name = 'q'), 'done', {now} + n, 1, 1
FROM ({numbers}) AS numbers"""


class RowMQ(Peer):
    """A worker in one process, its handler a plain function."""

    def describe(self) -> dict[str, Any]:
        return {
            "version": version("rowmq"),
            "settings": "defaults: 8 threads, claims of up to 1000, durable, history kept 7 days; batches of"
            " 1000",
        }

    def open(self, url: str, *, make: bool) -> None:
        place = f"sqlite:///{url}/rowmq.db" if url.startswith("/") else url
        self.mq = rowmq.connect(place, migrate=make)
        self.queue = self.mq.queue("q")
        self.mq.handler("q")(lambda message: self.handle(message.payload["n"]))

    def push(self, message: dict[str, Any]) -> None:
        self.queue.push(message)

    def push_many(self, messages: Sequence[dict[str, Any]]) -> None:
        self.queue.push_many(messages)

    def start(self) -> None:
        self.worker = self.mq.worker()
        self.worker.start()

    def stop(self) -> None:
        self.worker.stop()

    def left(self) -> int:
        database = getattr(self.mq.store, "database", None)
        if database is None:  # Redis counts as it goes
            stats = self.queue.stats()
            return stats.ready + stats.leased + stats.scheduled
        with database.engine.connect() as connection:
            return int(connection.execute(text("SELECT count(*) FROM rowmq_pending")).scalar_one())

    def seed(self, finished: int) -> None:
        """Messages as they are after their ack, numbered before all others."""
        database = getattr(self.mq.store, "database", None)
        if database is None:
            super().seed(finished)
            return
        kind = database.engine.dialect.name
        known = {
            "id": IDS[kind],
            "binary": "`binary`" if kind == "mysql" else '"binary"',
            "numbers": NUMBERS[kind].format(count=finished),
            # Finished just now: older ones would be swept while others are timed.
            "now": time.time_ns() // 1000 - finished,
        }
        with database.engine.begin() as connection:
            for statement in (MESSAGES, OUTCOMES):
                connection.execute(text(statement.format(**known)))


if __name__ == "__main__":
    serve(RowMQ())
