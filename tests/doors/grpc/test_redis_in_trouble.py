"""A Redis that is full, read-only, loading or gone: what callers of gRPC are told, and what is left."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import grpc
import pytest

from rowmq.doors.grpc import routeguide_pb2 as gomq
from rowmq.stores import open_store
from rowmq.stores.grpc import rowmq_pb2 as wire
from rowmq.stores.redis import server as asking
from tests.doors.grpc.serving import Caller, serving
from tests.doors.grpc.subscribing import PATH, Stream, eventually
from tests.servers import Server, connect_redis
from tests.stores.test_redis_server import configured, served
from tests.timing import timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import redis

GOMQ = "/routeguide.RouteGuide"


@pytest.fixture
def server() -> Iterator[Server]:
    with served(**{"key-load-delay": "2000", "loading-process-events-interval-bytes": "1024"}) as found:
        yield found


@pytest.fixture
def admin(server: Server) -> Iterator[redis.Redis]:
    with connect_redis(server.url) as connection:
        yield connection


@pytest.fixture
def caller(server: Server) -> Iterator[Caller]:
    with closing(open_store(server.url)) as store, serving(store) as address, Caller(address) as found:
        store.queues.put("emails")
        found(f"{GOMQ}/Subscribe", gomq.Subscription(key="k", consumerID="c"), gomq.Result)
        publish(found)
        yield found


def push(caller: Caller, count: int = 1) -> int:
    asked = wire.PushRequest(queue="emails", messages=[wire.NewMessage(payload=b"1") for _ in range(count)])
    return len(caller(f"{PATH}/Push", asked, wire.PushResponse).ids)


def claimed(caller: Caller) -> int:
    return len(caller(f"{PATH}/Claim", wire.ClaimRequest(queue="emails"), wire.ClaimResponse).messages)


def publish(caller: Caller) -> None:
    caller(f"{GOMQ}/Publish", gomq.PublishRecord(key="k", payload=b"1"), gomq.Result)


def observed(caller: Caller) -> int:
    asked = gomq.Identification(consumerID="c")
    return len(caller(f"{GOMQ}/Observe", asked, gomq.RecordSet).records)


def streamed(caller: Caller) -> None:
    """Have one message over a stream, and hang up."""
    stream = Stream(caller, queue="emails", credit=1)
    try:
        assert len(stream.messages(1)) == 1
    finally:
        stream.call.cancel()


def told(caller: Caller) -> dict[str, str]:
    """What callers of each kind are told, all at once."""
    calls: dict[str, Callable[[Caller], object]] = {
        "Push": push, "Publish": publish, "Observe": observed, "Subscribe": streamed,
    }  # fmt: skip

    def code(call: Callable[[Caller], object]) -> str:
        try:
            call(caller)
        except grpc.RpcError as error:
            return "the address" if "127.0.0.1" in str(error.details()) else str(error.code().name)
        return "OK"

    with ThreadPoolExecutor() as pool:
        return dict(zip(calls, pool.map(code, calls.values()), strict=True))


AWAY = dict.fromkeys(("Push", "Publish", "Observe", "Subscribe"), "UNAVAILABLE")


def refused(caller: Caller) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as raised:
        push(caller)
    sentence = str(raised.value.details())
    assert "127.0.0.1" not in sentence
    return raised.value.code(), sentence


def test_a_full_redis_takes_nothing_more_and_gives_what_it_has(caller: Caller, admin: redis.Redis) -> None:
    push(caller, 2)
    with configured(admin, maxmemory="1"):
        assert refused(caller) == (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "the store has no room left, and nothing was written",
        )
        full = {"Push": "RESOURCE_EXHAUSTED", "Publish": "RESOURCE_EXHAUSTED"}
        assert told(caller) == full | {"Observe": "OK", "Subscribe": "OK"}
        eventually(lambda: claimed(caller) == 1)
    assert push(caller) == 1


def test_a_read_only_redis_takes_nothing_and_is_there_again_as_it_was(
    caller: Caller, admin: redis.Redis
) -> None:
    push(caller)
    admin.replicaof("127.0.0.1", "1")
    code, sentence = refused(caller)
    others = told(caller)
    admin.replicaof("NO", "ONE")
    assert (code, others) == (grpc.StatusCode.UNAVAILABLE, AWAY)
    assert "takes no writes now" in sentence
    assert claimed(caller) == 1
    eventually(lambda: observed(caller) == 1)


@timed
def test_a_redis_that_is_gone_and_then_loading_is_unavailable_and_has_lost_nothing(
    caller: Caller, server: Server, admin: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PATIENCE", 0.2)  # or it has loaded before the last caller is answered
    push(caller, 1000)
    admin.bgrewriteaof()
    while admin.info("persistence")["aof_rewrite_in_progress"]:
        time.sleep(0.02)
    server.kill()
    assert told(caller) == AWAY
    server.restart()
    assert told(caller) == AWAY
    while admin.info("persistence")["loading"]:
        time.sleep(0.05)
    assert claimed(caller) == 1
    asked = wire.ClaimRequest(queue="emails", limit=1000)
    assert len(caller(f"{PATH}/Claim", asked, wire.ClaimResponse).messages) == 999
    eventually(lambda: observed(caller) == 1)
