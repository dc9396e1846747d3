"""PostgreSQL behind PgBouncer in transaction mode: no session of ours is the same one twice."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import rowmq
from tests.servers import PgBouncer, Server, ServerMissingError, skip_or_fail, start_together

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def bouncer_url(own_postgres: Server) -> Iterator[str]:
    try:
        bouncer = PgBouncer(own_postgres)
    except ServerMissingError as missing:
        skip_or_fail(missing)
    start_together([bouncer])
    yield f"{bouncer.url}?prepare=off"
    bouncer.close()


def test_messages_are_pushed_claimed_retried_and_settled_behind_a_bouncer(bouncer_url: str) -> None:
    with rowmq.connect(bouncer_url) as mq:
        q = mq.queue("q", backoff={"first": 0})
        seen: list[Any] = []
        lock = threading.Lock()

        @q.handler
        def handle(message: rowmq.ClaimedMessage) -> None:
            if message.attempt == 1 and message.payload % 10 == 0:
                raise ValueError("again")
            with lock:
                seen.append(message.payload)

        for start in range(0, 500, 50):
            q.push_many(range(start, start + 50), group="g" if start == 0 else None)
        mq.work(stop_when_empty=True, concurrency=8)
        assert sorted(seen) == list(range(500))
        assert [number for number in seen if number < 50] == list(range(50))
        assert q.stats().done == 500


def test_a_worker_behind_a_bouncer_finds_new_messages_by_polling(bouncer_url: str) -> None:
    with rowmq.connect(bouncer_url) as mq, rowmq.connect(bouncer_url) as pusher:
        q = mq.queue("q")
        started = threading.Event()
        q.handler(lambda _: started.set())
        worker = mq.worker(poll=0.3)
        worker.start()
        time.sleep(0.5)  # it is waiting now, for a NOTIFY that will not come
        pusher.push("q", "x")
        assert started.wait(60)
        worker.stop(60)
