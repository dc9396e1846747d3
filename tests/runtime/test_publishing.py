"""What many callers publish at once: one call for each topic, and each its own answer."""

from collections.abc import Sequence
from typing import Any

import pytest

from rowmq.core.errors import QueueFull, StoreUnavailable
from rowmq.core.message import Message
from rowmq.runtime import publishing
from rowmq.runtime.publishing import Publishing
from rowmq.stores.fresh import new_id
from rowmq.stores.memory import MemoryStore


def said(*bodies: bytes) -> list[Message]:
    return [Message(id=new_id(), body=body, binary=True) for body in bodies]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def calls(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    real = store.topics.publish

    def publish(topic: str, messages: Sequence[Message], **rest: Any) -> int:
        found.append(len(messages))
        return real(topic, messages, **rest)

    monkeypatch.setattr(store.topics, "publish", publish)
    return found


def bound(store: MemoryStore, topic: str, queue: str, **settings: Any) -> None:
    store.queues.put(queue, settings)
    store.topics.bind(topic, queue)


def test_callers_of_one_topic_share_a_call_and_are_told_how_many_queues(
    store: MemoryStore, calls: list[int]
) -> None:
    bound(store, "orders", "billing")
    answers = Publishing(store)([("orders", said(b"1")), ("other", said(b"2")), ("orders", said(b"3", b"4"))])
    assert answers == [1, 0, 1]
    assert calls == [3, 1]
    assert store.queues.stats("billing").ready == 3


def test_a_batch_that_is_refused_hurts_only_its_sender(store: MemoryStore) -> None:
    bound(store, "orders", "billing", max_length=2)
    answers = Publishing(store)(
        [("orders", said(b"1")), ("orders", said(b"2", b"3")), ("orders", said(b"4"))]
    )
    assert [answers[0], type(answers[1]), answers[2]] == [1, QueueFull, 1]
    assert store.queues.stats("billing").ready == 2


def test_a_store_that_is_away_is_everybodys_answer_and_is_asked_once(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def away(topic: str, messages: Sequence[Message]) -> int:
        asked.append(topic)
        raise StoreUnavailable("away")

    monkeypatch.setattr(store.topics, "publish", away)
    answers = Publishing(store)([("orders", said(b"1")), ("orders", said(b"2"))])
    assert [type(each) for each in answers] == [StoreUnavailable] * 2
    assert asked == ["orders"]


def test_a_topic_with_many_queues_is_published_to_in_smaller_calls(
    store: MemoryStore, calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "ROWS", 6)
    for number in range(3):
        bound(store, "orders", f"queue {number}")
    together = Publishing(store)
    together([("orders", said(b"0"))])
    assert together([("orders", said(b"1")) for _ in range(4)]) == [3] * 4
    assert calls == [1, 2, 2]
