"""procrastinate: one worker, many tasks at once on its event loop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import procrastinate

from benchmarks.peers.adapters.peer import AsyncPeer
from benchmarks.peers.adapters.serve import serve

if TYPE_CHECKING:
    from collections.abc import Sequence

CONCURRENCY = 20
POLLING = 0.1
"""Its default of 5 s is what a message waits for when its wake-up comes while the worker is fetching."""


class Procrastinate(AsyncPeer):
    """An async task, deferred with defer_async and batch_defer_async."""

    clients = ("psycopg",)

    def describe(self) -> dict[str, Any]:
        return {
            "version": version("procrastinate"),
            "settings": f"async task, concurrency={CONCURRENCY} (its how-to on concurrency),"
            " batch_defer_async, LISTEN on, fetch_job_polling_interval=0.1 for wake-ups that come while it"
            " fetches, jobs kept (delete_jobs='never', its default); it"
            " fetches one job a call",
        }

    def open(self, url: str, *, make: bool) -> None:
        self.app = procrastinate.App(
            connector=procrastinate.PsycopgConnector(conninfo=url, max_size=CONCURRENCY + 4)
        )

        @self.app.task(name="job", queue="q")
        async def job(n: int, text: str) -> None:  # noqa: ARG001 - a payload has a text
            self.handle(n)

        self.job = job
        self.run(self._open(make=make))

    async def _open(self, *, make: bool) -> None:
        await self.app.open_async()
        if make:
            await self.app.schema_manager.apply_schema_async()

    async def apush(self, message: dict[str, Any]) -> None:
        await self.job.defer_async(**message)

    def push_many(self, messages: Sequence[dict[str, Any]]) -> None:
        self.run(self.job.batch_defer_async(*messages))

    def start(self) -> None:
        self.worker = self.spawn(self._work())

    async def _work(self) -> None:
        """Its worker stops in good order when its task is cancelled; how it ended is of no interest then."""
        self.task = asyncio.create_task(
            self.app.run_worker_async(
                queues=["q"],
                concurrency=CONCURRENCY,
                fetch_job_polling_interval=POLLING,
                install_signal_handlers=False,
            )
        )
        with suppress(asyncio.CancelledError):
            await self.task

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.task.cancel)
        self.worker.result(timeout=60)

    def left(self) -> int:
        row = self.run(
            self.app.connector.execute_query_one_async(
                "SELECT count(*) AS n FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
            )
        )
        return int(row["n"])

    def seed(self, finished: int, body: str) -> int:
        """Jobs that succeeded."""
        self.run(
            self.app.connector.execute_query_async(
                "INSERT INTO procrastinate_jobs (queue_name, task_name, status, args)"
                " SELECT 'q', 'job', 'succeeded', %(body)s::jsonb FROM generate_series(1, %(n)s)",
                n=finished,
                body=body,
            )
        )
        return finished


if __name__ == "__main__":
    serve(Procrastinate())
