"""Pushes that are handled before they return."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from rowmq.core.message import Message
from rowmq.runtime.client import Client
from rowmq.runtime.middleware import Middleware
from rowmq.runtime.outgoing import Outgoing
from rowmq.testing.draining import Bench


@contextmanager
def inline(client: Client, *, reraise: bool = False) -> Iterator[None]:
    """Let every push to a queue that has a handler or a task run it at once, in the thread that pushes.

    The rules are a worker's: what fails is retried, by a later push or a drain once it is due, or dies.
    With ``reraise`` the push raises what the handler raised, unless it is Kill or Retry. What is pushed
    with a delay, or in a transaction that is still open, waits.

    >>> from rowmq import testing
    >>> mq = testing.connect()
    >>> @mq.task(results=True)
    ... def add(a, b):
    ...     return a + b
    >>> with testing.inline(mq):
    ...     add.push(2, 3).result()
    5
    """
    former = client.outgoing
    client.outgoing = _Inline(client, former, reraise=reraise)
    try:
        yield
    finally:
        client.outgoing = former


class _Inline(Outgoing):
    """The way to the store, and at once through the handlers."""

    def __init__(self, client: Client, former: Outgoing, *, reraise: bool) -> None:
        super().__init__(client.store)
        self._client, self._former, self._reraise = client, former, reraise

    def use(self, middleware: Middleware) -> None:
        """Let a middleware see what is pushed, also afterwards."""
        self._former.use(middleware)

    def seen(self, where: str, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages as the middleware leaves them."""
        return self._former.seen(where, messages)

    def send(self, queue: str, messages: Sequence[Message], *, tx: object = None) -> list[UUID]:
        """Push, and handle."""
        ids = self._former.send(queue, messages, tx=tx)
        self._handle([queue])
        return ids

    def publish(self, topic: str, messages: Sequence[Message], *, tx: object = None) -> int:
        """Publish, and handle in every queue reached."""
        count = self._former.publish(topic, messages, tx=tx)
        self._handle([queue for _, queue in self._client.store.topics.bindings(topic)])
        return count

    def _handle(self, queues: Sequence[str]) -> None:
        known = [queue for queue in queues if self._client.registry.jobs(queue)]
        Bench(self._client, reraise=self._reraise).drain(known)
