"""rq on Redis: its own command starts a worker that does not fork for each job."""

from __future__ import annotations

import signal
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from redis import Redis
from rq import Queue

from benchmarks.peers.adapters.peer import PipePeer, tell
from benchmarks.peers.adapters.serve import serve

if TYPE_CHECKING:
    from collections.abc import Sequence

WORKERS = 8
"""More than there are cores: every write waits for the disk, and many wait together."""
JOB = "benchmarks.peers.adapters.rq_adapter.job"


def job(n: int, text: str) -> None:  # noqa: ARG001 - a payload has a text
    """Do nothing but say so."""
    tell(n)


class Rq(PipePeer):
    """Workers of the kind its docs recommend for many short jobs."""

    clients = ("redis",)

    def describe(self) -> dict[str, Any]:
        return {
            "version": version("rq"),
            "settings": f"{WORKERS} SimpleWorkers (of 2 and 8 the faster here), which run jobs without a fork"
            " each (its docs: for short jobs); JSON; enqueue_many; result_ttl=0: finished jobs are not"
            " kept, less to write",
        }

    def open(self, url: str, *, make: bool) -> None:  # noqa: ARG002 - nothing to make
        self.url = url
        self.redis = Redis.from_url(url)
        self.queue = Queue("q", connection=self.redis, serializer="rq.serializers.JSONSerializer")

    def push(self, message: dict[str, Any]) -> None:
        self.queue.enqueue(JOB, kwargs=message, result_ttl=0)

    def push_many(self, messages: Sequence[dict[str, Any]]) -> None:
        self.queue.enqueue_many(
            [Queue.prepare_data(JOB, kwargs=message, result_ttl=0) for message in messages]
        )

    def start(self) -> None:
        command = [sys.executable, "-m", "rq.cli", "worker", "q", "--url", self.url, "--quiet"]
        kind = ["--worker-class", "rq.worker.SimpleWorker", "--serializer", "rq.serializers.JSONSerializer"]
        self.workers = [
            subprocess.Popen(  # noqa: S603 - rq's own command
                [*command, *kind], close_fds=False, stdin=subprocess.DEVNULL
            )
            for _ in range(WORKERS)
        ]

    def stop(self) -> None:
        for worker in self.workers:
            worker.send_signal(signal.SIGTERM)
        for worker in self.workers:
            worker.wait()

    def left(self) -> int:
        return int(self.queue.count) + int(self.queue.started_job_registry.count)


if __name__ == "__main__":
    serve(Rq())
