"""RowMQ, with the settings it has when nobody sets any."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

import rowmq
from benchmarks.peers.adapters.serve import Peer, serve

if TYPE_CHECKING:
    from collections.abc import Sequence

SEEDS = {
    "sqlite": "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count) ",
    "postgresql": "WITH numbers(n) AS (SELECT generate_series(1, :count)) ",
}
IDS = {
    "sqlite": "randomblob(16)",
    "postgresql": "gen_random_uuid()",
}


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
        engine = self.mq.store.database.engine  # type: ignore[attr-defined]
        kind = engine.dialect.name
        if kind not in SEEDS:
            super().seed(finished)
        numbers = f"{SEEDS[kind]}INSERT INTO"
        with engine.begin() as connection:
            run = {"count": finished}
            connection.execute(text(f"{numbers} {MESSAGES.format(id=IDS[kind])}"), run)
            connection.execute(text(f"{numbers} {OUTCOMES}"), run)


MESSAGES = """rowmq_messages (seq, id, queue, body, "binary", priority, created_at)
SELECT -n, {id}, (SELECT id FROM rowmq_queues WHERE name = 'q'), NULL, false, 0, 1700000000000000 + n
FROM numbers"""
OUTCOMES = """rowmq_outcomes (seq, queue, state, finished_at, attempts, receives)
SELECT -n, (SELECT id FROM rowmq_queues WHERE name = 'q'), 'done', 1700000000000000 + n, 1, 1 FROM numbers"""

if __name__ == "__main__":
    serve(RowMQ())
