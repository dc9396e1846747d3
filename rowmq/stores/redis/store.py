"""The store itself: the life of messages, with the other roles beside it."""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property

from sqlalchemy.engine import URL

from rowmq.core.clock import moment, span
from rowmq.core.delivery import Adopted, Claim, Delivery, Receipt, Settlement, Want
from rowmq.core.errors import InvalidSetting, RowMQError, SchemaOutdated
from rowmq.core.history import Durability
from rowmq.core.message import Batch, Pushed
from rowmq.core.monitor import Monitor
from rowmq.core.outcome import Settled
from rowmq.core.store import Consumers, History, Queues, Schedules, Topics
from rowmq.stores.ids import Ids
from rowmq.stores.redis.claim import TOKEN_BYTES, Claims
from rowmq.stores.redis.consumers import RedisConsumers
from rowmq.stores.redis.durability import check as check_server
from rowmq.stores.redis.durability import durability
from rowmq.stores.redis.history import RedisHistory
from rowmq.stores.redis.monitor import RedisMonitor
from rowmq.stores.redis.options import options_of
from rowmq.stores.redis.push import push
from rowmq.stores.redis.queues import RedisQueues
from rowmq.stores.redis.schedules import RedisSchedules
from rowmq.stores.redis.server import Server
from rowmq.stores.redis.settle import extend, settle
from rowmq.stores.redis.topics import RedisTopics
from rowmq.stores.redis.transactions import refuse_transaction
from rowmq.stores.redis.values import deliveries, stamp
from rowmq.stores.redis.waiting import Listening

LAYOUT, FORMER = b"2", (b"1", b"1 to 2")
MOVED = 5000
"""Seqs that one script takes from the former layout."""


class RedisStore:
    """A :class:`rowmq.core.store.Store` on a Redis server, under a prefix of its own."""

    abreast = 1

    def __init__(self, url: URL, *, migrate: bool = True, check: bool = True) -> None:
        self.server = Server(options_of(url))
        self.queues: Queues = RedisQueues(self.server)
        self.topics: Topics = RedisTopics(self.server)
        self.consumers: Consumers = RedisConsumers(self.server)
        self.schedules: Schedules = RedisSchedules(self.server)
        self.history: History = RedisHistory(self.server)
        self.monitor: Monitor = RedisMonitor(self.server)
        self._claims = Claims(self.server)
        self._ids = Ids(self._look_up)
        self._listening = Listening(self.server)
        try:
            self._prepare(migrate=migrate, check=check)
        except BaseException:
            self.close()
            raise

    def now(self) -> datetime:
        """What the server's clock says."""
        return moment(int(self.server.call("now")))

    @cached_property
    def durability(self) -> Durability:
        """What an acknowledged write survives, read from the server's settings."""
        return durability(self.server)

    def push(
        self, batches: Sequence[Batch], *, tx: object = None, now: datetime | None = None
    ) -> list[Pushed | RowMQError]:
        """Store each batch whole or not at all, and answer each with its result or its error."""
        refuse_transaction(tx)
        return push(self.server, batches, now)

    def claim(
        self, queue: str, wants: Sequence[Want], *, now: datetime | None = None
    ) -> list[list[Delivery]]:
        """Lease messages to each want, first wants first."""
        return self._claims.claim(queue, wants, now)

    def extend(
        self, receipts: Sequence[Receipt | Claim], lease: timedelta, *, now: datetime | None = None
    ) -> list[datetime | None]:
        """Let leases end that long from now, and tell the new end of each, or None where it is lost."""
        if not timedelta(0) < lease <= timedelta(days=3650):
            raise InvalidSetting(f"a lease is longer than 0 and at most 3650 days, not {lease}")
        return extend(self.server, receipts, lease, now) if receipts else []

    def settle(
        self, settlements: Sequence[Settlement], *, tx: object = None, now: datetime | None = None
    ) -> list[Settled]:
        """Ack, retry, release or bury, in the given order."""
        refuse_transaction(tx)
        return settle(self.server, settlements, now)

    def adopt(
        self, name: str, *, lease: timedelta | None = None, now: datetime | None = None
    ) -> Adopted | None:
        """Take over a named claim: a new token for what is left of it, so that the former run is fenced."""
        token = secrets.token_bytes(TOKEN_BYTES)
        answer = self.server.call("adopt", name, token, span(lease) if lease else "", stamp(now))
        if answer is None:
            return None
        runs, left = answer
        return Adopted(Claim(name, token), runs, deliveries(left))

    def wait(self, queues: Sequence[str], timeout: timedelta) -> bool:
        """Sleep until something may have been pushed to one of the queues, or the timeout."""
        return self._listening.wait(self._ids.of(queues), timeout.total_seconds())

    def migrate(self) -> list[str]:
        """Note which version of the key map is used here, or bring the former one up to it."""
        found = self._note_layout()
        while found in FORMER and self.server.call("bits", MOVED, repeatable=True):
            pass
        if found not in FORMER:
            _check_layout(self.server, found)
        return [] if found == LAYOUT else [f"layout {LAYOUT.decode()}"]

    def check(self) -> None:
        """Refuse a server that is too old or may evict messages, and keys of another layout."""
        check_server(self.server)
        _check_layout(self.server, self.server.call("layout_noted"))

    def close(self) -> None:
        """Give back every connection, and end every wait."""
        self._listening.close()
        self.server.close()

    def _look_up(self, queues: Sequence[str]) -> dict[str, bytes]:
        found = zip(queues, self.server.call("ids", *queues), strict=True)
        return {name: id for name, id in found if id is not None}

    def _prepare(self, *, migrate: bool, check: bool) -> None:
        if migrate or check:
            self.check()
        if migrate:  # not of a former layout: others may still work with it
            self._note_layout()

    def _note_layout(self) -> bytes:
        found: bytes = self.server.call("layout", LAYOUT, repeatable=True)
        return found


def _check_layout(server: Server, found: bytes) -> None:
    if found not in (b"", LAYOUT):
        raise SchemaOutdated(
            f"the keys of prefix {server.options.prefix!r} are of layout {found.decode()}, "
            f"and this version of RowMQ knows {LAYOUT.decode()}"
            f"{'; stop whatever works there, then run: rowmq migrate' if found in FORMER else ''}"
        )
