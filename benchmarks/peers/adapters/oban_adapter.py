"""oban for Python."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from oban import Oban as Instance
from oban import worker
from oban.schema import install

from benchmarks.peers.adapters.peer import AsyncPeer
from benchmarks.peers.adapters.serve import serve

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT = 20
"""Its default is 10; of 20, 100 and 500 this was the fastest here."""
POOL = 20


class Oban(AsyncPeer):
    """One queue whose limit is also how many jobs it fetches at once."""

    clients = ("psycopg",)

    def describe(self) -> dict[str, Any]:
        return {
            "version": version("oban"),
            "settings": f"queue limit {LIMIT}: as many jobs are fetched at once; pool of {POOL};"
            " enqueue_many; NOTIFY on; jobs kept (its default of a day); acks are one statement a job,"
            " batches of acks are for its paid edition",
        }

    def open(self, url: str, *, make: bool) -> None:
        self.url = url
        peer = self

        @worker(queue="q", oban="client")
        class Job:
            async def process(self, job: Any) -> None:
                peer.handle(job.args["n"])

        self.job: Any = Job
        self.run(self._open(make=make))

    async def _open(self, *, make: bool) -> None:
        self.pool = await Instance.create_pool(self.url, min_size=2, max_size=POOL)
        if make:
            await install(self.pool)
        self.client = Instance(pool=self.pool, name="client")

    async def apush(self, message: dict[str, Any]) -> None:
        await self.client.enqueue(self.job.new(message))

    def push_many(self, messages: Sequence[dict[str, Any]]) -> None:
        self.run(self.client.enqueue_many([self.job.new(message) for message in messages]))

    def start(self) -> None:
        self.run(self._start())

    async def _start(self) -> None:
        self.server = Instance(pool=self.pool, name="server", queues={"q": LIMIT})
        await self.server.start()

    def stop(self) -> None:
        self.run(self.server.stop())

    def left(self) -> int:
        return int(self.run(self._left()))

    async def _left(self) -> int:
        states = "'available', 'scheduled', 'executing', 'retryable'"
        query = f"SELECT count(*) FROM oban_jobs WHERE state IN ({states})"
        async with self.pool.connection() as connection:
            row = await (await connection.execute(query)).fetchone()
        return int(row[0])

    def seed(self, finished: int, body: str) -> int:
        """Jobs that are completed."""
        self.run(self._seed(finished, body))
        return finished

    async def _seed(self, finished: int, body: str) -> None:
        async with self.pool.connection() as connection:
            await connection.execute(
                "INSERT INTO oban_jobs (state, queue, worker, args, attempted_at, completed_at)"
                " SELECT 'completed', 'q', 'Job', %s::jsonb, now(), now() FROM generate_series(1, %s)",
                (body, finished),
            )


if __name__ == "__main__":
    serve(Oban())
