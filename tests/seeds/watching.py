"""Waiting for something to become true, and workers and processes that end with the test."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from textwrap import dedent
from typing import Any, TypeVar

from rowmq import Client, Worker, WorkerState

T = TypeVar("T")


def eventually(condition: Callable[[], T], *, within: float = 60.0) -> T:
    """What the condition says as soon as it says something; a test fails if it never does."""
    end = time.monotonic() + within
    while not (found := condition()):
        assert time.monotonic() < end, f"nothing came within {within} seconds"
        time.sleep(0.01)
    return found


@contextmanager
def working(mq: Client, *queues: str, **options: Any) -> Iterator[Worker]:
    """A worker that has been started and is stopped at the end, if the test has not stopped it."""
    worker = mq.worker(*queues, **options)
    worker.start()
    try:
        yield worker
    finally:
        with suppress(WorkerState):
            worker.stop(60)


@contextmanager
def process(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Another Python process, killed at the end."""
    command = [sys.executable, "-c", dedent(code), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.kill()


def said(running: subprocess.Popen[str]) -> str:
    """The next line that a process prints."""
    assert running.stdout is not None
    return running.stdout.readline().strip()
