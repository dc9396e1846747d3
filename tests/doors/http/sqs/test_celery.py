"""Celery and kombu over their SQS transport, with a real worker."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kombu
import pytest
from celery import Celery

from rowmq.runtime.client import Client
from tests.doors.http.sqs.celery_app import make, options

PATIENCE = 60
ROOT = Path(__file__).parents[4]


class Place:
    """A folder and a server, and whoever works there."""

    def __init__(self, endpoint: str, folder: Path, prefix: str) -> None:
        self.host, self.folder, self.prefix = endpoint.partition("//")[2], folder, prefix
        self.app: Celery = make(self.host, prefix, folder)

    def result(self, task: str, *arguments: object, **how: Any) -> Any:
        """What a task answers."""
        return self.app.send_task(task, arguments, **how).get(timeout=PATIENCE, interval=0.02)

    @contextmanager
    def worker(self) -> Iterator["subprocess.Popen[bytes]"]:
        """Run a worker for a while; what it says is in the folder."""
        command = [sys.executable, "-m", "celery", "-A", "tests.doors.http.sqs.celery_app", "worker"]
        environment = {
            "CELERY_HOST": self.host,
            "CELERY_PREFIX": self.prefix,
            "CELERY_FOLDER": str(self.folder),
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        with (self.folder / "worker.log").open("ab") as log:
            process = subprocess.Popen(
                [*command, "--pool", "threads", "--concurrency", "2", "--loglevel", "INFO"],
                cwd=ROOT,
                env={**os.environ, **environment},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.fixture
def place(endpoint: str, tmp_path: Path, name: str) -> Iterator[Place]:
    made = Place(endpoint, tmp_path, f"{name}-")
    yield made
    made.app.close()


def eventually(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_tasks_are_done_tried_again_and_told_to_have_failed(place: Place, mq: Client) -> None:
    with place.worker():
        assert place.result("add", 1, 2) == 3
        assert place.result("third_time") == 2
        with pytest.raises(ValueError, match="as it should"):
            place.result("fail")
        many = [place.app.send_task("add", (number, number)) for number in range(30)]
        assert [each.get(timeout=PATIENCE, interval=0.02) for each in many] == [2 * n for n in range(30)]
        sent = time.time()
        assert place.result("clock", countdown=1) >= sent + 1
        jobs = mq.queue(f"{place.prefix}jobs")
        assert eventually(lambda: jobs.stats().leased == 0)
    assert (jobs.stats().ready, jobs.stats().dead) == (0, 0)
    assert jobs.stats().done >= 36


def test_a_task_whose_worker_is_killed_is_done_by_the_next(place: Place) -> None:
    with place.worker() as first:
        task = place.app.send_task("die_once")
        assert first.wait(PATIENCE) == -9
    with place.worker():
        assert task.get(timeout=PATIENCE, interval=0.02) == "done"


def test_what_kombu_sends_to_a_fanout_exchange_arrives_in_every_queue(place: Place, mq: Client) -> None:
    news = kombu.Exchange("news", type="fanout")
    queues = [kombu.Queue(f"reader-{number}", exchange=news) for number in range(2)]
    got: list[tuple[str, object]] = []

    def take(body: object, message: Any) -> None:
        got.append((message.delivery_info["routing_key"], body))
        message.ack()

    address = f"sqs://anybody:anything@{place.host}/"
    with (
        kombu.Connection(address, transport_options=options(place.prefix)) as connection,
        connection.Consumer(queues, callbacks=[take]),
    ):
        bound = [f"{place.prefix}reader-{number}" for number in range(2)]
        assert mq.topics()[f"{place.prefix}news"] == bound
        connection.Producer().publish({"n": 1}, exchange=news, declare=[news])
        while len(got) < 2:
            connection.drain_events(timeout=PATIENCE)
    assert [body for _, body in got] == [{"n": 1}, {"n": 1}]
    assert all(mq.queue(name).stats().done == 1 for name in bound)
