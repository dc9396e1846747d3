"""The consumers role."""

import builtins
from datetime import datetime, timedelta

from rowmq.core.clock import moment, span
from rowmq.core.delivery import Membership, check_ttl
from rowmq.core.errors import QueueNotFound
from rowmq.core.history import ConsumerInfo
from rowmq.core.names import check_name
from rowmq.stores.redis.server import Server
from rowmq.stores.redis.values import stamp


class RedisConsumers:
    """The consumers of a Redis store, in order of birth."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def beat(self, queue: str, consumer: str, ttl: timedelta, *, now: datetime | None = None) -> Membership:
        """Register the consumer, or keep it alive, and tell its place; the dead are forgotten."""
        check_name(consumer, "consumer name")
        check_ttl("consumer", ttl)
        answer = self._server.call("beat", queue, consumer, span(ttl), stamp(now))
        if answer is None:
            raise QueueNotFound(queue)
        index, count, joined = answer
        return Membership(index, count, joined=bool(joined))

    def retire(self, queue: str, consumer: str) -> bool:
        """Forget the consumer at once; False if it was not registered."""
        return bool(self._server.call("retire", queue, consumer))

    def list(self, queue: str | None = None, *, now: datetime | None = None) -> builtins.list[ConsumerInfo]:
        """The consumers alive now, by queue and birth."""
        infos = [
            ConsumerInfo(of.decode(), name.decode(), moment(int(born)), moment(int(until)))
            for of, name, born, until in self._server.call("consumers", queue or "", stamp(now))
        ]
        return sorted(infos, key=lambda info: info.queue)

    def lead(self, role: str, consumer: str, ttl: timedelta, *, now: datetime | None = None) -> bool:
        """Take the lead of a role, or keep it, for that long from now; False while another has it."""
        check_name(role, "role")
        check_name(consumer, "consumer name")
        check_ttl("lead", ttl)
        return bool(self._server.call("lead", role, consumer, span(ttl), stamp(now)))
