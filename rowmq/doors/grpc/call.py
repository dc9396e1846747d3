"""One call: who makes it, and the engine to ask in turn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import grpc.aio

from rowmq.core.message import Message
from rowmq.core.store import Store
from rowmq.doors.grpc.news import News
from rowmq.doors.grpc.status import forbidden
from rowmq.doors.grpc.streams import Streams
from rowmq.doors.receipt import Seal
from rowmq.doors.right import Principal, Right
from rowmq.runtime.gather import Gather

T = TypeVar("T")
Admit = Callable[[str | None, str], Principal]
"""Tells who shows this authorization, from this address. Raises Denied."""
Observe = Callable[[str, str, float], None]
"""Told of each call that is over: its method, the name of its status code, and how many seconds it took."""
Context = grpc.aio.ServicerContext[Any, Any]


@dataclass(frozen=True, slots=True)
class Broker:
    """What all calls share: the group commit, who may enter, the seal on receipts, and who counts them."""

    gather: Gather
    admit: Admit
    seal: Seal
    observe: Observe = lambda _method, _code, _seconds: None
    news: News = field(default_factory=News)
    streams: Streams = field(default_factory=Streams)

    @property
    def store(self) -> Store:
        """The store."""
        return self.gather.store

    def call(self, context: Context) -> "Call":
        """A call of somebody who may enter."""
        said = {str(key): value for key, value in context.invocation_metadata() or ()}
        shown = said.get("authorization")
        principal = self.admit(shown if isinstance(shown, str) else None, address_of(context.peer()))
        return Call(self, context, principal)


@dataclass(frozen=True, slots=True)
class Call:
    """One call by somebody known."""

    broker: Broker
    context: Context
    principal: Principal

    @property
    def gather(self) -> Gather:
        """The store, gathered."""
        return self.broker.gather

    @property
    def store(self) -> Store:
        """The store, only for use in ``run``."""
        return self.broker.gather.store

    @property
    def peer(self) -> str:
        """The connection that the call came over."""
        return self.context.peer()

    def demand(self, right: Right, *names: str) -> None:
        """Refuse, unless the caller has the right on each of these queues or topics."""
        if not all(self.principal.may(right, name) for name in names):
            raise forbidden()

    async def publish(self, topic: str, messages: Sequence[Message]) -> int:
        """Publish one batch, and let those know who observe the topic; how many queues got it."""
        count = await self.broker.gather.publish(topic, messages)
        self.broker.news.ring(topic)
        return count

    def when_late(self, do: Callable[[], object]) -> None:
        """Have something done when the call is over, if its caller's patience was over before.

        gRPC does not tell whether an answer arrived, but nobody takes one after his deadline.
        """

        def over(_context: object) -> None:
            if self.context.time_remaining() == 0:
                do()

        self.context.add_done_callback(over)  # type: ignore[arg-type]

    async def run(self, call: Callable[[], T]) -> T:
        """Have anything done that is not gathered, away from the event loop."""
        return await self.broker.gather.run(call)


def address_of(peer: str) -> str:
    """The address in a peer's name.

    >>> address_of("ipv4:127.0.0.1:50312"), address_of("ipv6:%5B::1%5D:50312"), address_of("unix:")
    ('127.0.0.1', '::1', '')
    """
    kind, _, rest = peer.partition(":")
    if kind not in {"ipv4", "ipv6"}:
        return ""
    return rest.rpartition(":")[0].removeprefix("%5B").removesuffix("%5D").strip("[]")
