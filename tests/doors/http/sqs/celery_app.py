"""A Celery application that knows nothing of RowMQ: its broker is SQS, where the environment says it is."""

import os
import signal
import time
from pathlib import Path

from celery import Celery, Task

FOLDER = Path(os.environ.get("CELERY_FOLDER", "."))


def options(prefix: str) -> dict[str, object]:
    """How kombu is to use SQS."""
    return {
        "region": "us-east-1",
        "queue_name_prefix": prefix,
        "visibility_timeout": 3,
        "wait_time_seconds": 2,
        "polling_interval": 0.1,
        "supports_fanout": True,
    }


def make(host: str, prefix: str, folder: Path) -> Celery:
    """The application, for workers and for those who send to them."""
    app = Celery("work")
    app.conf.update(
        broker_url=f"sqs://anybody:anything@{host}/",
        broker_transport_options=options(prefix),
        broker_connection_retry_on_startup=True,
        result_backend=f"file://{folder}",
        task_default_queue="jobs",
        task_acks_late=True,
        worker_prefetch_multiplier=1,
    )
    return app


app = make(os.environ.get("CELERY_HOST", "localhost"), os.environ.get("CELERY_PREFIX", ""), FOLDER)


@app.task(name="add")  # type: ignore[untyped-decorator]
def add(one: int, other: int) -> int:
    return one + other


@app.task(name="third_time", bind=True, max_retries=3)  # type: ignore[untyped-decorator]
def third_time(self: Task) -> int:
    """Fail twice, and be tried again each time.

    A little later: Celery sends the next try before it writes down that this one is to be repeated, and the
    other thread could be done by then, its result overwritten.
    """
    if self.request.retries < 2:
        raise self.retry(countdown=1)
    return int(self.request.retries)


@app.task(name="fail")  # type: ignore[untyped-decorator]
def fail() -> None:
    raise ValueError("as it should")


@app.task(name="clock")  # type: ignore[untyped-decorator]
def clock() -> float:
    return time.time()


@app.task(name="die_once")  # type: ignore[untyped-decorator]
def die_once() -> str:
    """Take the whole worker along, the first time."""
    mark = FOLDER / "died"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"
