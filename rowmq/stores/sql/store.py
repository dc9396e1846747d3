"""A store on an SQL database: the life of messages, and the roles beside it."""

import secrets
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property

from sqlalchemy.engine import URL

from rowmq.core.clock import moment
from rowmq.core.delivery import Adopted, Claim, Delivery, Receipt, Settlement, Want
from rowmq.core.errors import InvalidSetting, RowMQError
from rowmq.core.history import Durability
from rowmq.core.message import Batch, Pushed
from rowmq.core.monitor import Monitor
from rowmq.core.outcome import Ack, Settled
from rowmq.core.store import Consumers, History, Queues, Schedules, Stages, Topics
from rowmq.stores.ids import Ids
from rowmq.stores.sql.at_once import Claimed, claim_at_once, has_no_rules, push_at_once
from rowmq.stores.sql.choosing import Chooser
from rowmq.stores.sql.claim import Claiming
from rowmq.stores.sql.consumers import SQLConsumers
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.database import Database
from rowmq.stores.sql.dialect import MANY, Dialect
from rowmq.stores.sql.floors import Floors
from rowmq.stores.sql.history import SQLHistory
from rowmq.stores.sql.lookup import clock, queue_named, queues_by_name
from rowmq.stores.sql.migrations import Migrator
from rowmq.stores.sql.monitor import SQLMonitor
from rowmq.stores.sql.named import adopt, claim_named
from rowmq.stores.sql.push import Push
from rowmq.stores.sql.queues import SQLQueues
from rowmq.stores.sql.room import Room
from rowmq.stores.sql.rows import stamp
from rowmq.stores.sql.schedules import SQLSchedules
from rowmq.stores.sql.settle import extend, settle
from rowmq.stores.sql.stages import SQLStages
from rowmq.stores.sql.topics import SQLTopics


class SQLStore:
    """A :class:`rowmq.core.store.Store` on any database that has a dialect."""

    def __init__(self, dialect: Dialect, url: URL, *, migrate: bool = True, check: bool = True) -> None:
        self.database = Database(dialect, url)
        self.abreast = dialect.abreast
        self.migrator = Migrator(self.database)
        self.queues: Queues = SQLQueues(self.database)
        self.topics: Topics = SQLTopics(self.database)
        self.consumers: Consumers = SQLConsumers(self.database)
        self.schedules: Schedules = SQLSchedules(self.database)
        self.history: History = SQLHistory(self.database)
        self.stages: Stages = SQLStages(self.database)
        self.monitor: Monitor = SQLMonitor(self.database)
        self._floors = Floors()
        self._chooser = Chooser()
        self._ids = Ids(self._look_up)
        try:
            self._prepare(migrate=migrate, check=check)
        except BaseException:
            self.close()
            raise

    def now(self) -> datetime:
        """What the store's clock says."""
        return moment(self.database.read(lambda cursor: clock(cursor, None)))

    @cached_property
    def durability(self) -> Durability:
        """What an acknowledged write survives."""
        return self.database.read(self.database.dialect.durability)

    def push(
        self, batches: Sequence[Batch], *, tx: object = None, now: datetime | None = None
    ) -> list[Pushed | RowMQError]:
        """Store each batch whole or not at all."""
        given = self._stamp(now)
        return self.database.run(lambda cursor: self._push(cursor, batches, given), tx=tx, repeatable=True)

    def claim(
        self, queue: str, wants: Sequence[Want], *, now: datetime | None = None
    ) -> list[list[Delivery]]:
        """Lease messages to each want."""
        given, known, waiters = self._stamp(now), self._floors.named(queue), self.database.waiters
        seen = 0 if known is None else waiters.seen([known])
        found = self.database.run(lambda cursor: self._claim(cursor, queue, wants, given))()
        if known is not None and not any(found):
            waiters.found_empty(known, seen)
        return found

    def extend(
        self, receipts: Sequence[Receipt | Claim], lease: timedelta, *, now: datetime | None = None
    ) -> list[datetime | None]:
        """Renew leases."""
        if not timedelta(0) < lease <= timedelta(days=3650):
            raise InvalidSetting(f"a lease is longer than 0 and at most 3650 days, not {lease}")
        given = self._stamp(now)
        return self.database.run(lambda cursor: extend(cursor, receipts, lease, given)) if receipts else []

    def settle(
        self, settlements: Sequence[Settlement], *, tx: object = None, now: datetime | None = None
    ) -> list[Settled]:
        """Ack, retry, release or bury. Only acks can be run again blindly after a lost COMMIT."""
        given = self._stamp(now)
        acks = {type(outcome) for _, outcome in settlements} == {Ack}
        if not settlements:
            return []
        return self.database.run(lambda cursor: settle(cursor, settlements, given), tx=tx, repeatable=acks)

    def adopt(
        self, name: str, *, lease: timedelta | None = None, now: datetime | None = None
    ) -> Adopted | None:
        """Take over a named claim."""
        given = self._stamp(now)
        return self.database.run(lambda cursor: adopt(cursor, name, lease, given))

    def wait(self, queues: Sequence[str], timeout: timedelta) -> bool:
        """Sleep until something may have been pushed."""
        until = time.monotonic() + timeout.total_seconds()
        return self.database.dialect.wait(self.database, self._ids.of(queues), until)

    def migrate(self) -> list[str]:
        """Bring the tables up to date."""
        return self.migrator.run()

    def close(self) -> None:
        """Give back every connection."""
        self.database.dialect.close()
        self.database.engine.dispose()

    def _look_up(self, queues: Sequence[str]) -> dict[str, int]:
        found = self.database.read(lambda cursor: queues_by_name(cursor, queues, 0))
        return {name: kept.id for name, kept in found.items()}

    def _prepare(self, *, migrate: bool, check: bool) -> None:
        if migrate:
            self.migrate()
        elif check:
            self.migrator.check()
        if migrate or check:
            self.database.dialect.check(self.database)

    def _stamp(self, now: datetime | None) -> int | None:
        return stamp(now)

    def _push(self, cursor: Cursor, batches: Sequence[Batch], now: int | None) -> list[Pushed | RowMQError]:
        pushed = push_at_once(cursor, batches, now)
        return Push(cursor, now).run(batches) if pushed is None else [pushed]

    def _claim(self, cursor: Cursor, name: str, wants: Sequence[Want], now: int | None) -> Claimed:
        if (taken := claim_at_once(cursor, name, wants, self._floors, now)) is not None:
            return taken
        if sum(want.limit for want in wants) >= MANY:
            cursor.dialect.take_turn(cursor, name)
        kept = queue_named(cursor, name, now)
        if has_no_rules(kept.queue):
            self._floors.name(name, kept.id)
        if kept.queue.paused:
            return lambda: [[] for _ in wants]
        room = Room(cursor, kept)
        claiming = Claiming(cursor, kept, room, self._floors, self._chooser)
        results: list[list[Delivery]] = []
        plain: list[Want] = []
        for want in wants:
            if not want.choosy:
                plain.append(want)
                continue
            results += claiming.plain(plain)
            plain = []
            results.append(
                claim_named(cursor, claiming, kept, want)
                if want.name
                else claiming.choosy(want, secrets.token_bytes(16))
            )
        results += claiming.plain(plain)
        room.keep()
        return lambda: results
