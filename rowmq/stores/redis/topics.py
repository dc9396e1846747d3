"""The topics role."""

from collections.abc import Sequence
from datetime import datetime

from rowmq.core.clock import span
from rowmq.core.errors import QueueNotFound
from rowmq.core.message import DEDUP_WINDOW, Message
from rowmq.core.names import check_name
from rowmq.stores.redis.push import check_size, refused
from rowmq.stores.redis.server import Server
from rowmq.stores.redis.transactions import refuse_transaction
from rowmq.stores.redis.values import said, stamp


class RedisTopics:
    """The topics of a Redis store."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def bind(self, topic: str, queue: str, *, now: datetime | None = None) -> bool:
        """Bind a queue, and give it what was kept; False if it was bound."""
        check_name(topic, "topic name")
        answer = self._server.call("bind", topic, queue, stamp(now), span(DEDUP_WINDOW))
        if answer == b"missing":
            raise QueueNotFound(queue)
        if isinstance(answer, list):
            raise refused(queue, answer)
        return bool(answer)

    def unbind(self, topic: str, queue: str, *, now: datetime | None = None) -> bool:
        """Unbind a queue, leaving its messages where they are; False if it was not bound."""
        return bool(self._server.call("unbind", topic, queue, stamp(now)))

    def publish(
        self, topic: str, messages: Sequence[Message], *, tx: object = None, now: datetime | None = None
    ) -> int:
        """Push a copy of each message to every bound queue, or keep them all; how many queues."""
        refuse_transaction(tx)
        check_name(topic, "topic name")
        packed = list(map(said, messages))
        check_size(packed)
        answer = self._server.call("publish", topic, stamp(now), *packed, repeatable=True)
        if isinstance(answer, list):
            raise refused(answer[-1].decode(errors="replace"), answer)
        return int(answer)

    def bindings(self, topic: str | None = None) -> list[tuple[str, str]]:
        """The bound (topic, queue) pairs, of one topic or all, sorted."""
        flat = [each.decode() for each in self._server.call("bindings", topic or "")]
        return sorted(zip(flat[::2], flat[1::2], strict=True))
