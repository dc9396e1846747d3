"""GOMQ's publish and subscribe over gRPC: its four tests, and what goes wrong there.

GOMQ's words and ours: key = topic; a peer's messages = a queue bound to it; Observe = claim, and the ack of
what was claimed before.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors.grpc.gomq import GOMQ, connected, crowd
from tests.doors.http.serving import served
from tests.servers import free_port

pytestmark = pytest.mark.timeout(300)
# To add a store, name the fixture of its URL here.
STORES = {"sqlite": "sqlite_url", "postgres": "emptied_postgres_url", "redis": "redis_url"}
MYSQL_TOO = {**STORES, "mysql": "mysql_url"}
mysql_too = pytest.mark.parametrize("url", list(MYSQL_TOO.values()), ids=list(MYSQL_TOO), indirect=True)


@pytest.fixture(params=list(STORES.values()), ids=list(STORES))
def url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def address(url: str, tmp_path: Path) -> Iterator[str]:
    port = free_port()
    with served("--url", url, "--grpc-port", str(port), folder=tmp_path):
        yield f"127.0.0.1:{port}"


@pytest.mark.timeout(400)
def test_a_hundred_consumers_get_a_thousand_messages_each_from_a_hundred_publishers(address: str) -> None:
    async def publish(gomq: GOMQ, number: int) -> None:
        for each in range(10):
            await gomq.publish("orders", f"{number}.{each}".encode())

    async def main() -> None:
        async with crowd(address, 100) as publishers, crowd(address, 100) as consumers:
            await asyncio.gather(*(each.subscribe("orders", f"c{n}") for n, each in enumerate(consumers)))
            receiving = [
                asyncio.create_task(each.receive(f"c{n}", 1000, 300)) for n, each in enumerate(consumers)
            ]
            await asyncio.gather(*(publish(each, number) for number, each in enumerate(publishers)))
            expected = Counter(f"{number}.{each}".encode() for number in range(100) for each in range(10))
            for records in await asyncio.gather(*receiving):
                assert Counter(record.value.payload for record in records) == expected

    asyncio.run(main())


@mysql_too
def test_what_was_published_before_anybody_subscribed_reaches_those_who_subscribe_together(
    address: str,
) -> None:
    async def main() -> None:
        async with crowd(address, 3) as (publisher, both, one):
            await asyncio.gather(*(publisher.publish("key1", str(number).encode()) for number in range(1000)))
            for number in range(34):
                await publisher.publish("key2", str(number).encode())
            await asyncio.gather(both.subscribe("key1", "both"), one.subscribe("key2", "one"))
            await both.subscribe("key2", "both")
            got, less = await asyncio.gather(both.receive("both", 1034), one.receive("one", 34))
            numbers = {int(record.value.payload) for record in got if record.key == "key1"}
            assert (len(got), numbers) == (1034, set(range(1000)))
            assert [int(record.value.payload) for record in less] == list(range(34))

    asyncio.run(main())


@mysql_too
def test_who_has_unsubscribed_gets_nothing_of_what_came_before_or_after(address: str) -> None:
    async def main() -> None:
        async with crowd(address, 2) as (publisher, consumer):
            await consumer.subscribe("orders", "c")
            for number in range(2):
                await publisher.publish("orders", str(number).encode())
            await consumer.unsubscribe("orders", "c")
            for number in range(2):
                await publisher.publish("orders", str(number).encode())
            assert await consumer.receive("c", 0) == []

    asyncio.run(main())


def test_two_publishers_of_a_thousand_messages_reach_one_consumer_each_in_order(address: str) -> None:
    async def publish(gomq: GOMQ, name: str) -> None:
        for number in range(1000):
            await gomq.publish("orders", f"{name} {number}".encode())

    async def main() -> None:
        async with crowd(address, 3) as (one, other, consumer):
            await consumer.subscribe("orders", "c")
            receiving = asyncio.create_task(consumer.receive("c", 2000))
            await asyncio.gather(publish(one, "a"), publish(other, "b"))
            said = [record.value.payload.decode().split() for record in await receiving]
            assert len(said) == 2000
            for name in "ab":
                assert [int(number) for who, number in said if who == name] == list(range(1000))

    asyncio.run(main())


IN_FLIGHT = 100


async def _pour(publisher: GOMQ, count: int) -> None:
    """Publish so many messages, as fast as one publisher can: the next as soon as any other is stored."""
    numbers = iter(range(count))

    async def publish() -> None:
        for number in numbers:
            await publisher.publish("orders", str(number).encode())

    await asyncio.gather(*(publish() for _ in range(IN_FLIGHT)))


async def _flood(address: str, count: int) -> None:
    """One publisher and one observer, as fast as they go; every message arrives, and once."""
    async with crowd(address, 2) as (publisher, consumer):
        await consumer.subscribe("orders", "c")
        receiving = asyncio.create_task(consumer.receive("c", count, patience=600))
        started = time.monotonic()
        await _pour(publisher, count)
        got = Counter(int(record.value.payload) for record in await receiving)
    twice, seconds = got.total() - len(got), time.monotonic() - started
    # Shown with -s: the record of a long run.
    print(f"sent {count}, arrived {len(got)}, twice {twice}, in {seconds:.1f} s")  # noqa: T201
    assert (len(got), twice) == (count, 0)


@mysql_too
def test_none_of_five_thousand_messages_is_lost_between_reading_and_trimming(address: str) -> None:
    asyncio.run(_flood(address, 5000))


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("_round", range(20))
def test_none_of_fifty_thousand_messages_is_lost(address: str, _round: int) -> None:
    asyncio.run(_flood(address, 50_000))


def test_nothing_is_wiped_when_the_server_starts(url: str, tmp_path: Path) -> None:
    async def publish(address: str) -> None:
        async with connected(address) as publisher:
            await publisher.publish("orders", b"kept")

    async def receive(address: str) -> None:
        async with connected(address) as consumer:
            await consumer.subscribe("orders", "c")
            (record,) = await consumer.receive("c", 1)
            assert record.value.payload == b"kept"

    for step in (publish, receive):
        port = free_port()
        with served("--url", url, "--grpc-port", str(port), folder=tmp_path):
            asyncio.run(step(f"127.0.0.1:{port}"))
