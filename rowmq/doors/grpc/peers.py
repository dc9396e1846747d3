"""The peers connected to this server, and what becomes of them."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from rowmq.core.errors import QueueNotFound, RowMQError, StoreError
from rowmq.doors.grpc import subscription
from rowmq.doors.grpc.inbox import BEATS, PATIENCE, Check, Inbox, Inboxes, alive
from rowmq.doors.grpc.news import News
from rowmq.doors.grpc.peer import Peer, Sent, idle
from rowmq.doors.grpc.steady import Steady
from rowmq.runtime.gather import Gather
from rowmq.runtime.log import event, first_line, logger

ROLE = "grpc peers"


class Unknown(Exception):
    """Nobody has subscribed under this consumer id."""


class Peers:
    """All peers of this server. What must outlive it is in the store, in their inboxes."""

    def __init__(
        self, gather: Gather, news: News, *, server: str, run: str, patience: timedelta = PATIENCE
    ) -> None:
        self._gather, self._news = gather, news
        self._patience, self._me = patience, f"{server} {run}"[:255]
        self._every, self._alive = patience / BEATS, alive(patience)
        self._inboxes = Inboxes(gather.store, server=server, run=run, alive=self._alive)
        self._steady = Steady(self._every * 3)
        self._peers: dict[tuple[str, str], Peer] = {}
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    async def subscribe(self, consumer: str, key: str, peer: str, check: Check) -> None:
        """Let a consumer get what is published to a key, at this peer and all its others."""
        async with self._alone(consumer):
            await self._complete(consumer, key, peer, check)

    async def unsubscribe(self, consumer: str, key: str, peer: str) -> bool:
        """Discard what the consumer has not received of a key; False if it was not subscribed."""
        async with self._alone(consumer):
            gone = await self._gather.run(lambda: self._inboxes.unsubscribe(consumer, key))
            for each in self._of(consumer):
                each.inboxes = [inbox for inbox in each.inboxes if inbox.key != key]
        if gone:  # a peer that has unsubscribed from everything is still there, and hears nothing
            self._peers.setdefault((consumer, peer), Peer(consumer, peer)).seen = time.monotonic()
        return bool(gone)

    async def observe(self, consumer: str, peer: str, check: Check) -> tuple[Peer, Sent]:
        """What is next for a peer, which has received what it was sent before. Raises Unknown.

        If the caller goes away meanwhile, what was claimed for it is there when it asks again.
        """
        found = await self._known(consumer, peer, check)
        check(*{each.key for each in found.inboxes})
        try:
            await asyncio.shield(self._fetch(found))
        except QueueNotFound:  # somebody has dropped an inbox: another server, or an operator
            self._peers.pop((consumer, peer), None)
            await self._release(found)  # what it has of other keys
            found = await self._known(consumer, peer, check)
            await asyncio.shield(self._fetch(found))
        return found, found.take()

    async def tend(self) -> None:
        """Let those go who have not been heard of, now and as long as the server runs."""
        await self._tend_safely(first=True)
        while True:
            await asyncio.sleep(self._every.total_seconds())
            await self._tend_safely(first=False)

    async def close(self) -> None:
        """Give back what is held, as this server's peers will have to connect anew."""
        for each in list(self._peers.values()):
            await self._release(each)

    async def _release(self, peer: Peer) -> None:
        async with peer.lock:
            await peer.release(self._gather)

    async def _fetch(self, peer: Peer) -> None:
        async with peer.lock:
            peer.seen = time.monotonic()
            await self._beat(peer)
            await peer.fetch(self._gather, self._news)

    async def _known(self, consumer: str, name: str, check: Check) -> Peer:
        """The peer; a new one joins the others of its consumer."""
        found = self._peers.get((consumer, name))
        if found is not None and not found.gone:
            return found
        async with self._alone(consumer):
            await self._complete(consumer, None, name, check)
        found = self._peers.get((consumer, name))
        if found is None:
            raise Unknown
        return found

    async def _complete(self, consumer: str, key: str | None, name: str, check: Check) -> None:
        found = await self._gather.run(lambda: self._inboxes.complete(consumer, key, name, check))
        if found:
            self._peers.setdefault((consumer, name), Peer(consumer, name)).seen = time.monotonic()
        self._refresh(self._of(consumer), found)

    def _refresh(self, peers: Sequence[Peer], found: Sequence[Inbox]) -> None:
        for each in peers:
            each.inboxes = [x for x in found if x.consumer == each.consumer and x.peer == each.name]

    async def _look_again(self) -> None:
        """Learn what other servers have changed; a peer that they took for gone joins anew when it calls."""
        before = [(each, each.inboxes) for each in self._peers.values() if each.inboxes]
        found = await self._gather.run(self._inboxes.all) if before else []
        for peer, had in before:
            if peer.inboxes is had:  # else it was changed here meanwhile, and what was found is older
                self._refresh([peer], found)
            if not peer.inboxes:
                self._peers.pop((peer.consumer, peer.name), None)
                await peer.release(self._gather)

    def _of(self, consumer: str) -> list[Peer]:
        return [each for each in self._peers.values() if each.consumer == consumer]

    async def _beat(self, peer: Peer) -> None:
        if time.monotonic() - peer.beaten > self._every.total_seconds():
            peer.beaten = time.monotonic()
            await self._gather.run(lambda: self._inboxes.beat(peer.inboxes))

    async def _tend_safely(self, *, first: bool) -> None:
        try:
            await self._tend(first=first)
        except RowMQError as error:
            event(logger, logging.WARNING, "grpc.tend_failed", reason=first_line(str(error)))

    async def _tend(self, *, first: bool) -> None:
        for each in [each for each in self._peers.values() if idle(each, self._patience)]:
            await self._leave(each)
        lead, store = self._every * 2, self._inboxes.store
        leads = await self._gather.run(lambda: store.consumers.lead(ROLE, self._me, lead))
        self._steady.answered()
        if leads or first:
            await self._clear_up()
        await self._look_again()

    async def _clear_up(self) -> None:
        """End what nobody has spoken for, once everybody has had the time to."""
        silent = self._steady.lasts(self._alive)
        abandoned = await self._gather.run(lambda: self._inboxes.abandoned(silent=silent))
        for consumer, name in dict.fromkeys((each.consumer, each.peer) for each in abandoned):
            await self._end(consumer, name)
        await self._gather.run(self._inboxes.forget)
        if self._steady.lasts(subscription.ALIVE):
            await self._gather.run(lambda: subscription.clear(self._inboxes.store))

    async def _leave(self, peer: Peer) -> None:
        peer.gone = True
        self._peers.pop((peer.consumer, peer.name), None)
        with suppress(StoreError):  # then it comes back when its lease ends
            await peer.release(self._gather)
        await self._end(peer.consumer, peer.name)

    async def _end(self, consumer: str, name: str) -> None:
        async with self._alone(consumer):
            if (consumer, name) not in self._peers:  # it may have come back meanwhile
                await self._gather.run(lambda: self._inboxes.leave(consumer, name))

    @asynccontextmanager
    async def _alone(self, consumer: str) -> AsyncIterator[None]:
        """Let nobody else here change who the consumer's peers are."""
        lock, users = self._locks.get(consumer, (asyncio.Lock(), 0))
        self._locks[consumer] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks.pop(consumer)
            if users > 1:
                self._locks[consumer] = (lock, users - 1)
