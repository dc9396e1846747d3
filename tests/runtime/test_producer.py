"""Producers gather messages, wait for the store, and drop nothing."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

import rowmq
from rowmq import Inject, InvalidSetting, QueueFull, RowMQError, StoreUnavailable
from tests.runtime.working import eventually

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from uuid import UUID

    from rowmq.core.message import Message
    from tests.servers import Server


class Calls(rowmq.Middleware):
    """Notes the size of each batch that was pushed."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def on_pushed(self, queue: str, messages: Sequence[Message]) -> None:
        self.sizes.append(len(messages))


def test_full_batches_go_together_and_the_rest_at_close(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    calls = Calls()
    mq.use(calls)
    with q.producer(batch=100, linger=60) as producer:
        ids = [producer.push(number) for number in range(250)]
    assert [record.id for record in q.find()] == ids
    assert calls.sizes == [100, 100, 50]


def test_a_partial_batch_goes_after_the_linger(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    with q.producer(batch=100, linger=0.05) as producer:
        producer.push("alone")
        eventually(lambda: q.stats().ready == 1, "the linger")
        producer.push("later")
        eventually(lambda: q.stats().ready == 2, "the next linger")


def test_a_batch_of_one_is_in_the_store_when_push_returns(mq: rowmq.Client) -> None:
    q = mq.queue("q", max_length=1)
    with q.producer() as producer:
        id = producer.push({"n": 1}, metadata={"v": "1"}, priority=3)
        record = mq.get(id)
        assert record is not None
        assert record.metadata == {"v": "1"}
        with pytest.raises(QueueFull):
            producer.push("too many")


def test_a_full_buffer_makes_the_pusher_wait(sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        q = mq.queue("q")
        blocker = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")  # the store takes nothing meanwhile
        producer = q.producer(batch=10, buffer=30, linger=0)
        pushed: list[int] = []

        def push_all() -> None:
            for number in range(60):
                producer.push(number)
                pushed.append(number)

        thread = threading.Thread(target=push_all)
        thread.start()
        eventually(lambda: len(pushed) >= 30, "a full buffer")
        time.sleep(0.2)
        assert 30 <= len(pushed) <= 41  # the buffer, one batch on its way, and the one that waits
        blocker.execute("ROLLBACK")
        blocker.close()
        thread.join(60)
        producer.close()
        assert q.stats().ready == 60


def test_pushes_outlive_an_outage_of_the_store_and_are_not_doubled(own_postgres: Server) -> None:
    with rowmq.connect(own_postgres.url) as mq:
        q = mq.queue("q")
        producer = q.producer(batch=10, linger=0.01)
        for number in range(50):
            producer.push(number)
        own_postgres.kill()
        for number in range(50, 100):
            producer.push(number)
        time.sleep(0.5)
        own_postgres.restart()
        producer.close()
        assert sorted(record.payload for record in q.find()) == list(range(100))


def test_what_the_store_refuses_is_raised_by_the_next_call_with_the_ids(memory: rowmq.Client) -> None:
    q = memory.queue("q", max_length=5)
    producer = q.producer(batch=10, linger=60)
    ids = [producer.push(number) for number in range(10)]
    with pytest.raises(QueueFull) as caught:
        producer.flush()
    assert "10 messages were not pushed" in caught.value.__notes__[0]
    assert str(ids[0]) in caught.value.__notes__[0]
    producer.close()


def test_what_the_store_refuses_goes_to_the_callback_if_there_is_one(memory: rowmq.Client) -> None:
    q = memory.queue("q", max_length=5)
    refused: list[tuple[Exception, list[UUID]]] = []
    with q.producer(batch=10, on_error=lambda error, ids: refused.append((error, ids))) as producer:
        ids = [producer.push(number) for number in range(10)]
    assert [(type(error), given) for error, given in refused] == [(QueueFull, ids)]


def test_a_callback_that_fails_does_not_stop_the_producer(memory: rowmq.Client) -> None:
    q = memory.queue("q", max_length=5)

    def broken(error: Exception, ids: list[UUID]) -> None:
        raise ValueError("callback")

    producer = q.producer(batch=10, linger=60, on_error=broken)
    for number in range(10):
        producer.push(number)
    with pytest.raises(QueueFull):
        producer.flush()
    q.configure(max_length=None)
    with pytest.raises(ValueError, match="callback"):
        producer.push("next")
    producer.push("and on")
    producer.close()
    assert q.stats().ready == 1


def test_giving_up_after_a_while_says_so(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'q.db'}"
    with rowmq.connect(url) as mq:
        q = mq.queue("q")
        producer = q.producer(batch=2, linger=0.01)
        _fail(mq)
        producer.push(1)
        with pytest.raises(StoreUnavailable, match="still waiting for the store"):
            producer.flush(0.2)
        with pytest.raises(StoreUnavailable):
            producer.close(0.2)
    with pytest.raises(RowMQError, match="this producer is closed"):
        producer.push("late")


def _fail(mq: rowmq.Client) -> None:
    """Let the store's pushes fail as those of a server that is down."""

    def away(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("away")

    mq.store.push = away  # type: ignore[method-assign]


def test_injected_metadata_is_on_every_message_and_the_messages_own_wins(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    mq.use(Inject(lambda: {"host": "web-1", "v": "1"}))
    with q.producer(batch=10) as producer:
        producer.push("a", metadata={"v": "2"})
    q.push_many(["b"])
    mq.topic("t").subscribe("s")
    mq.topic("t").publish("c")
    assert [record.metadata for record in q.find()] == [
        {"host": "web-1", "v": "2"},
        {"host": "web-1", "v": "1"},
    ]
    assert [record.metadata["host"] for record in mq.queue("s").find()] == ["web-1"]


@pytest.mark.parametrize("options", [{"batch": 0}, {"batch": 10, "buffer": 5}, {"linger": -1}])
def test_sizes_that_cannot_be_are_refused(memory: rowmq.Client, options: Any) -> None:
    with pytest.raises(InvalidSetting, match="a producer needs batch >= 1"):
        memory.queue("q").producer(**options)


def test_a_producer_goes_on_in_a_forked_child(sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        q = mq.queue("q")
        with q.producer(batch=10, linger=0.01) as producer:
            producer.push("parent")
            producer.flush()
            child = os.fork()
            if not child:
                with suppress(BaseException):
                    producer.push("child")
                    producer.flush(5)
                os._exit(0)
            os.waitpid(child, 0)
        assert sorted(record.payload for record in q.find()) == ["child", "parent"]


def test_a_producer_that_nobody_closed_pushes_what_it_has_at_exit(sqlite_url: str) -> None:
    code = (
        f"import rowmq; mq = rowmq.connect({sqlite_url!r})\n"
        "p = mq.queue('q').producer(batch=100, linger=60)\n"
        "for number in range(30): p.push(number)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    with rowmq.connect(sqlite_url) as mq:
        assert mq.queue("q").stats().ready == 30
