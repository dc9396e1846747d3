"""The ways of MariaDB and MySQL.

Neither tells anybody of a commit, so waiting is looking. DDL commits at once, so migrations must stand
being run again. The clock is the server's.
"""

import re
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from pymysql.connections import Connection as DriverConnection
from pymysql.constants import SERVER_STATUS
from pymysql.err import InterfaceError, MySQLError
from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL, Engine
from sqlalchemy.pool import QueuePool

from rowmq.core.errors import InvalidSetting, InvalidURL, RowMQError
from rowmq.core.history import Durability
from rowmq.stores.mysql.cursor import JoinedCursor, RowCursor, runs
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.database import Conflict, Database
from rowmq.stores.sql.dialect import Dialect, Fresh, Trouble
from rowmq.stores.sql.floors import Floor
from rowmq.stores.sql.queries import pyformat

POLL = (0.01, 0.1)
"""Seconds between looks for other processes' pushes: the first, and the longest they grow to."""
FAR = 10_000
"""So many new messages are not looked through: the waiter wakes."""
TURN = 2.0
"""Seconds that a large claim waits for others' at most. The turns are for speed, nothing depends on them."""
LETTERS = "abcdefghi"
"""The priorities above the lowest, from the highest on, in the names of parameters."""
LONG_RUN = 50
"""Seqs in a row that are deleted as a range, with a statement of their own."""
CHARSET = "utf8mb4"
_TEXT = ("bind_address", "program_name", "read_default_file", "read_default_group", "unix_socket")
_NUMBERS = ("connect_timeout", "read_timeout", "write_timeout")
_PATHS = ("ssl_ca", "ssl_cert", "ssl_key", "ssl_key_password")
_FLAGS = ("ssl_disabled", "ssl_verify_cert", "ssl_verify_identity")
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")

_SESSION = (
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'",
    "SET SESSION innodb_lock_wait_timeout = 5",
)
_LOCK = "SELECT GET_LOCK(CONCAT('rowmq:', MD5(CONCAT(DATABASE(), %(of)s))), %(seconds)s)"
_STATEMENT = re.compile(r"CREATE PROCEDURE\b.*?^END;$|\S.*?;$", re.DOTALL | re.MULTILINE)
_IN_LIST = re.compile(r"\b([\w.]+) IN %\((\w+)\)s")
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)

_NO_SAVEPOINT = 1305
"""A deadlock has rolled back the whole transaction, savepoint and all."""
_TROUBLES = (
    (Trouble.CONFLICT, (1020, 1205, 1213, _NO_SAVEPOINT, 1412, 3572)),
    (Trouble.COLLISION, (1062,)),
    (Trouble.GONE, (1053, 1158, 1159, 1160, 1161, 1927, 2006, 2013, 2055, 3169, 4031)),
    (Trouble.REFUSED, (1040, 1041, 1044, 1045, 1047, 1049, 1129, 1130, 1203, 1226, 2002, 2003, 2005)),
    (Trouble.REFUSED, (1142, 1227, 1290, 1836)),
    (Trouble.FULL, (1021, 1114)),
    (Trouble.NO_TABLES, (1054, 1146)),
)
_BY_CODE = {code: trouble for trouble, codes in _TROUBLES for code in codes}


def style(sql: str) -> str:
    """The statement as our cursor wants it, a list together with the column that is to be in it."""
    return _IN_LIST.sub(r"%(\1 IN \2)s", pyformat(sql)).replace("?", "%s")


class MySQLDialect(Dialect):
    """MariaDB or MySQL through PyMySQL."""

    driver = DriverConnection
    package = "rowmq.stores.mysql"
    style = staticmethod(style)
    floors = True

    def __init__(self) -> None:
        self._locking = WeakSet[Any]()
        """Connections that hold a named lock until they go back to the pool."""
        self._looked = (0.0, 0)
        """When somebody last looked for pushes, and the highest seq then."""
        self._known = threading.local()

    def engine(self, url: URL) -> Engine:
        """A pool of connections that are set up the same way, whatever the server's defaults."""
        if not url.database:
            raise InvalidURL("a mysql URL names a database, like mysql://user@host/database")
        arguments = _options(url) | {"charset": CHARSET, "cursorclass": RowCursor, "autocommit": False}
        engine = create_engine(
            url.set(query={}, drivername="mysql+pymysql"),
            connect_args=arguments,
            poolclass=QueuePool,
            pool_size=10,
            max_overflow=-1,
            pool_reset_on_return=None,  # every transaction is ended before its connection goes back
        )
        event.listen(engine, "connect", lambda connection, _: _prepare(connection))
        event.listen(engine, "checkin", lambda connection, _: self._unlock(connection))
        return engine

    def begin(self, cursor: Any, *, writes: bool) -> None:
        """Nothing to do: the first statement begins."""

    def snapshot(self, cursor: Any) -> None:
        """Each statement would see a moment of its own. This counts for the transaction about to begin."""
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")

    def joined(self, connection: Any) -> Any:
        """The connection with cursors of ours."""
        status: int = connection.server_status
        if connection.get_autocommit() and not status & SERVER_STATUS.SERVER_STATUS_IN_TRANS:
            raise InvalidSetting("tx is in autocommit mode and has not begun a transaction")
        if connection.charset != CHARSET:
            raise InvalidSetting(f"tx uses {connection.charset}; connect it with charset={CHARSET}")
        return _Joined(connection)

    def trouble(self, error: BaseException) -> Trouble:
        """By the error codes of server and client."""
        if not isinstance(error, MySQLError):
            return Trouble.OTHER
        code = error.args[0] if error.args else 0
        if code == 0 and isinstance(error, InterfaceError):
            return Trouble.GONE
        if code == _NO_SAVEPOINT and "SAVEPOINT" not in str(error):
            return Trouble.OTHER
        return _BY_CODE.get(code, Trouble.OTHER)

    def many(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """As a tuple, which the cursor writes in parentheses."""
        return tuple(values)

    def insert(self, cursor: Cursor, rows: Sequence[Fresh]) -> list[int]:
        """Let the database number the messages, then insert their pending rows under the same numbers."""
        seqs: list[int] = []
        cursor.many("insert_message", [row[:11] for row in rows])
        for first, count in cursor.raw.inserted:
            ids = [row.id for row in rows[len(seqs) : len(seqs) + count]]
            seqs += _numbers(cursor, first, ids)
        pending = [(seq, row[1], row[5], *row[11:], row[10]) for seq, row in zip(seqs, rows, strict=True)]
        cursor.many("insert_pending", pending)
        return seqs

    def pick(
        self, cursor: Cursor, queue: int, floors: Sequence[Floor], now: int, limit: int
    ) -> list[tuple[Any, ...]]:
        """Lock one range of the index after the other, from the highest priority there is."""
        rows: list[tuple[Any, ...]] = []
        starts = {f"floor_{letter}": floor.time for letter, floor in zip(LETTERS, floors, strict=False)}
        higher = cursor.all("due_priorities", queue=queue, now=now, **starts)
        for priority in [*(row[0] for row in higher), 0]:
            if len(rows) < limit:
                said = {"floor": floors[-1 - priority].time, "now": now, "limit": limit - len(rows)}
                rows += cursor.all("pick", queue=queue, priority=priority, **said)
        return rows

    def ack(
        self, cursor: Cursor, pairs: Sequence[tuple[int, bytes]], now: int | None, *, alone: bool
    ) -> set[int]:
        """Token by token, mostly one: a statement that finishes what it holds, and one that unpends that.

        In a caller's transaction the first would lock the queues too, until the caller ends it.
        """
        if cursor.joined:
            return super().ack(cursor, pairs, now, alone=alone)
        seqs_of: dict[bytes, list[int]] = defaultdict(list)
        for seq, token in pairs:
            seqs_of[token].append(seq)
        return {seq for token, seqs in seqs_of.items() for seq in _finished(cursor, seqs, token, now)}

    def condition(self, key: str) -> str:
        """As bytes, because text would be compared without regard to spaces at its end."""
        return f"CAST(JSON_UNQUOTE(JSON_EXTRACT(m.metadata, CONCAT('$.', JSON_QUOTE(:{key})))) AS BINARY)"

    def in_list(self, name: str) -> str:
        """The list itself."""
        return f":{name}"

    def durability(self, cursor: Cursor) -> Durability:
        """By when the logs are flushed, and whether a page can be half written."""
        flush, binlog, sync, doublewrite = cursor.one("durability") or (0, 0, 0, 0)
        if int(flush) != 1:
            because = f"innodb_flush_log_at_trx_commit={flush}: the last commits can be lost with the power"
            return Durability("B", because)
        if binlog and int(sync) != 1:
            return Durability("B", f"sync_binlog={sync}: the last commits can be lost with the power")
        if str(doublewrite).upper() not in ("1", "ON", "2", "FAST"):
            return Durability("B", f"innodb_doublewrite={doublewrite}: a page can be torn with the power")
        return Durability("A", "innodb_flush_log_at_trx_commit=1: every commit is on the disk")

    def script(self, cursor: Any, sql: str) -> None:
        """Statement by statement; one ends with a semicolon at a line's end, a procedure with END."""
        for statement in _STATEMENT.findall(_COMMENT.sub("", sql)):
            cursor.execute(statement.removesuffix(";"))

    def lock_migrations(self, cursor: Any) -> None:
        """A named lock, held until the connection goes back to the pool: DDL would end any other."""
        if not self._lock(cursor, "", 10):
            raise Conflict

    def take_turn(self, cursor: Cursor, queue: str) -> None:
        """By a named lock: claims that run beside each other all wade through what the others have locked."""
        self._lock(cursor.raw, f"/{queue}", TURN)

    def _lock(self, cursor: Any, of: str, seconds: float) -> bool:
        """Take a lock that is held until the connection goes back to the pool; False if there was no time."""
        cursor.execute(_LOCK, {"of": of, "seconds": seconds})
        held = bool(cursor.fetchone()[0])
        if held:
            self._locking.add(cursor.connection)
        return held

    def _unlock(self, connection: Any) -> None:
        if connection in self._locking:
            self._locking.discard(connection)
            # What was committed is, whatever comes now; a broken connection has no locks.
            with suppress(MySQLError), connection.cursor() as cursor:
                cursor.execute("DO RELEASE_ALL_LOCKS()")

    def wait(self, database: Database, queues: Collection[int], until: float) -> bool:
        """Wait for this process's pushes directly, and look for others' by the highest seq there is."""
        seen = database.waiters.since(queues)
        pause, longest = POLL
        while True:
            try:
                if self._pushed(database, queues):
                    return True
            except RowMQError:  # whoever claims next will say what is wrong
                pause = longest
            left = until - time.monotonic()
            if left <= 0:
                return False
            if database.waiters.wait(queues, seen, min(pause, left)):
                return True
            pause = min(pause * 1.5, longest)

    def _pushed(self, database: Database, queues: Collection[int]) -> bool:
        """Whether messages for these queues have come since this thread last looked."""
        highest = self._look(database)
        after, self._known.seq = getattr(self._known, "seq", highest), highest
        if highest - after > FAR or not queues:
            return highest > after
        return highest > after and bool(
            database.read(lambda cursor: cursor.one("pushed_after", queues=list(queues), after=after))
        )

    def _look(self, database: Database) -> int:
        """The highest seq; threads share a look while it is fresh."""
        at, highest = self._looked
        if time.monotonic() - at >= POLL[0]:
            row = database.read(lambda cursor: cursor.one("bounds"))
            highest = row[1] or 0 if row else 0
            self._looked = (time.monotonic(), highest)
        return highest


class _Joined:
    """A caller's connection, whatever cursors it gives to its owner."""

    def __init__(self, connection: "DriverConnection[Any]") -> None:
        self._connection = connection

    def cursor(self) -> JoinedCursor:
        return JoinedCursor(self._connection)


def _options(url: URL) -> dict[str, Any]:
    """The URL's options as PyMySQL takes them."""
    options: dict[str, Any] = {}
    for name, value in url.query.items():
        text = str(value)
        if name in _TEXT + _PATHS:
            options[name] = text
        elif name in _NUMBERS and text.isdecimal() and int(text):
            options[name] = int(text)
        elif name in _FLAGS and text.lower() in _YES + _NO:
            options[name] = text.lower() in _YES
        elif name in _NUMBERS + _FLAGS:
            raise InvalidURL(f"the option {name} of a mysql URL cannot be {text!r}")
        elif name != "charset":
            known = ", ".join(_TEXT + _NUMBERS + _PATHS + _FLAGS)
            raise InvalidURL(f"a mysql URL has no option {name}; it has {known}")
        elif text.lower() != CHARSET:
            raise InvalidURL(f"the charset is always {CHARSET}, not {text}")
    if "ssl_ca" in options:
        options.setdefault("ssl_verify_cert", True)
    return options


def _prepare(connection: Any) -> None:
    """Set up a new connection."""
    with connection.cursor() as cursor:
        for statement in _SESSION:
            cursor.execute(statement)
        cursor.execute("SELECT @@max_allowed_packet")
        connection.max_allowed_packet = cursor.fetchone()[0]
    connection.commit()


def _numbers(cursor: Cursor, first: int, ids: Sequence[bytes]) -> list[int]:
    """The seqs of rows inserted by one statement, given the first.

    They rise from row to row, so if the last is where it is without gaps, so are all. Otherwise, as in
    clusters that count in larger steps, they are looked up.
    """
    last = first + len(ids) - 1
    if first == last or cursor.one("id_of", seq=last) == (ids[-1],):
        return list(range(first, last + 1))
    seqs = {row[0]: row[1] for row in cursor.all("seqs_of_ids", ids=list(ids))}
    return [seqs[id] for id in ids]


def _finished(cursor: Cursor, seqs: Sequence[int], token: bytes, now: int | None) -> Sequence[int]:
    """Finish those that the token holds, and return their seqs; nearly always all of them."""
    count = cursor.run("ack_finish", seqs=list(seqs), token=token, now=now)
    if count < len(seqs):
        seqs = [seq for (seq,) in cursor.all("ack_finished", seqs=list(seqs), token=token)] if count else []
    _unpend(cursor, seqs)
    return seqs


def _unpend(cursor: Cursor, seqs: Sequence[int]) -> None:
    """Owe these no more. A range of keys is deleted at two thirds of the cost of keys that are joined."""
    parts = runs(seqs)
    for run in parts:
        if len(run) >= LONG_RUN:
            cursor.run("unpend_run", first=run[0], last=run[-1])
    short = [seq for run in parts if len(run) < LONG_RUN for seq in run]
    if short:
        cursor.run("unpend", seqs=short)
