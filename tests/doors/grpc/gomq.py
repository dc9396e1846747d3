"""GOMQ's client, as far as its tests go: a connection of its own for everybody."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import grpc.aio

from rowmq.doors.grpc import routeguide_pb2 as wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

OWN = (("grpc.use_local_subchannel_pool", 1),)
"""Channels to one address would share a connection, and so be one peer."""
SILENCE = 0.3


class GOMQ:
    """GOMQ's four calls over one connection."""

    def __init__(self, channel: grpc.aio.Channel, token: str | None = None) -> None:
        self.channel = channel
        self._metadata = [("authorization", f"Bearer {token}")] if token else []

    async def publish(self, key: str, payload: bytes) -> int:
        result = await self._call("Publish", wire.PublishRecord(key=key, payload=payload), wire.Result)
        return int(result.code)

    async def subscribe(self, key: str, consumer: str) -> int:
        asked = wire.Subscription(key=key, consumerID=consumer)
        return int((await self._call("Subscribe", asked, wire.Result)).code)

    async def unsubscribe(self, key: str, consumer: str) -> int:
        asked = wire.Subscription(key=key, consumerID=consumer)
        return int((await self._call("Unsubscribe", asked, wire.Result)).code)

    async def observe(self, consumer: str, **options: Any) -> Sequence[wire.Record]:
        asked = wire.Identification(consumerID=consumer)
        return list((await self._call("Observe", asked, wire.RecordSet, **options)).records)

    async def receive(self, consumer: str, count: int, patience: float = 200.0) -> list[wire.Record]:
        """Observe until so many records have come, and a little longer, for any that should not."""
        found: list[wire.Record] = []
        async with asyncio.timeout(patience):
            while len(found) < count:
                records = await self.observe(consumer)
                found += records
                await asyncio.sleep(0 if records else 0.02)
        await asyncio.sleep(SILENCE)
        return [*found, *await self.observe(consumer)]

    async def _call(self, name: str, asked: Any, gives: Any, **options: Any) -> Any:
        method = self.channel.unary_unary(
            f"/routeguide.RouteGuide/{name}",
            request_serializer=type(asked).SerializeToString,
            response_deserializer=gives.FromString,
        )
        return await method(asked, metadata=self._metadata, **options)


@asynccontextmanager
async def connected(address: str, token: str | None = None) -> AsyncIterator[GOMQ]:
    """A peer: one connection."""
    async with grpc.aio.insecure_channel(address, options=OWN) as channel:
        yield GOMQ(channel, token)


@asynccontextmanager
async def crowd(address: str, count: int) -> AsyncIterator[list[GOMQ]]:
    """So many peers."""
    channels = [grpc.aio.insecure_channel(address, options=OWN) for _ in range(count)]
    try:
        yield [GOMQ(channel) for channel in channels]
    finally:
        for channel in channels:
            await channel.close()
