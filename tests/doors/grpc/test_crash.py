"""kill -9 of the server in the middle: nothing acknowledged is lost, and streams go on."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest

from rowmq.stores.grpc import rowmq_pb2 as wire
from tests.doors.grpc.gomq import connected
from tests.doors.http.serving import served
from tests.servers import Server, ServerMissingError, free_port, redis_server, skip_or_fail

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

PATH = "/rowmq.v1.RowMQ"
ENOUGH = 300


async def publish(address: str, acknowledged: list[bytes], total: int) -> None:
    """Publish so many messages, each again and again until it is acknowledged."""
    async with grpc.aio.insecure_channel(address) as channel:
        method = channel.unary_unary(
            f"{PATH}/Publish",
            request_serializer=wire.PublishRequest.SerializeToString,
            response_deserializer=wire.PublishResponse.FromString,
        )
        for number in range(total):
            body = b"%d" % number
            asked = wire.PublishRequest(topic="orders", messages=[wire.NewMessage(payload=body)])
            while True:
                try:
                    await method(asked, timeout=5)
                except grpc.aio.AioRpcError:
                    await asyncio.sleep(0.05)
                else:
                    acknowledged.append(body)
                    break


async def consume(address: str, received: Counter[bytes], total: int, subscribed: asyncio.Event) -> None:
    """Receive until everything has come, over one stream after another."""
    resume = ""
    async with grpc.aio.insecure_channel(address) as channel:
        method = channel.stream_stream(
            f"{PATH}/Subscribe",
            request_serializer=wire.SubscribeRequest.SerializeToString,
            response_deserializer=wire.SubscribeResponse.FromString,
        )
        while len(received) < total:
            said: asyncio.Queue[wire.SubscribeRequest] = asyncio.Queue()

            async def requests(said: asyncio.Queue[wire.SubscribeRequest] = said) -> AsyncIterator[Any]:
                while True:
                    yield await said.get()

            start = wire.Start(resume=resume) if resume else wire.Start(topic="orders")
            said.put_nowait(wire.SubscribeRequest(start=start))
            try:
                async for response in method(requests()):
                    resume = response.started.resume or resume
                    subscribed.set()
                    received.update(each.payload for each in response.messages)
                    if response.messages:
                        said.put_nowait(wire.SubscribeRequest(upto=response.messages[-1].number))
                    if len(received) >= total:
                        break
            except grpc.aio.AioRpcError as error:
                assert error.code() is not grpc.StatusCode.NOT_FOUND  # noqa: PT017 - the subscription is there
                await asyncio.sleep(0.05)


async def crash(
    url: str, folder: Path, total: int, received: Counter[bytes], acknowledged: list[bytes]
) -> None:
    port = free_port()
    address, arguments = f"127.0.0.1:{port}", ("--url", url, "--grpc-port", str(port))
    async with asyncio.timeout(200):
        with served(*arguments, folder=folder, ends=False) as first:
            subscribed = asyncio.Event()
            consuming = asyncio.create_task(consume(address, received, total, subscribed))
            await subscribed.wait()  # or what is published before would not come to it
            publishing = asyncio.create_task(publish(address, acknowledged, total))
            while len(received) < total // 3:  # noqa: ASYNC110 - a test looks on
                await asyncio.sleep(0.01)
            first.process.kill()
            await asyncio.to_thread(first.process.wait)
        with served(*arguments, folder=folder):
            await asyncio.gather(publishing, consuming)


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'q.db'}"
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


def stores(*by_default: str) -> pytest.MarkDecorator:
    """Every store; those that are not named only when there is time."""
    every = ("sqlite", "postgres", "redis", "mysql")
    chosen = [pytest.param(each, marks=[] if each in by_default else pytest.mark.soak) for each in every]
    return pytest.mark.parametrize("url", chosen, indirect=True)


@stores("sqlite", "redis")
def test_streams_go_on_after_the_server_was_killed_and_nothing_acknowledged_is_lost(
    url: str, tmp_path: Path
) -> None:
    received: Counter[bytes] = Counter()
    acknowledged: list[bytes] = []
    asyncio.run(crash(url, tmp_path, ENOUGH, received, acknowledged))
    assert len(acknowledged) == ENOUGH
    assert set(received) == set(acknowledged)


@stores("postgres", "redis")
def test_a_consumer_of_gomqs_gets_what_the_killed_server_owed_it(url: str, tmp_path: Path) -> None:
    port = free_port()
    address, arguments = f"127.0.0.1:{port}", ("--url", url, "--grpc-port", str(port))

    async def before() -> None:
        async with connected(address) as peer:
            await peer.subscribe("a", "c")
            for number in range(70):
                await peer.publish("a", b"%d" % number)
            assert len(await peer.observe("c")) == 50  # which it never says it has received

    async def after() -> None:
        async with connected(address) as peer:
            found = await peer.receive("c", 70, patience=60)
            assert [record.value.payload for record in found] == [b"%d" % number for number in range(70)]

    with served(*arguments, folder=tmp_path, ends=False) as first:
        asyncio.run(before())
        first.process.kill()
        first.process.wait()
    with served(*arguments, folder=tmp_path):
        asyncio.run(after())


def test_nothing_acknowledged_is_lost_and_streams_go_on_when_redis_is_killed_in_the_middle(
    tmp_path: Path,
) -> None:
    port, total = free_port(), 200
    address = f"127.0.0.1:{port}"
    acknowledged: list[bytes] = []
    streamed: Counter[bytes] = Counter()

    async def main(redis: Server) -> None:
        async with connected(address) as consumer:
            await consumer.subscribe("orders", "c")
            subscribed = asyncio.Event()
            consuming = asyncio.create_task(consume(address, streamed, total, subscribed))
            await subscribed.wait()  # or what is published before would not come to it
            publishing = asyncio.create_task(publish(address, acknowledged, total))
            while len(acknowledged) < total // 3:  # noqa: ASYNC110 - a test looks on
                await asyncio.sleep(0.01)
            redis.kill()
            redis.restart()
            async with asyncio.timeout(200):
                await asyncio.gather(publishing, consuming)
                received: set[bytes] = set()
                while len(received) < total:
                    with suppress(grpc.aio.AioRpcError):
                        received |= {record.value.payload for record in await consumer.observe("c")}
        assert received == set(streamed) == set(acknowledged)

    try:
        with (
            redis_server(appendonly="yes", appendfsync="always") as redis,
            served("--url", redis.url, "--grpc-port", str(port), folder=tmp_path),
        ):
            asyncio.run(main(redis))
    except ServerMissingError as missing:
        skip_or_fail(missing)
