"""Streams: what they hold, what they lose, and that a subscription has one at a time."""

from __future__ import annotations

import time
from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from rowmq.core.delivery import Settlement, Want
from rowmq.core.outcome import ACK
from rowmq.doors.grpc import subscription
from rowmq.stores.grpc import rowmq_pb2 as wire
from rowmq.stores.grpc import writing
from rowmq.stores.memory import MemoryStore
from tests.doors.grpc.serving import Caller, serving
from tests.doors.grpc.subscribing import PATH, Stream, eventually, publish, said

if TYPE_CHECKING:
    from collections.abc import Iterator

SECOND = timedelta(seconds=1)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def address(store: MemoryStore) -> Iterator[str]:
    with serving(store) as found:
        yield found


@pytest.fixture
def caller(address: str) -> Iterator[Caller]:
    with Caller(address) as found:
        yield found


def push(caller: Caller, *payloads: bytes) -> None:
    caller(f"{PATH}/Push", wire.PushRequest(queue="q", messages=said(*payloads)), wire.PushResponse)


def told(stream: Stream) -> tuple[str, str]:
    """How a stream ended."""
    with pytest.raises(grpc.RpcError) as ended:
        list(stream.call)
    return ended.value.code().name, str(ended.value.details())


REPLACED = ("ABORTED", "another stream goes on with this subscription")


def test_a_message_that_is_held_past_its_lease_comes_once(caller: Caller, store: MemoryStore) -> None:
    store.queues.put("q")
    stream, extended = Stream(caller, queue="q", lease=Duration(nanos=300_000_000)), []
    real = store.extend
    store.extend = lambda *asked, **rest: extended.append(1) or real(*asked, **rest)  # type: ignore[func-returns-value,method-assign]
    assert stream.started.queue == "q"
    push(caller, b"1")
    (first,) = stream.messages(1)
    eventually(lambda: len(extended) > 5)  # each a third of the lease after the one before
    assert store.claim("q", [Want()]) == [[]]
    stream.say(upto=first.number)
    answer = next(stream.call)
    assert (answer.upto, list(answer.lost), len(answer.messages)) == (1, [], 0)
    assert store.queues.stats("q")[:4] == (0, 0, 0, 1)


def test_an_ack_that_came_too_late_is_said_to_be_lost(caller: Caller, store: MemoryStore) -> None:
    store.queues.put("q", {"lease": timedelta(hours=1)})
    stream = Stream(caller, queue="q")
    assert stream.started.queue == "q"
    push(caller, b"1", b"2", b"3")
    stream.messages(3)
    later = store.now() + timedelta(hours=2)
    (other,) = store.claim("q", [Want()], now=later)
    assert [each.body for each in other] == [b"1"]
    stream.say(upto=3)
    answer = next(stream.call)
    assert (answer.upto, list(answer.lost)) == (3, [1])
    assert store.settle([Settlement(other[0].receipt, ACK)]) == ["settled"]


def test_a_stream_that_is_resumed_has_ended(caller: Caller, store: MemoryStore) -> None:
    former = Stream(caller, topic="orders")
    resume = former.started.resume
    publish(caller, "orders", b"1")
    former.messages(1)
    again = Stream(caller, resume=resume)
    assert again.started.resume == resume
    assert told(former) == REPLACED
    assert [each.payload for each in again.messages(1)] == [b"1"]
    publish(caller, "orders", b"2")
    assert [each.payload for each in again.messages(1)] == [b"2"]
    assert len(store.consumers.list(resume)) == 1


def test_a_stream_whose_client_does_not_read_gives_everything_to_the_one_that_resumes_it(
    caller: Caller, store: MemoryStore
) -> None:
    former = Stream(caller, topic="orders")
    resume = former.started.resume
    for _ in range(20):
        publish(caller, "orders", bytes(2**20))
    eventually(lambda: store.queues.stats(resume).leased > 1)
    again = Stream(caller, resume=resume)
    assert again.started.resume == resume
    assert len(again.messages(20)) == 20
    for number in range(5):
        publish(caller, "orders", b"%d" % number)
    assert {each.payload for each in again.messages(5)} == {b"%d" % number for number in range(5)}
    former.call.cancel()


def test_a_stream_that_is_resumed_at_another_server_has_ended(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "ALIVE", SECOND)
    with ExitStack() as stack:
        here, there = (
            stack.enter_context(Caller(stack.enter_context(serving(store, run=run)))) for run in ("a", "b")
        )
        former = Stream(here, topic="orders")
        resume = former.started.resume
        again = Stream(there, resume=resume)
        assert again.started.resume == resume
        assert told(former) == REPLACED
        publish(there, "orders", b"1", b"2")
        assert [each.payload for each in again.messages(2)] == [b"1", b"2"]
        again.call.cancel()


def test_a_stream_that_was_forgotten_while_the_store_was_away_goes_on(
    caller: Caller, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "ALIVE", timedelta(seconds=0.5))
    stream = Stream(caller, topic="orders")
    resume = stream.started.resume
    (name,) = (each.name for each in store.consumers.list(resume))
    store.consumers.retire(resume, name)
    eventually(lambda: [each.name for each in store.consumers.list(resume)] == [name])
    publish(caller, "orders", b"1")
    assert [each.payload for each in stream.messages(1)] == [b"1"]


def made(store: MemoryStore, name: str, age: timedelta = timedelta(0)) -> None:
    """A subscription of a stream's own that has no beat yet."""
    tags = {"rowmq": subscription.KIND, "topic": "t", "since": (store.now() - age).isoformat()}
    store.queues.put(name, {"tags": tags})


def test_subscriptions_in_the_making_are_not_cleared(store: MemoryStore) -> None:
    made(store, "young")
    made(store, "old", subscription.ALIVE + SECOND)
    made(store, "alive", subscription.ALIVE + SECOND)
    store.consumers.beat("alive", "stream", SECOND)
    subscription.clear(store)
    assert [each.name for each in store.queues.list()] == ["alive", "young"]


def test_a_subscription_made_while_others_are_cleared_stays(store: MemoryStore) -> None:
    made(store, "old", subscription.ALIVE + SECOND)
    real = store.consumers.list

    def late(*asked: Any, **rest: Any) -> Any:
        found = real(*asked, **rest)
        made(store, "new")
        store.consumers.beat("new", "stream", SECOND)
        return found

    store.consumers.list = late  # type: ignore[method-assign]
    subscription.clear(store)
    assert [each.name for each in store.queues.list()] == ["new"]


def test_subscriptions_outlive_an_outage_and_a_restart_by_as_long_as_they_outlive_their_stream(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "ALIVE", timedelta(seconds=0.5))
    made(store, "its beats were missed", SECOND)
    dropped: list[float] = []
    started = store.now()
    real = store.queues.drop

    def drop(name: str, **rest: Any) -> bool:
        dropped.append((store.now() - started).total_seconds())
        return real(name, **rest)

    store.queues.drop = drop  # type: ignore[method-assign]
    with serving(store, patience=timedelta(seconds=0.6)):
        eventually(lambda: store.queues.list() == [])
    assert dropped[0] >= 0.5


def test_a_claim_has_as_many_messages_as_an_answer_holds_and_the_others_are_not_counted(
    caller: Caller, store: MemoryStore
) -> None:
    store.queues.put("q")
    for _ in range(5):
        push(caller, bytes(2**20))
    asked = wire.ClaimRequest(queue="q", limit=5)
    found = caller(f"{PATH}/Claim", asked, wire.ClaimResponse)
    assert len(found.messages) == 2
    assert found.ByteSize() < 4 * 2**20
    eventually(lambda: store.queues.stats("q").ready == 3)
    (rest,) = store.claim("q", [Want(limit=5)])
    assert [each.attempt for each in rest] == [1] * 3


def test_a_single_message_may_be_larger_than_an_answer(caller: Caller, store: MemoryStore) -> None:
    store.queues.put("q")
    push(caller, bytes(8 * 2**20))
    (found,) = caller(f"{PATH}/Claim", wire.ClaimRequest(queue="q", limit=5), wire.ClaimResponse).messages
    assert len(found.payload) == 8 * 2**20


def test_what_was_claimed_for_somebody_who_goes_away_before_the_answer_leaves_is_given_back(
    caller: Caller, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.queues.put("q")
    push(caller, b"1")
    real = writing.delivered

    def slowly(*said: Any, **rest: Any) -> wire.Delivered:
        time.sleep(0.4)  # until the caller's patience is over
        return real(*said, **rest)

    monkeypatch.setattr(writing, "delivered", slowly)
    with pytest.raises(grpc.RpcError) as late:
        caller(f"{PATH}/Claim", wire.ClaimRequest(queue="q"), wire.ClaimResponse, timeout=0.2)
    assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    eventually(lambda: store.queues.stats("q").ready == 1)
    (found,) = store.claim("q", [Want()])[0]
    assert found.attempt == 1
