"""RowMQ, with the settings it has when nobody sets any."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import text

import rowmq
from benchmarks.peers.adapters.peer import Peer
from benchmarks.peers.adapters.seeding import seed_redis, seed_sql
from benchmarks.peers.adapters.serve import serve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowmq.stores.redis.store import RedisStore

DRIVERS = {
    "postgres": ("SQLAlchemy", "psycopg"),
    "mysql": ("SQLAlchemy", "PyMySQL"),
    "redis": ("redis",),
    "sqlite": ("SQLAlchemy",),
}


class RowMQ(Peer):
    """A worker in one process, its handler a plain function."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.clients = DRIVERS[kind]
        self.queue: Any = None

    def describe(self) -> dict[str, Any]:
        """What it is, and how long it keeps what is finished as soon as there is a queue to ask."""
        kept = self.queue.settings().retention if self.queue else "as long as the queue says"
        return {
            "version": version("rowmq"),
            "settings": "defaults: 8 threads, claims of up to 1000, durable; finished messages are kept:"
            f" {kept}; batches of 1000",
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
            return int(stats.ready + stats.leased + stats.scheduled)
        with database.engine.connect() as connection:
            return int(connection.execute(text("SELECT count(*) FROM rowmq_pending")).scalar_one())

    def seed(self, finished: int, body: str) -> int:
        database = getattr(self.mq.store, "database", None)
        if database is None:
            return seed_redis(cast("RedisStore", self.mq.store), finished, body)
        return seed_sql(database.engine, finished, body)


if __name__ == "__main__":
    serve(RowMQ(sys.argv[1]))
