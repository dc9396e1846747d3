"""The way of a message from a user's call to the store."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from rowmq.core.errors import RowMQError
from rowmq.core.message import Batch, Message, Pushed
from rowmq.core.store import Store
from rowmq.runtime.hooks import Hooks
from rowmq.runtime.middleware import Middleware
from rowmq.runtime.options import new_messages


class Outgoing:
    """Pushes and publishes for one client, past its middleware."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._middleware: list[Middleware] = []
        self._hooks = Hooks([])

    def use(self, middleware: Middleware) -> None:
        """Let a middleware see what is pushed from now on."""
        self._middleware.append(middleware)
        self._hooks = Hooks(self._middleware)

    def seen(self, where: str, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages as the middleware leaves them."""
        for each in self._hooks.of("on_push"):
            messages = each.on_push(where, messages)
        return messages

    def push(
        self, queue: str, payloads: Iterable[Any], options: Mapping[str, Any], *, tx: object = None
    ) -> list[UUID]:
        """Push one message for each payload as one batch, and return their ids."""
        return self.push_messages(queue, new_messages(payloads, options), tx=tx)

    def push_messages(self, queue: str, messages: Sequence[Message], *, tx: object = None) -> list[UUID]:
        """Push one batch. A message whose dedup key was seen before has the earlier message's id."""
        return self.send(queue, self.seen(queue, messages), tx=tx) if messages else []

    def send(self, queue: str, messages: Sequence[Message], *, tx: object = None) -> list[UUID]:
        """Push messages that the middleware has seen."""
        (answer,) = self._store.push([Batch(queue, messages)], tx=tx)
        ids = list(accepted(answer).ids)
        self._hooks.tell("on_pushed", queue, messages)
        return ids

    def publish(self, topic: str, messages: Sequence[Message], *, tx: object = None) -> int:
        """Publish, and return how many queues were reached."""
        if not messages:
            return 0
        where = f"topic:{topic}"
        seen = self.seen(where, messages)
        reached = self._store.topics.publish(topic, seen, tx=tx)
        self._hooks.tell("on_pushed", where, seen)
        return reached


def accepted(answer: Pushed | RowMQError) -> Pushed:
    """The result of a batch, or its refusal raised."""
    if isinstance(answer, RowMQError):
        raise answer
    return answer
