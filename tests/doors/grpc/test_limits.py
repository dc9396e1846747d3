"""What no caller can do to the gRPC server, whoever it is."""

from __future__ import annotations

import queue
import random
import socket
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from rowmq.doors.grpc import serving as server
from rowmq.stores.grpc import rowmq_pb2 as wire
from rowmq.stores.memory.store import MemoryStore
from tests.doors.grpc.serving import Caller, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
QUEUES = "/rowmq.v1.RowMQ/ListQueues"
SUBSCRIBE = "/rowmq.v1.RowMQ/Subscribe"


@pytest.fixture
def address() -> Iterator[str]:
    store = MemoryStore()
    store.queues.put("q")
    with serving(store) as found:
        yield found


def answers(address: str) -> bool:
    with Caller(address) as call:
        found = call(QUEUES, wire.ListQueuesRequest(), wire.ListQueuesResponse)
        return "q" in {each.name for each in found.queues}


def test_random_bytes_do_no_harm(address: str) -> None:
    host, port = address.split(":")
    chance = random.Random(7)  # noqa: S311 - the same bytes each time, no secret
    for number in range(60):
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall((PREFACE if number % 2 else b"") + chance.randbytes(chance.randrange(1, 3000)))
    assert answers(address)


def test_too_much_metadata_is_refused(address: str) -> None:
    with Caller(address) as call:
        call.metadata = (("x-large", "x" * 2 * server.LARGEST_METADATA),)
        code, _ = call.refused(QUEUES, wire.ListQueuesRequest(), wire.ListQueuesResponse)
    assert code == "RESOURCE_EXHAUSTED"
    assert answers(address)


def subscribed(call: Caller) -> tuple[Any, queue.Queue[wire.SubscribeRequest | None]]:
    said: queue.Queue[wire.SubscribeRequest | None] = queue.Queue()
    said.put(wire.SubscribeRequest(start=wire.Start(topic="t")))
    stream = call.streamed(SUBSCRIBE, iter(said.get, None), wire.SubscribeResponse, wire.SubscribeRequest)
    return stream, said


def test_one_connection_has_only_so_many_streams_and_another_has_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "STREAMS", 2)
    store = MemoryStore()
    store.queues.put("q")
    with serving(store) as address, Caller(address) as call:
        streams = [subscribed(call) for _ in range(2)]
        for stream, _ in streams:
            assert next(stream).HasField("started")
        with pytest.raises(grpc.RpcError) as refused:
            call(QUEUES, wire.ListQueuesRequest(), wire.ListQueuesResponse, timeout=0.5)
        assert refused.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert answers(address)
        for stream, said in streams:
            said.put(None)
            stream.cancel()


def test_more_calls_than_the_server_takes_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CALLS", 1)
    store = MemoryStore()
    store.queues.put("q")
    with serving(store) as address, Caller(address) as call:
        stream, said = subscribed(call)
        assert next(stream).HasField("started")
        code, _ = call.refused(QUEUES, wire.ListQueuesRequest(), wire.ListQueuesResponse)
        assert code == "RESOURCE_EXHAUSTED"
        said.put(None)
        stream.cancel()
