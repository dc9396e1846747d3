"""The way of a message from a user's call to the store."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from rowmq.core.errors import RowMQError
from rowmq.core.message import Batch, Message, Pushed
from rowmq.core.store import Store
from rowmq.runtime.middleware import Middleware, overriding
from rowmq.runtime.options import new_message


class Outgoing:
    """Pushes and publishes for one client, past its middleware."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hooks: list[Middleware] = []

    def use(self, middleware: Middleware) -> None:
        """Let a middleware see what is pushed from now on."""
        self._hooks += overriding([middleware], "on_push")

    def seen(self, where: str, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages as the middleware leaves them."""
        for each in self._hooks:
            messages = each.on_push(where, messages)
        return messages

    def push(
        self, queue: str, payloads: Iterable[Any], options: Mapping[str, Any], *, tx: object = None
    ) -> list[UUID]:
        """Push one message for each payload as one batch, and return their ids."""
        return self.push_messages(queue, [new_message(each, options) for each in payloads], tx=tx)

    def push_messages(self, queue: str, messages: Sequence[Message], *, tx: object = None) -> list[UUID]:
        """Push one batch. A message whose dedup key was seen before has the earlier message's id."""
        return self.send(queue, self.seen(queue, messages), tx=tx) if messages else []

    def send(self, queue: str, messages: Sequence[Message], *, tx: object = None) -> list[UUID]:
        """Push messages that the middleware has seen."""
        (answer,) = self._store.push([Batch(queue, messages)], tx=tx)
        return list(accepted(answer).ids)

    def publish(self, topic: str, messages: Sequence[Message], *, tx: object = None) -> int:
        """Publish, and return how many queues were reached."""
        if not messages:
            return 0
        return self._store.topics.publish(topic, self.seen(f"topic:{topic}", messages), tx=tx)


def accepted(answer: Pushed | RowMQError) -> Pushed:
    """The result of a batch, or its refusal raised."""
    if isinstance(answer, RowMQError):
        raise answer
    return answer
