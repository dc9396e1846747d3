"""A standalone cluster of the Spark that is installed: a master and some workers, on loopback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
HOME = Path(pyspark.__file__).parent
LOOPBACK = "127.0.0.1"


class Cluster:
    """A master, and workers of one core each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.url = f"spark://{LOOPBACK}:{self._port}"
        self._started = 0
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, workers: int) -> None:
        self._run("Master", "--host", LOOPBACK, "--port", str(self._port), "--webui-port", "0")
        _wait_for(self._port)
        for _ in range(workers):
            self.add_worker()

    def add_worker(self) -> None:
        folder = self._folder / f"worker-{self._started}"
        options = ("--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(folder))
        self._run("Worker", "--host", LOOPBACK, *options, self.url)

    def kill_worker(self) -> None:
        """kill -9 of a worker and of the executors and Python processes below it."""
        _kill(self._processes.pop(1))

    def stop(self) -> None:
        for process in self._processes:
            _kill(process)

    def _run(self, role: str, *arguments: str) -> None:
        command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{role.lower()}.{role}"]
        environment = {
            **os.environ,
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
        }
        log = (self._folder / f"{role}-{self._started}.log").open("wb")
        with log:
            started = subprocess.Popen(
                [*command, *arguments], env=environment, stdout=log, stderr=log, start_new_session=True
            )
        self._processes.append(started)
        self._started += 1


@contextmanager
def cluster(folder: Path, *, workers: int = 2) -> Iterator[Cluster]:
    """A cluster that is there, and gone afterwards."""
    made = Cluster(folder)
    try:
        made.start(workers)
        yield made
    finally:
        made.stop()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and everything that it started: all of that is in its session."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _session(int(entry.name)) == process.pid:
            os.kill(int(entry.name), signal.SIGKILL)
    process.wait()


def _session(process: int) -> int | None:
    try:
        return os.getsid(process)
    except ProcessLookupError:
        return None


def _wait_for(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex((LOOPBACK, port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(f"nothing listens at {port}")
