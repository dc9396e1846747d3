"""What a peer was sent, and what comes again, without a server around it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from rowmq.core.delivery import Want
from rowmq.core.message import Message
from rowmq.doors.grpc.inbox import PATIENCE, Inboxes
from rowmq.doors.grpc.news import News
from rowmq.doors.grpc.peer import Peer, Sent
from rowmq.runtime.gather import Gather
from rowmq.stores.fresh import new_id
from rowmq.stores.memory import MemoryStore


@asynccontextmanager
async def gathered(store: MemoryStore) -> AsyncIterator[Gather]:
    gather = Gather(store)
    gather.start()
    try:
        yield gather
    finally:
        await gather.close()


def joined(store: MemoryStore, body: bytes = b"", count: int = 3) -> Peer:
    """A peer with one inbox, and some messages in it."""
    inboxes = Inboxes(store, server="here", run="one", alive=PATIENCE)
    peer = Peer("c", "p", inboxes.complete("c", "a", "p", lambda *_: None))
    store.topics.publish(
        "a", [Message(id=new_id(), body=body or b"%d" % n, binary=True) for n in range(count)]
    )
    return peer


def bodies(sent: Sent) -> list[bytes]:
    return [each.body for _, each in sent]


def test_an_answer_that_never_left_comes_again_before_everything_else() -> None:
    async def main() -> None:
        store = MemoryStore()
        peer, news = joined(store), News()
        async with gathered(store) as gather:
            await peer.fetch(gather, news)
            sent = peer.take()
            peer.untake(sent)
            store.topics.publish("a", [Message(id=new_id(), body=b"3", binary=True)])
            news.ring("a")
            await peer.fetch(gather, news)
            assert bodies(peer.take()) == bodies(sent) == [b"0", b"1", b"2"]
            await peer.fetch(gather, news)
            assert bodies(peer.take()) == [b"3"]

    asyncio.run(main())


def test_an_inbox_found_empty_is_not_asked_again_before_there_is_news() -> None:
    async def main() -> None:
        store, asked = MemoryStore(), []
        peer, news = joined(store), News()
        real = store.claim
        store.claim = lambda *said, **rest: asked.append(1) or real(*said, **rest)  # type: ignore[func-returns-value,method-assign]
        async with gathered(store) as gather:
            for _ in range(5):
                await peer.fetch(gather, news)
                peer.take()
            assert len(asked) == 1
            news.ring("a")
            await peer.fetch(gather, news)
            assert len(asked) == 2

    asyncio.run(main())


def test_what_waits_too_long_for_a_consumers_next_peer_is_dropped() -> None:
    store = MemoryStore()
    joined(store)
    inboxes = Inboxes(store, server="here", run="one", alive=PATIENCE)
    inboxes.leave("c", "p")
    inboxes.forget()
    assert len(inboxes.all()) == 1
    later = datetime.now(UTC) + timedelta(days=8)
    store.now = lambda: later  # type: ignore[method-assign]
    inboxes.forget()
    assert inboxes.all() == []


def test_what_is_published_while_a_consumer_reconnects_is_handed_over_to_its_new_peer() -> None:
    store = MemoryStore()
    joined(store)
    bind, before = store.topics.bind, Message(id=new_id(), body=b"meanwhile", binary=True)

    def late(topic: str, queue: str, **rest: Any) -> bool:
        store.topics.publish(topic, [before])
        return bind(topic, queue, **rest)

    store.topics.bind = late  # type: ignore[method-assign]
    inboxes = Inboxes(store, server="here", run="one", alive=PATIENCE)
    inboxes.complete("c", None, "q", lambda *_: None)
    inboxes.leave("c", "p")
    (left,) = inboxes.all()
    assert [each.body for each in store.history.find(left.queue).records] == [b"0", b"1", b"2", b"meanwhile"]


def test_what_is_handed_over_before_a_new_peer_is_bound_is_everything() -> None:
    store = MemoryStore()
    joined(store)
    bind, other = store.topics.bind, Inboxes(store, server="there", run="two", alive=PATIENCE)

    def late(topic: str, queue: str, **rest: Any) -> bool:
        store.topics.publish(topic, [Message(id=new_id(), body=b"meanwhile", binary=True)])
        other.leave("c", "p")
        return bind(topic, queue, **rest)

    store.topics.bind = late  # type: ignore[method-assign]
    Inboxes(store, server="here", run="one", alive=PATIENCE).complete("c", None, "q", lambda *_: None)
    (left,) = other.all()
    assert {each.body for each in store.history.find(left.queue).records} == {b"0", b"1", b"2", b"meanwhile"}


def test_a_peer_of_another_server_stays_that_servers_when_a_key_is_added_here() -> None:
    store = MemoryStore()
    Inboxes(store, server="there", run="two", alive=PATIENCE).complete("c", "a", "q", lambda *_: None)
    found = Inboxes(store, server="here", run="one", alive=PATIENCE).complete("c", "b", "p", lambda *_: None)
    homes = {(each.peer, each.key): (each.server, each.run) for each in found}
    assert homes == {
        ("p", "a"): ("here", "one"),
        ("p", "b"): ("here", "one"),
        ("q", "a"): ("there", "two"),
        ("q", "b"): ("there", "two"),
    }


def test_fewer_large_records_are_claimed_the_next_time_and_none_is_left_lying() -> None:
    async def main() -> None:
        store, real = MemoryStore(), MemoryStore.claim
        limits: list[int] = []
        peer, news = joined(store, b"x" * 2**20, 10), News()

        def claim(queue: str, wants: Sequence[Want], **rest: Any) -> Any:
            limits.extend(want.limit for want in wants)
            return real(store, queue, wants, **rest)

        store.claim = claim  # type: ignore[method-assign]
        async with gathered(store) as gather:
            got = []
            for _ in range(5):  # without any news: that there is more, it knows
                await peer.fetch(gather, news)
                got.append(len(peer.take()))
        assert got == [2] * 5
        assert limits[:3] == [50, 2, 4]

    asyncio.run(main())
