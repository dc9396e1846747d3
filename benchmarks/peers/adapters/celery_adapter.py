"""celery on Redis: its own command starts the worker, whose children run the handler."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import celery
from redis import Redis

from benchmarks.peers.adapters.peer import PipePeer, tell
from benchmarks.peers.adapters.serve import serve

CONCURRENCY = os.cpu_count() or 1
PREFETCH = 128
MODULE = "benchmarks.peers.adapters.celery_adapter"

app = celery.Celery(MODULE, broker=os.environ.get("PEERS_URL", ""))
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    worker_prefetch_multiplier=PREFETCH,
    task_create_missing_queues=True,
    broker_transport_options={"visibility_timeout": 3600},
    worker_hijack_root_logger=False,
)


@app.task(name="job")
def job(n: int, text: str) -> None:  # noqa: ARG001 - a payload has a text
    """Do nothing but say so."""
    tell(n)


class Celery(PipePeer):
    """The prefork pool."""

    clients = ("kombu", "redis")

    def describe(self) -> dict[str, Any]:
        return {
            "version": celery.__version__,
            "settings": f"prefork, {CONCURRENCY} processes; worker_prefetch_multiplier={PREFETCH} (its guide"
            " on optimizing: 64 or 128 for short tasks); ignore_result; without gossip, mingle and"
            " heartbeat; task_acks_late, or a killed worker would lose what it took; no batches,"
            " no history",
        }

    def open(self, url: str, *, make: bool) -> None:  # noqa: ARG002 - nothing to make
        app.conf.broker_url = os.environ["PEERS_URL"] = url
        self.redis = Redis.from_url(url)

    def push(self, message: dict[str, Any]) -> None:
        job.delay(**message)

    def start(self) -> None:
        command = [sys.executable, "-m", "celery", "-A", MODULE, "worker", "--loglevel", "ERROR"]
        quick = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        self.worker = subprocess.Popen(  # noqa: S603 - celery's own command
            [*command, *quick, "--concurrency", str(CONCURRENCY)],
            close_fds=False,
            stdin=subprocess.DEVNULL,
        )

    def stop(self) -> None:
        self.worker.send_signal(signal.SIGTERM)
        self.worker.wait()

    def left(self) -> int:
        return int(self.redis.llen("celery")) + int(self.redis.hlen("unacked"))


if __name__ == "__main__":
    serve(Celery())
