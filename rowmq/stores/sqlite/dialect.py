"""SQLite's ways.

One writer at a time, so a write transaction begins IMMEDIATE and this process queues its own writers
before SQLite's lock. The clock is this machine's: there is no other process whose clock could count.
"""

import json
import sqlite3
import time
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL, Engine
from sqlalchemy.pool import QueuePool, StaticPool

from rowmq.core.clock import span
from rowmq.core.errors import InvalidSetting, InvalidURL
from rowmq.core.history import Durability
from rowmq.core.monitor import LARGEST_MEASURED
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.database import PATIENCE, Database
from rowmq.stores.sql.dialect import TOKEN, Dialect, Due, Fresh, Plain, Stored, Taken, Trouble
from rowmq.stores.sql.floors import Floor
from rowmq.stores.sql.queries import named, resource
from rowmq.stores.sqlite.alike import insert_alike, push_alike
from rowmq.stores.sqlite.turns import Turns
from rowmq.stores.sqlite.watching import Watching
from rowmq.stores.sqlite.whole import LONGEST, Whole

PAUSE = 0.005
"""Seconds between tries to set the journal mode."""
BUSY = 0.05
"""Seconds for which SQLite itself asks again for a lock that another process has, which costs less than to
begin anew. Not longer: it asks ever less often."""
SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL", "off": "OFF"}
_GRADES = {
    2: Durability("A", "synchronous=FULL: every commit is on the disk"),
    3: Durability("A", "synchronous=EXTRA: every commit is on the disk"),
    1: Durability("B", "synchronous=NORMAL: the last commits can be lost with the power"),
    0: Durability("B", "synchronous=OFF: the last commits can be lost with the power, or the file"),
}


class SQLiteDialect(Dialect):
    """SQLite through the driver that comes with Python."""

    driver = sqlite3.Connection
    package = "rowmq.stores.sqlite"
    style = staticmethod(named)

    def __init__(self) -> None:
        self._writer = Turns()
        self._memory = False
        self._watching: Watching | None = None

    def engine(self, url: URL) -> Engine:
        """A file, or one shared connection to a database in memory."""
        level = url.query.get("durability", "full")
        if level not in SYNCHRONOUS:
            raise InvalidURL(f"durability is one of {', '.join(SYNCHRONOUS)}, not {level!r}")
        unknown = set(url.query) - {"durability"}
        if unknown:
            raise InvalidURL(f"a sqlite URL has no option {', '.join(sorted(unknown))}")
        self._memory = url.database in (None, "", ":memory:")
        if not self._memory and not Path(str(url.database)).absolute().parent.is_dir():
            raise InvalidURL(f"the folder of {url.database} does not exist")
        # The connection that has just written is used again: only its cache has all that was changed.
        pool = (
            {"poolclass": StaticPool}
            if self._memory
            else {"poolclass": QueuePool, "pool_size": 8, "max_overflow": -1, "pool_use_lifo": True}
        )
        arguments = {
            "isolation_level": None,
            "check_same_thread": False,
            "timeout": BUSY,
            "cached_statements": 256,
        }
        engine = create_engine(url.set(query={}, drivername="sqlite"), connect_args=arguments, **pool)
        event.listen(engine, "connect", lambda connection, _: _prepare(connection, SYNCHRONOUS[str(level)]))
        if not self._memory:  # made here, so that a fork always finds it, and holds it still
            self._watching = Watching(lambda: _detached(engine), str(url.database))
        return engine

    def guard(self, *, writes: bool) -> AbstractContextManager[object]:
        """The process's writer lock; in memory there is one connection, so readers hold it too."""
        return self._writer if writes or self._memory else nullcontext()

    def begin(self, cursor: Any, *, writes: bool) -> None:
        """Begin with the write lock: a transaction that wants it later may be refused in the middle."""
        cursor.execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    def snapshot(self, cursor: Any) -> None:
        """Nothing to do: a transaction sees the moment of its first statement."""

    def joined(self, connection: Any) -> Any:
        """The connection as it is, with our function."""
        if connection.isolation_level is None and not connection.in_transaction:
            raise InvalidSetting("tx is in autocommit mode and has not begun a transaction")
        connection.create_function("rowmq_blob", 1, bytes.fromhex, deterministic=True)
        return connection

    def trouble(self, error: BaseException) -> Trouble:
        """By SQLite's own result codes."""
        if isinstance(error, sqlite3.IntegrityError):
            return Trouble.COLLISION
        if not isinstance(error, sqlite3.OperationalError | sqlite3.DatabaseError):
            return Trouble.OTHER
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return Trouble.CONFLICT
        if any(what in str(error) for what in ("no such table", "no such column", "has no column named")):
            return Trouble.NO_TABLES
        if code == sqlite3.SQLITE_FULL:
            return Trouble.FULL
        refusals = (
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_READONLY,
            sqlite3.SQLITE_IOERR,
            sqlite3.SQLITE_NOTADB,
        )
        return Trouble.REFUSED if code in (*refusals, sqlite3.SQLITE_CORRUPT) else Trouble.OTHER

    def clock(self) -> int:
        """This machine's clock."""
        return time.time_ns() // 1000

    def many(self, values: Sequence[Any]) -> str:
        """A JSON array; bytes as hex, which rowmq_blob turns back."""
        if values and isinstance(values[0], bytes):
            values = [value.hex() for value in values]
        elif values and type(values[0]) is int:
            return str(values)  # what JSON would say, sooner
        return json.dumps(values, ensure_ascii=False)

    def insert(self, cursor: Cursor, rows: Sequence[Fresh]) -> list[int]:
        """Number the messages ourselves: nobody else can while we hold the write lock."""
        last = cursor.one("last_seq")
        first = (last[0] if last else 0) + 1
        seqs = list(range(first, first + len(rows)))
        if insert_alike(cursor, rows, first):
            return seqs
        numbered = list(zip(seqs, rows, strict=True))
        cursor.wide("insert_message", [(seq, *row[:11]) for seq, row in numbered])
        cursor.wide("insert_pending", [(seq, row[1], row[5], *row[11:], row[10]) for seq, row in numbered])
        return seqs

    def insert_at_once(
        self, cursor: Cursor, queue: str, rows: Sequence[Due], now: int | None
    ) -> Stored | None:
        """One step instead of six."""
        return push_alike(cursor, queue, rows, now)

    def pick(
        self,
        cursor: Cursor,
        queue: int,
        floors: Sequence[Floor],  # noqa: ARG002 - nothing is left behind to skip
        now: int,
        limit: int,
    ) -> list[tuple[Any, ...]]:
        """One range of the index for each priority, in one statement."""
        return cursor.all("pick", queue=queue, now=now, limit=limit)

    def claim_at_once(self, cursor: Cursor, asked: Plain, now: int | None) -> Taken | None:
        """The same in one row, with the queue's rules asked for, and leased."""
        want, moment = asked.want, self.clock() if now is None else now
        cursor.at_once(
            "claim_at_once",
            queue=asked.known,
            name=asked.queue,
            now=moment,
            lease=None if want.lease is None else span(want.lease),
            token=asked.token,
            consumer=want.consumer,
            most=want.limit,
            longest=LONGEST,
        )
        row = cursor.at_once("claimed_at_once").fetchone()
        found = Whole._make(row) if row else None
        if found is None or not found.is_plain:
            return None
        if found.ids is None:
            return Taken(asked.known, found.max_attempts)
        return Taken(
            asked.known, found.max_attempts, partial(found.leased, found.long_bodies(cursor), moment)
        )

    def ack(
        self, cursor: Cursor, pairs: Sequence[tuple[int, bytes]], now: int | None, *, alone: bool
    ) -> set[int]:
        """If all are held, as they mostly are, in one step: each is one row more and one row less."""
        seqs, tokens = [seq for seq, _ in pairs], [token for _, token in pairs]
        if alone and cursor.is_fresh and set(map(len, tokens)) == {TOKEN}:
            said = {"seqs": seqs, "tokens": b"".join(tokens), "count": len(seqs), "now": now}
            before = cursor.connection.total_changes
            cursor.at_once("ack_at_once", **said)
            if cursor.connection.total_changes == before + 2 * len(seqs):
                return set(seqs)
        return super().ack(cursor, pairs, now, alone=alone)

    def condition(self, key: str) -> str:
        """Through json_each, because a JSON path cannot hold every key."""
        return f"(SELECT value FROM json_each(m.metadata) WHERE key = :{key})"  # noqa: S608 - a parameter's name

    def in_list(self, name: str) -> str:
        """The values of a JSON array."""
        return f"(SELECT value FROM json_each(:{name}))"  # noqa: S608 - a parameter's name

    def durability(self, cursor: Cursor) -> Durability:
        """By the synchronous pragma, and whether there is a file at all."""
        if self._memory:
            return Durability("C", "the database is in memory")
        row = cursor.one("synchronous")
        return _GRADES[row[0] if row else 0]

    def sizes(self, cursor: Cursor) -> tuple[int | None, dict[str, int]]:
        """Of the file; of each table only where that is known without reading much."""
        row = cursor.one("whole_size")
        whole: int = row[0] if row else 0
        try:
            known = cursor.all("sizes") if whole <= LARGEST_MEASURED else []
        except sqlite3.OperationalError as error:
            if "dbstat" not in str(error):  # SQLite can be built without it
                raise
            known = []
        return whole, {str(name): int(size) for name, size in known}

    def script(self, cursor: Any, sql: str) -> None:
        """Statement by statement, inside the transaction (executescript would commit it)."""
        statement = ""
        for line in sql.splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                cursor.execute(statement)
                statement = ""

    def lock_migrations(self, cursor: Any) -> None:
        """BEGIN IMMEDIATE has the lock already."""

    def wait(self, database: Database, queues: Collection[int], until: float) -> bool:
        """Wait for anybody's commit; in memory, for this process's pushes."""
        if self._memory:
            left = max(0.0, until - time.monotonic())
            return database.waiters.wait(queues, database.waiters.since(queues), left)
        return self._watching is not None and self._watching.wait(until)

    def close(self) -> None:
        """Close the connection that watches the file."""
        if self._watching is not None:
            self._watching.close()

    def hold_still(self, engine: Engine) -> None:
        """Have no connection at a fork: a child's copy of SQLite believes that it holds its locks."""
        if self._watching is not None:
            self._watching.hold_still()
        if not self._memory:
            engine.dispose()

    def let_go(self) -> None:
        """Go on watching."""
        if self._watching is not None:
            self._watching.let_go()


AT_ONCE = resource(SQLiteDialect.package, "at_once.sql").read_text()


def _prepare(connection: sqlite3.Connection, synchronous: str) -> None:
    """Set up a new connection. Two processes that switch to WAL at once get BUSY, whatever the timeout."""
    connection.create_function("rowmq_blob", 1, bytes.fromhex, deterministic=True)
    until = time.monotonic() + PATIENCE
    while connection.execute("PRAGMA journal_mode").fetchone()[0] not in ("wal", "memory"):
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(PAUSE)
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA cache_size = -32000")
    connection.executescript(AT_ONCE)


def _detached(engine: Engine) -> Any:
    """A connection that no pool knows of."""
    proxy = engine.raw_connection()
    connection = proxy.driver_connection
    proxy.detach()
    return connection
