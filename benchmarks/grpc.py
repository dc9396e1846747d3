"""What the gRPC server makes of messages: published one by one and in streams, and delivered in streams.

    python -m benchmarks.grpc [--store sqlite] [--messages 20000] [--rounds 3] [--callers 64] [--json]

The server is a process of its own and the store is durable. Messages have 100 bytes, and one queue is bound
to the topic they are published to. Beside them stands an empty unary call, answered with a constant. A
delivery counts when the client has it; clients ack each frame. Everything is measured in turn, round by
round, and the figures are medians.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import grpc.aio
from grpc_health.v1 import health_pb2

from benchmarks.places import places
from rowmq.stores.grpc import rowmq_pb2 as wire
from tests.doors.http.serving import served
from tests.servers import free_port, fresh_redis_prefix, private_redis

KINDS = ("sqlite", "postgres", "mysql", "redis")
SERVICE = "/rowmq.v1.RowMQ"
BODY = b"x" * 100
BATCH, LARGE = 100, 1000
FANS = (1, 10, 100)
OWN = (("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1))


class Figure(NamedTuple):
    """Messages, or calls, a second."""

    store: str
    what: str
    rate: float


class Server(NamedTuple):
    """A server's address, and a connection to it."""

    address: str
    channel: grpc.aio.Channel

    def unary(self, path: str, gives: Any) -> Any:
        """A unary method."""
        return self.channel.unary_unary(
            path,
            request_serializer=lambda asked: asked.SerializeToString(),
            response_deserializer=gives.FromString,
        )


def messages(count: int) -> list[wire.NewMessage]:
    """So many messages to publish."""
    return [wire.NewMessage(payload=BODY) for _ in range(count)]


async def empty(server: Server, count: int, callers: int) -> float:
    """Empty calls a second."""
    check = server.unary("/grpc.health.v1.Health/Check", health_pb2.HealthCheckResponse)
    return await _by_callers(lambda: check(health_pb2.HealthCheckRequest()), count, callers)


async def unary(server: Server, count: int, callers: int) -> float:
    """Messages a second, one a call."""
    publish = server.unary(f"{SERVICE}/Publish", wire.PublishResponse)
    asked = wire.PublishRequest(topic="measured", messages=messages(1))
    return await _by_callers(lambda: publish(asked), count, callers)


async def _by_callers(call: Callable[[], Awaitable[Any]], count: int, callers: int) -> float:
    async def some() -> None:
        for _ in range(count // callers):
            await call()

    began = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(callers)))
    return count // callers * callers / (time.perf_counter() - began)


async def streamed(server: Server, count: int, batch: int) -> float:
    """Messages a second, over one stream, so many a frame."""
    publish: Any = server.channel.stream_unary(
        f"{SERVICE}/PublishStream",
        request_serializer=wire.PublishRequest.SerializeToString,
        response_deserializer=wire.PublishStreamResponse.FromString,
    )
    asked = wire.PublishRequest(topic="measured", messages=messages(batch))
    began = time.perf_counter()
    found = await publish(asked for _ in range(count // batch))
    return float(found.messages / (time.perf_counter() - began))


async def delivered(server: Server, count: int, fans: int) -> float:
    """Messages a second that so many subscribers get, each of them all, together."""
    topic = f"to {fans}"
    each, started = max(BATCH, count // fans), asyncio.Barrier(fans + 1)
    receiving = [asyncio.create_task(_receive(server.address, topic, each, started)) for _ in range(fans)]
    await started.wait()
    publish = server.unary(f"{SERVICE}/Publish", wire.PublishResponse)
    for _ in range(each // BATCH):
        await publish(wire.PublishRequest(topic=topic, messages=messages(BATCH)))
    began = time.perf_counter()
    await started.wait()
    await asyncio.gather(*receiving)
    return each // BATCH * BATCH * fans / (time.perf_counter() - began)


async def _receive(address: str, topic: str, count: int, started: asyncio.Barrier) -> None:
    """Subscribe, and when everything is published read it all, acking frame by frame."""
    said: asyncio.Queue[wire.SubscribeRequest | None] = asyncio.Queue()

    async def requests() -> AsyncIterator[wire.SubscribeRequest]:
        while (each := await said.get()) is not None:
            yield each

    said.put_nowait(wire.SubscribeRequest(start=wire.Start(topic=topic, credit=1000)))
    async with grpc.aio.insecure_channel(address, options=OWN) as channel:
        subscribe: Any = channel.stream_stream(
            f"{SERVICE}/Subscribe",
            request_serializer=wire.SubscribeRequest.SerializeToString,
            response_deserializer=wire.SubscribeResponse.FromString,
        )
        call, got = subscribe(requests()), 0
        await call.read()
        await started.wait()
        await started.wait()
        while got < count // BATCH * BATCH:
            response = await call.read()
            got += len(response.messages)
            if response.messages:
                said.put_nowait(wire.SubscribeRequest(upto=response.messages[-1].number))
        said.put_nowait(wire.SubscribeRequest(end=True))
        said.put_nowait(None)
        while await call.read() is not grpc.aio.EOF:
            pass


async def once(address: str, store: str, count: int, callers: int) -> list[Figure]:
    """One round of everything."""
    async with grpc.aio.insecure_channel(address, options=OWN) as channel:
        server = Server(address, channel)
        put = server.unary(f"{SERVICE}/PutQueue", wire.Queue)
        await put(wire.PutQueueRequest(name="all"))
        bind = server.unary(f"{SERVICE}/Bind", wire.BindResponse)
        await bind(wire.BindRequest(topic="measured", queue="all"))
        few = count // 5
        return [
            Figure(store, "an empty unary call", await empty(server, few, callers)),
            Figure(store, "unary Publish", await unary(server, few, callers)),
            Figure(store, "streaming Publish, one a frame", await streamed(server, few, 1)),
            Figure(store, f"streaming Publish, {BATCH} a frame", await streamed(server, count, BATCH)),
            Figure(store, f"streaming Publish, {LARGE} a frame", await streamed(server, count, LARGE)),
            *[Figure(store, f"delivery to {fans}", await delivered(server, count, fans)) for fans in FANS],
        ]


@contextmanager
def place(kind: str) -> Iterator[str]:
    """The URL of an empty store."""
    with ExitStack() as stack:
        if kind == "redis":
            yield stack.enter_context(fresh_redis_prefix(stack.enter_context(private_redis())))
        else:
            yield stack.enter_context(stack.enter_context(places(kind)).url())


def measure(kind: str, count: int, rounds: int, callers: int) -> list[Figure]:
    """Median figures of one store."""
    found: list[list[Figure]] = []
    for number in range(rounds):
        port = free_port()
        with (
            place(kind) as url,
            tempfile.TemporaryDirectory() as folder,
            served("--url", url, "--grpc-port", str(port), folder=Path(folder), ends=False),
        ):
            found.append(asyncio.run(once(f"127.0.0.1:{port}", kind, count, callers)))
        print(f"# {kind}, round {number + 1} of {rounds}", file=sys.stderr)
    return [
        Figure(same[0].store, same[0].what, statistics.median(each.rate for each in same))
        for same in zip(*found, strict=True)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--store", choices=KINDS, action="append")
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--callers", type=int, default=64)
    parser.add_argument("--json", action="store_true")
    said = parser.parse_args(arguments)
    found = [measure(kind, said.messages, said.rounds, said.callers) for kind in said.store or KINDS]
    if said.json:
        print(json.dumps([figure._asdict() for each in found for figure in each], indent=1))
    else:
        show(found)


def show(found: Sequence[Sequence[Figure]]) -> None:
    """Print a table: a column for each store."""
    print(f"| messages/s | {' | '.join(each[0].store for each in found)} |")
    print(f"|---|{'---:|' * len(found)}")
    for same in zip(*found, strict=True):
        print(f"| {same[0].what} | {' | '.join(f'{figure.rate:,.0f}' for figure in same)} |")


if __name__ == "__main__":
    main()
