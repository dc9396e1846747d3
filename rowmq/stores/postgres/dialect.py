"""PostgreSQL's ways.

Many processes at once: rows are locked where they are found, and what others have locked is skipped. The
clock is the server's. A push notifies the processes that wait.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any
from uuid import UUID

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL, Engine
from sqlalchemy.pool import QueuePool

from rowmq.core.clock import span
from rowmq.core.errors import InvalidSetting, InvalidURL
from rowmq.core.history import Durability
from rowmq.stores.postgres.arrays import array
from rowmq.stores.postgres.claimed import taken
from rowmq.stores.postgres.connecting import (
    Joined,
    Unreachable,
    answered_just_now,
    autocommit,
    connect,
    is_silent,
    options,
    set_up,
)
from rowmq.stores.postgres.inserting import Inserter
from rowmq.stores.postgres.listening import Listener
from rowmq.stores.postgres.partitions import drop_days, is_partitioned, make_days, set_up_partitions
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.database import Database
from rowmq.stores.sql.dialect import MANY, TOKEN, Dialect, Due, Fresh, Plain, Stored, Taken, Trouble
from rowmq.stores.sql.floors import PRIORITIES, Floor
from rowmq.stores.sql.queries import pyformat

TURN = "2s"
"""How long a large claim waits for others' at most."""
_TROUBLES = {
    "40001": Trouble.CONFLICT,  # serialization failure
    "40P01": Trouble.CONFLICT,  # deadlock
    "55P03": Trouble.CONFLICT,  # lock timeout
    "23505": Trouble.COLLISION,
    "25P03": Trouble.GONE,  # idle in a transaction for too long
    "57P01": Trouble.GONE,  # the server shuts down, or somebody ended the session
    "57P02": Trouble.GONE,  # another session crashed
    "57P05": Trouble.GONE,  # idle for too long
    "53100": Trouble.FULL,
    "57P03": Trouble.REFUSED,  # the server is starting up
    "25006": Trouble.REFUSED,  # read-only
    "3D000": Trouble.REFUSED,  # no such database
    "3F000": Trouble.REFUSED,  # no such schema
    "42501": Trouble.REFUSED,  # no permission
    "42P01": Trouble.NO_TABLES,
    "42703": Trouble.NO_TABLES,
}
_CLASSES = {
    "08": Trouble.GONE,
    "28": Trouble.REFUSED,  # authorization
    "53": Trouble.REFUSED,  # out of memory, too many connections
    "58": Trouble.REFUSED,  # the disk itself
}


class PostgresDialect(Dialect):
    """PostgreSQL through psycopg 3."""

    driver = psycopg.Connection
    package = "rowmq.stores.postgres"
    style = staticmethod(pyformat)
    floors = True
    abreast = 2

    def __init__(self) -> None:
        self._listener = Listener()
        self._inserter = Inserter()
        self._lax = False
        self._partitions = False

    def engine(self, url: URL) -> Engine:
        """A pool of connections with our settings."""
        rest, ours = options(url)
        pooled_elsewhere = ours["prepare"] == "off"
        self._partitions = ours["partitions"] == "day"
        self._listener.deaf = pooled_elsewhere
        self._lax = pooled_elsewhere and ours["durability"] == "off"
        arguments = {"prepare_threshold": None} if pooled_elsewhere else {}
        engine = create_engine(
            rest,
            poolclass=QueuePool,
            pool_size=10,
            max_overflow=1000,
            pool_reset_on_return=None,  # every transaction is ended by us
            connect_args=arguments,
            use_native_hstore=False,
        )
        event.listen(engine, "do_connect", connect)
        event.listen(engine, "connect", lambda connection, _: set_up(connection))
        return engine

    def begin(self, cursor: Any, *, writes: bool) -> None:
        """Nothing: psycopg begins by itself. Behind another pool, a setting lasts for one transaction."""
        if self._lax and writes:
            cursor.execute("SET LOCAL synchronous_commit = off")

    def snapshot(self, cursor: Any) -> None:
        """Each statement would see a moment of its own."""
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")

    def joined(self, connection: Any) -> Any:
        """The connection with cursors of ours."""
        if connection.closed:
            raise InvalidSetting("tx is closed")
        if connection.autocommit and connection.info.transaction_status == TransactionStatus.IDLE:
            raise InvalidSetting("tx is in autocommit mode and has not begun a transaction")
        return Joined(connection)

    def trouble(self, error: BaseException) -> Trouble:
        """By SQLSTATE; without one the connection broke, or was never made."""
        if not isinstance(error, psycopg.Error):
            return Trouble.OTHER
        code = error.sqlstate
        if code is not None:
            return _TROUBLES.get(code) or _CLASSES.get(code[:2]) or Trouble.OTHER
        if isinstance(error, psycopg.DataError):  # from the driver itself: NUL, or half a character
            return Trouble.UNSTORABLE
        if isinstance(error, Unreachable):
            return Trouble.REFUSED
        return Trouble.GONE if isinstance(error, psycopg.OperationalError) else Trouble.OTHER

    def id_in(self, id: UUID) -> UUID:
        """As it is."""
        return id

    def id_out(self, value: Any) -> UUID:
        """As it is."""
        result: UUID = value
        return result

    def many(self, values: Sequence[Any]) -> list[Any]:
        """An array."""
        return array(values)

    def insert(self, cursor: Cursor, rows: Sequence[Fresh]) -> list[int]:
        """One statement for all of them."""
        return self._inserter.insert(cursor, rows)

    def insert_at_once(
        self, cursor: Cursor, queue: str, rows: Sequence[Due], now: int | None
    ) -> Stored | None:
        """One round trip instead of four; not where a setting must last for the transaction."""
        return None if self._lax else self._inserter.insert_at_once(cursor, queue, rows, now)

    def pick(
        self, cursor: Cursor, queue: int, floors: Sequence[Floor], now: int, limit: int
    ) -> list[tuple[Any, ...]]:
        """One range of the index for each priority, in one statement."""
        times = [floor.time for floor in floors]
        return cursor.all(
            "pick", queue=queue, priorities=list(PRIORITIES), floors=times, now=now, limit=limit
        )

    def claim_at_once(self, cursor: Cursor, asked: Plain, now: int | None) -> Taken | None:
        """The same, with the queue found and the rows leased."""
        lease, large = asked.want.lease, asked.want.limit >= MANY
        with (
            self._alone(cursor, believing=large),
            self._turn(cursor, asked.known, taken=large and asked.busy),
        ):
            cursor.run(
                "claim_at_once",
                name=asked.queue,
                known=asked.known,
                priorities=list(PRIORITIES),
                floors=[floor.time for floor in asked.floors],
                lasts=[floor.seq for floor in asked.floors],
                limit=asked.want.limit,
                consumer=asked.want.consumer,
                lease=None if lease is None else span(lease),
                token=asked.token,
                now=now,
            )
        return taken(cursor.raw.fetchall())

    @contextmanager
    def _turn(self, cursor: Cursor, queue: int, *, taken: bool) -> Iterator[None]:
        """Let others end their claims before a statement that commits by itself, and send both together.

        Claims that run beside each other all walk over what the others have locked and moved. Nothing
        depends on the turn: a claim that has waited for too long is run again without one.
        """
        connection = cursor.connection
        if not (taken and connection.autocommit and psycopg.capabilities.has_pipeline()):
            yield
            return
        with connection.pipeline():
            cursor.aside("take_turn", queue=queue, turn=TURN)
            yield

    def ack(
        self, cursor: Cursor, pairs: Sequence[tuple[int, bytes]], now: int | None, *, alone: bool
    ) -> set[int]:
        """Move rows from what is owed to what became of it, in one statement."""
        ours = sorted(pair for pair in pairs if len(pair[1]) == TOKEN)
        seqs, tokens = [seq for seq, _ in ours], b"".join(token for _, token in ours)
        with self._alone(cursor) if alone else nullcontext():
            ((gone,),) = cursor.all("ack", seqs=seqs, tokens=tokens, now=now)
        return set(gone or ())

    @contextmanager
    def _alone(self, cursor: Cursor, *, believing: bool = False) -> Iterator[None]:
        """Let a statement commit by itself, which saves two round trips; not where a setting must last.

        First it is asked whether the server is there. Who asks lets go of the interpreter, and the other
        threads of a busy worker keep it for milliseconds, so a large claim may believe what it just heard:
        it has nothing to lose if nobody knows whether it counted.
        """
        connection = cursor.raw.connection
        heard = believing and answered_just_now(connection)
        if self._lax or not (heard or is_silent(connection)):
            yield
            return
        with autocommit(connection), cursor.committing():
            yield

    def condition(self, key: str) -> str:
        """By jsonb's own operator."""
        return f"(CAST(m.metadata AS jsonb) ->> CAST(:{key} AS text))"

    def in_list(self, name: str) -> str:
        """The values of an array."""
        return f"(SELECT unnest(CAST(:{name} AS text[])))"

    def durability(self, cursor: Cursor) -> Durability:
        """By the settings of the server and of this session."""
        fsync, synchronous_commit, full_page_writes = cursor.one("durability") or ("off", "off", "off")
        if synchronous_commit == "off" or self._lax:
            return Durability(
                "C", "synchronous_commit=off: the last commits can be lost when the server crashes"
            )
        if fsync == "off":
            return Durability("B", "fsync=off: commits, or the database, can be lost with the power")
        if full_page_writes == "off":
            return Durability("B", "full_page_writes=off: the database can be damaged when the power fails")
        return Durability(
            "A", f"fsync=on and synchronous_commit={synchronous_commit}: every commit is on the disk"
        )

    def keep_to_indexes(self, cursor: Cursor) -> None:
        """By the planner's own settings."""
        cursor.all("keep_to_indexes")

    def for_each(
        self, cursor: Cursor, statement: str, queues: Sequence[int], **said: int
    ) -> list[tuple[Any, ...]]:
        """All of them at once."""
        return cursor.all(statement, queues=list(queues), **said)

    def script(self, cursor: Any, sql: str) -> None:
        """All statements at once."""
        cursor.execute(sql, binary=False)

    def lock_migrations(self, cursor: Any) -> None:
        """A lock of the schema's own, until the transaction ends."""
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('rowmq migrations of ' || current_schema()))")

    def set_up(self, cursor: Cursor) -> None:
        """Make the empty tables partitioned, if the URL says so."""
        if self._partitions:
            set_up_partitions(cursor, self.package)

    def check(self, database: Database) -> None:
        """Tables that were made without partitions have none."""
        if self._partitions and not database.read(is_partitioned):
            raise InvalidURL(
                "partitions=day is for new tables, and these were made without; take it off the URL"
            )

    def upkeep(self, database: Database, now: int) -> int | None:
        """Where the tables are partitioned, make the next days and drop those that nobody needs."""
        if not database.read(is_partitioned):
            return None
        database.run(lambda cursor: make_days(cursor, now))
        return drop_days(database, now)

    def wait(self, database: Database, queues: Collection[int], until: float) -> bool:
        """Wait for this process's pushes directly, and listen for others'."""
        return self._listener.wait(database.engine, database.waiters, queues, until)

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()
