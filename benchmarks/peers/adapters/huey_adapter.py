"""huey on SQLite."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from huey import SqliteHuey

from benchmarks.peers.adapters.peer import Peer
from benchmarks.peers.adapters.serve import serve

WORKERS = 2
"""One was slower here, four were not faster."""


class Huey(Peer):
    """Its consumer, in threads of this process."""

    def describe(self) -> dict[str, Any]:
        return {
            "version": version("huey"),
            "settings": "SqliteHuey(fsync=True), WAL, results=False (its docs: when they are not used),"
            f" consumer with {WORKERS} threads; asks again after 1 to 10 ms when empty; a task is"
            " deleted before it runs, so a killed consumer loses it; no history; no batches",
        }

    def open(self, url: str, *, make: bool) -> None:  # noqa: ARG002 - it makes its tables in any case
        self.huey = SqliteHuey("q", filename=f"{url}/huey.db", fsync=True, results=False, timeout=30)

        @self.huey.task()
        def job(n: int, text: str) -> None:  # noqa: ARG001 - a payload has a text
            self.handle(n)

        self.job = job

    def push(self, message: dict[str, Any]) -> None:
        self.job(**message)

    def start(self) -> None:
        # The shortest delays that it takes: polling is all it can do on SQLite.
        self.consumer = self.huey.create_consumer(
            workers=WORKERS, periodic=False, initial_delay=0.001, max_delay=0.01, backoff=1.15
        )
        self.consumer.start()

    def stop(self) -> None:
        self.consumer.stop(graceful=True)

    def left(self) -> int:
        return int(self.huey.pending_count())


if __name__ == "__main__":
    serve(Huey())
