"""pgqueuer on asyncpg, which its benchmarks show to be its faster driver."""

from __future__ import annotations

import asyncio
import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import asyncpg
import uvloop
from pgqueuer import AsyncpgDriver, PgQueuer, Queries

from benchmarks.peers.adapters.peer import AsyncPeer
from benchmarks.peers.adapters.serve import serve

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH = 500
"""Its default is 10; of 10, 100, 500 and 1000 this was the fastest here."""


class Pgqueuer(AsyncPeer):
    """One entrypoint; enqueued singly and in lists."""

    clients = ("asyncpg", "uvloop")

    def describe(self) -> dict[str, Any]:
        return {
            "version": version("pgqueuer"),
            "settings": f"asyncpg and uvloop, as in its own benchmark; batch_size={BATCH}, which also batches"
            " its log; its tables as `pgq autovac` sets them; durable (its default); log kept",
        }

    def open(self, url: str, *, make: bool) -> None:
        self.url = url
        self.run(self._open(make=make))

    async def _open(self, *, make: bool) -> None:
        self.queries = Queries(AsyncpgDriver(await asyncpg.connect(self.url)))
        if make:
            await self.queries.install()
            await self.queries.optimize_autovacuum()

    async def apush(self, message: dict[str, Any]) -> None:
        await self.queries.enqueue("job", json.dumps(message).encode())

    def push_many(self, messages: Sequence[dict[str, Any]]) -> None:
        bodies = [json.dumps(message).encode() for message in messages]
        self.run(self.queries.enqueue(["job"] * len(bodies), bodies, [0] * len(bodies)))

    def start(self) -> None:
        self.worker = self.spawn(self._work())

    async def _work(self) -> None:
        connection = await asyncpg.connect(self.url)
        self.pgq = PgQueuer(AsyncpgDriver(connection))

        @self.pgq.entrypoint("job")
        async def job(given: Any) -> None:
            self.handle(json.loads(given.payload)["n"])

        try:
            await self.pgq.qm.run(batch_size=BATCH)
        finally:
            await connection.close()

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.pgq.shutdown.set)
        self.worker.result(timeout=60)

    def left(self) -> int:
        rows = self.run(self.queries.driver.fetch("SELECT count(*) AS n FROM pgqueuer"))
        return int(rows[0]["n"])

    def seed(self, finished: int, body: str) -> int:  # noqa: ARG002 - its log has no payloads
        """Jobs in its log."""
        self.run(
            self.queries.driver.execute(
                "INSERT INTO pgqueuer_log (job_id, status, priority, entrypoint)"
                " SELECT n, 'successful', 0, 'job' FROM generate_series(1, $1::bigint) n",
                finished,
            )
        )
        return finished


if __name__ == "__main__":
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    serve(Pgqueuer())
