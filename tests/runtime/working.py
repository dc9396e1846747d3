"""Words for tests of workers."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import rowmq

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 60.0


def eventually(holds: Callable[[], object], what: str = "it") -> None:
    """Wait until something holds; a generous while, for the machine may be busy."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"{what} did not come about"
        time.sleep(0.005)


@contextmanager
def working(mq: rowmq.Client, *queues: str, **options: Any) -> Iterator[rowmq.Worker]:
    """Have a worker at work meanwhile."""
    worker = mq.worker(*queues, **{"poll": 0.1, "sweep": False, "schedules": False, **options})
    worker.start()
    try:
        yield worker
    finally:
        worker.stop(PATIENCE)


def drain(mq: rowmq.Client, *queues: str, **options: Any) -> None:
    """Work until there is nothing left that is due."""
    mq.worker(*queues, **{"stop_when_empty": True, "sweep": False, "schedules": False, **options}).run(
        stop_timeout=PATIENCE
    )
