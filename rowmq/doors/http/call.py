"""One call of an endpoint: what was asked, by whom, and the engine to ask in turn."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from rowmq.core.delivery import Delivery, Settlement, Want
from rowmq.core.errors import RowMQError
from rowmq.core.message import Batch, Pushed
from rowmq.core.outcome import Settled
from rowmq.core.store import Store
from rowmq.doors.http.access import Access
from rowmq.doors.http.refusal import forbidden
from rowmq.doors.http.request import Gone, Request
from rowmq.doors.receipt import Seal
from rowmq.doors.right import Principal, Right
from rowmq.runtime.client import Client
from rowmq.runtime.gather import Gather, Held

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Broker:
    """What all calls share: the client with its store, the group commit, who may enter, and the seal."""

    client: Client
    gather: Gather
    access: Access
    seal: Seal

    @property
    def store(self) -> Store:
        """The store."""
        return self.client.store


@dataclass(slots=True)
class Call:
    """One request, read and allowed in. ``now`` is only ever set where tests move the clock."""

    broker: Broker
    request: Request
    principal: Principal
    path: dict[str, str]
    query: Any
    body: Any
    now: datetime | None = None
    aside: bool = False
    """Whether what is run for it may take long, and must not be in the way of others."""

    def demand(self, right: Right, *names: str) -> None:
        """Refuse, unless the caller has the right on each of these queues or topics."""
        if not all(self.principal.may(right, name) for name in names):
            raise forbidden()

    def demand_everywhere(self, right: Right) -> None:
        """Refuse, unless the caller has the right on all queues."""
        if not self.principal.may_everywhere(right):
            raise forbidden()

    async def run(self, call: Callable[[], T]) -> T:
        """Have anything done that is not gathered, away from the event loop."""
        return await (self.broker.gather.aside if self.aside else self.broker.gather.run)(call)

    async def push(self, batch: Batch) -> Pushed:
        """Push one batch; raises what the store answers it with."""
        if self.now is None:
            return await self.broker.gather.push(batch)
        (answer,) = await self.run(lambda: self.broker.store.push([batch], now=self.now))
        if isinstance(answer, RowMQError):
            raise answer
        return answer

    async def claim(self, queue: str, want: Want, *, wait: timedelta = timedelta(0)) -> list[Delivery]:
        """Claim, waiting up to that long; what was claimed for a caller who has gone is given back."""
        if self.now is not None:
            return (await self.run(lambda: self.broker.store.claim(queue, [want], now=self.now)))[0]
        if wait > timedelta(0):
            return await self._claim_while_there(queue, want, wait)
        found = await self.broker.gather.claim(queue, want)
        return self._unless_gone(found)

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        """Settle; an answer for each."""
        if self.now is None:
            return await self.broker.gather.settle(settlements)
        return await self.run(lambda: self.broker.store.settle(settlements, now=self.now))

    async def extend(self, receipts: Sequence[Held], lease: timedelta) -> list[datetime | None]:
        """Extend leases; the new end of each, or None."""
        if self.now is None:
            return await self.broker.gather.extend(receipts, lease)
        return await self.run(lambda: self.broker.store.extend(receipts, lease, now=self.now))

    async def wait(self, queues: Sequence[str], patience: timedelta) -> bool:
        """Whether something may have come for one of the queues in that time. Gone if the caller has."""
        woken, _ = await self._while_there(self.broker.gather.wait(queues, patience))
        return woken

    async def _claim_while_there(self, queue: str, want: Want, wait: timedelta) -> list[Delivery]:
        found, gone = await self._while_there(self.broker.gather.claim(queue, want, wait=wait))
        return self._unless_gone(found, gone=gone)

    async def _while_there(self, what: Coroutine[Any, Any, T]) -> tuple[T, bool]:
        """What comes of it, and whether the caller has gone by then; if only that, Gone is raised."""
        doing = asyncio.create_task(what)
        leaving = asyncio.create_task(self.request.leaves())
        try:
            await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise Gone
            return doing.result(), leaving.done()
        finally:
            doing.cancel()
            leaving.cancel()

    def _unless_gone(self, found: list[Delivery], *, gone: bool | None = None) -> list[Delivery]:
        if found and (self.request.gone() if gone is None else gone):
            self.broker.gather.give_back(found)
            raise Gone
        return found
