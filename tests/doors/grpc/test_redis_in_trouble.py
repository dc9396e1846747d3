"""A Redis that is full, read-only, loading or gone: what callers of gRPC are told, and what is left."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import grpc
import pytest

from rowmq.stores import open_store
from rowmq.stores.grpc import rowmq_pb2 as wire
from tests.doors.grpc.serving import Caller, serving
from tests.servers import Server, connect_redis
from tests.stores.test_redis_server import configured, served

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis

PATH = "/rowmq.v1.RowMQ"


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
        yield found


def push(caller: Caller, count: int = 1) -> int:
    asked = wire.PushRequest(queue="emails", messages=[wire.NewMessage(payload=b"1") for _ in range(count)])
    return len(caller(f"{PATH}/Push", asked, wire.PushResponse).ids)


def claimed(caller: Caller) -> int:
    return len(caller(f"{PATH}/Claim", wire.ClaimRequest(queue="emails"), wire.ClaimResponse).messages)


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
        assert claimed(caller) == 1
    assert push(caller) == 1


def test_a_read_only_redis_takes_nothing_and_is_there_again_as_it_was(
    caller: Caller, admin: redis.Redis
) -> None:
    push(caller)
    admin.replicaof("127.0.0.1", "1")
    code, sentence = refused(caller)
    admin.replicaof("NO", "ONE")
    assert code is grpc.StatusCode.UNAVAILABLE
    assert "takes no writes now" in sentence
    assert claimed(caller) == 1


def test_a_redis_that_is_gone_and_then_loading_is_unavailable_and_has_lost_nothing(
    caller: Caller, server: Server, admin: redis.Redis
) -> None:
    push(caller, 1000)
    admin.bgrewriteaof()
    while admin.info("persistence")["aof_rewrite_in_progress"]:
        time.sleep(0.02)
    server.kill()
    assert refused(caller)[0] is grpc.StatusCode.UNAVAILABLE
    server.restart()
    assert refused(caller)[0] is grpc.StatusCode.UNAVAILABLE
    while admin.info("persistence")["loading"]:
        time.sleep(0.05)
    assert claimed(caller) == 1
    asked = wire.ClaimRequest(queue="emails", limit=1000)
    assert len(caller(f"{PATH}/Claim", asked, wire.ClaimResponse).messages) == 999
