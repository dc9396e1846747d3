"""Registered consumers: their places, their shares, and those that are forgotten."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import Any

import pytest

import rowmq
from rowmq import InvalidSetting
from rowmq.engine import Batch, Message
from tests.runtime.working import eventually


def test_consumers_know_their_index_in_birth_order_and_how_many_they_are(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    with ExitStack() as stack:
        three = [stack.enter_context(q.consumer(beat=0.05, check_every=1, missed=100)) for _ in range(3)]
        eventually(lambda: [c.count for c in three] == [3, 3, 3], "knowing each other")
        assert [c.index for c in three] == [0, 1, 2]
        three[0].close()
        eventually(lambda: [(c.index, c.count) for c in three[1:]] == [(0, 2), (1, 2)], "moving up")
    assert mq.consumers("q") == []


def test_a_consumer_pops_its_own_share_first_and_others_when_idle(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    q.push_many(range(20))
    with q.consumer(batch=5, name="a") as a, q.consumer(batch=5, name="b"):
        own = [message.receipt.seq % 2 for message in a.pop()]
        assert own in ([0] * 5, [1] * 5)
        rest = [message.receipt.seq % 2 for _ in range(3) for message in a.pop()]
        assert sorted(own + rest) == [0] * 10 + [1] * 10  # the others' too: nobody came for them
        assert a.pop() == []


def test_a_consumer_that_was_forgotten_registers_again(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    with q.consumer(beat=0.1, name="a") as a:
        mq.store.consumers.retire("q", "a")
        eventually(lambda: [each.name for each in mq.consumers("q")] == ["a"], "registering again")
        assert a.count == 1


def test_run_acks_what_returns_and_retries_what_raises(mq: rowmq.Client) -> None:
    q = mq.queue("q", backoff={"first": 0})
    tries: list[Any] = []

    def process(payload: Any) -> None:
        tries.append(payload)
        if payload == "bad" and tries.count("bad") < 3:
            raise ValueError("no")

    bad = q.push("bad")
    q.push("good")
    with q.consumer() as consumer:
        consumer.run(process, stop_when_empty=True)
    assert sorted(tries) == ["bad", "bad", "bad", "good"]
    assert q.stats().done == 2
    assert [each.error for each in mq.failures(bad)] == ["ValueError: no"] * 2


def test_run_buries_what_it_cannot_read(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    id = rowmq.new_id()
    mq.store.push([Batch("q", [Message(id=id, body=b"{")])])
    seen: list[Any] = []
    with q.consumer() as consumer:
        consumer.run(seen.append, stop_when_empty=True)
    record = mq.get(id)
    assert record is not None
    assert (record.reason, seen) == ("invalid", [])


def test_a_consumer_can_be_looped_over(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    q.push_many(range(5))
    seen = []
    with q.consumer(batch=2) as consumer:
        for message in consumer:
            message.ack()
            seen.append(message.payload)
            if len(seen) == 5:
                consumer.close()
    assert seen == list(range(5))


def test_closing_stops_a_run(memory: rowmq.Client) -> None:
    q = memory.queue("q")
    consumer = q.consumer()
    thread = threading.Thread(target=consumer.run, args=[lambda _: None])
    thread.start()
    consumer.close()
    consumer.close()
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize("options", [{"beat": 0}, {"check_every": 0}, {"missed": 0}, {"batch": 0}])
def test_options_that_cannot_be_are_refused(memory: rowmq.Client, options: Any) -> None:
    with pytest.raises(InvalidSetting):
        memory.queue("q").consumer(**options)
    assert memory.consumers() == []


def test_a_consumer_is_registered_again_when_its_deleted_queue_is_made_anew(memory: rowmq.Client) -> None:
    q = memory.queue("q")
    with q.consumer(beat=0.02, name="one"):
        q.delete()
        time.sleep(0.1)  # a few beats find no queue
        memory.queue("q")
        eventually(lambda: [each.name for each in memory.consumers("q")] == ["one"], "being registered")
