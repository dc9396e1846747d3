"""dramatiq on Redis: its own command starts the workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from benchmarks.peers.adapters.peer import PipePeer, tell
from benchmarks.peers.adapters.serve import serve

PROCESSES = os.cpu_count() or 1
THREADS = 32
"""Its default is 8; these were the faster here, where every write waits for the disk."""
PREFETCH = 1000
MODULE = "benchmarks.peers.adapters.dramatiq_adapter:broker"

broker = RedisBroker(url=os.environ.get("PEERS_URL", "redis://127.0.0.1"))
dramatiq.set_broker(broker)


@dramatiq.actor
def job(n: int, text: str) -> None:  # noqa: ARG001 - a payload has a text
    """Do nothing but say so."""
    tell(n)


class Dramatiq(PipePeer):
    """Its own command, with more threads."""

    clients = ("redis",)

    def describe(self) -> dict[str, Any]:
        return {
            "version": dramatiq.__version__,
            "settings": f"{PROCESSES} processes (its default) of {THREADS} threads (of 8 and 32 the faster"
            f" here), dramatiq_queue_prefetch={PREFETCH} (its guide: more for short tasks); its default"
            " middleware; acked after the handler; no batches, no history",
        }

    def open(self, url: str, *, make: bool) -> None:  # noqa: ARG002 - nothing to make
        os.environ["PEERS_URL"] = url
        self.broker = RedisBroker(url=url)
        self.broker.declare_queue("default")

    def push(self, message: dict[str, Any]) -> None:
        self.broker.enqueue(job.message(**message))

    def start(self) -> None:
        command = [sys.executable, "-m", "dramatiq", MODULE]
        self.worker = subprocess.Popen(  # noqa: S603 - dramatiq's own command
            [*command, "--processes", str(PROCESSES), "--threads", str(THREADS)],
            close_fds=False,
            env=os.environ | {"dramatiq_queue_prefetch": str(PREFETCH)},
            stdin=subprocess.DEVNULL,
        )

    def stop(self) -> None:
        self.worker.send_signal(signal.SIGTERM)
        self.worker.wait()

    def left(self) -> int:
        return int(self.broker.client.hlen("dramatiq:default.msgs"))


if __name__ == "__main__":
    serve(Dramatiq())
