"""Connections of ours, and cursors on connections of others."""

import select
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import IsolationLevel, pq
from psycopg.abc import AdaptContext
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import RowFactory, tuple_row
from psycopg.types.array import ListBinaryDumper
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper
from sqlalchemy.engine import URL

from rowmq.core.errors import InvalidURL
from rowmq.stores.postgres.arrays import adapt_arrays

OURS = {"durability": ("full", "off"), "prepare": ("on", "off"), "partitions": ("none", "day")}
"""The options of a URL that are not libpq's, with their values, the default first."""
DEFAULTS = {"application_name": "rowmq", "connect_timeout": "10"}
PLANS = "-c jit=off -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off"
"""The plan of a prepared statement stays when a table that was empty then has grown. So each is made for a
table that has: by index, row by row."""
JUST_NOW = 0.1
"""Seconds for which a server that has answered is believed to be there."""


class Unreachable(psycopg.OperationalError):
    """No connection could be made, unlike one that was made and broke."""


class OurConnection(psycopg.Connection[Any]):
    """Knows when the server last answered a statement that committed by itself (by the monotonic clock)."""

    answered = float("-inf")


class BinaryCursor(psycopg.Cursor[Any]):
    """Sends and receives in binary where the type is known."""

    def __init__(
        self, connection: psycopg.Connection[Any], *, row_factory: RowFactory[Any] = tuple_row
    ) -> None:
        super().__init__(connection, row_factory=row_factory)
        self.format = pq.Format.BINARY


class Joined:
    """The connection of a caller's transaction, whatever rows and types the caller has set up there.

    Nothing is prepared: the plans of the caller's session are not ours to choose.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def cursor(self) -> BinaryCursor:
        """A cursor with our own rows and types."""
        cursor = _UnpreparedCursor(self._connection)
        adapt(cursor)
        return cursor


class _UnpreparedCursor(BinaryCursor):
    def execute(self, query: Any, params: Any = None, **options: Any) -> "_UnpreparedCursor":
        super().execute(query, params, **({"prepare": False} | options))
        return self


def options(url: URL) -> tuple[URL, dict[str, str]]:
    """The URL without our own options, and their values; InvalidURL if one is unknown."""
    chosen = {}
    for name, values in OURS.items():
        value = url.query.get(name, values[0])
        if value not in values:
            raise InvalidURL(f"{name} is one of {', '.join(values)}, not {value!r}")
        chosen[name] = str(value)
    rest = DEFAULTS | {name: value for name, value in url.query.items() if name not in OURS}
    try:
        make_conninfo(**{name: value for name, value in rest.items() if isinstance(value, str)})
    except psycopg.ProgrammingError as error:
        raise InvalidURL(
            f"a postgresql URL has the options {', '.join(OURS)} and those of libpq: {error}"
        ) from None
    if chosen["prepare"] == "on":
        settings = PLANS + (" -c synchronous_commit=off" if chosen["durability"] == "off" else "")
        rest["options"] = f"{settings} {rest.get('options', '')}".strip()
    return url.set(drivername="postgresql+psycopg", query=rest), chosen


def connect(
    _dialect: object, _record: object, arguments: Sequence[Any], parameters: Mapping[str, Any]
) -> Any:
    """Open a connection."""
    try:
        return OurConnection.connect(*arguments, **parameters)
    except psycopg.OperationalError as error:
        raise Unreachable(str(error)) from error


def set_up(connection: psycopg.Connection[Any]) -> None:
    """Make a new connection of ours ready."""
    connection.isolation_level = IsolationLevel.READ_COMMITTED
    connection.cursor_factory = BinaryCursor
    adapt(connection)


def answered_just_now(connection: OurConnection) -> bool:
    """Whether the server is believed to be there without being asked."""
    return time.monotonic() - connection.answered < JUST_NOW


def is_silent(connection: psycopg.Connection[Any]) -> bool:
    """Whether the server has said nothing unasked. If it has, it was most likely goodbye."""
    if not hasattr(select, "poll"):  # Windows
        return not select.select([connection], [], [], 0)[0]
    poll = select.poll()  # bare, for it is asked between a push and its handler
    poll.register(connection.fileno(), select.POLLIN)
    return not poll.poll(0)


@contextmanager
def autocommit(connection: OurConnection) -> Iterator[None]:
    """Have each statement inside be a transaction of its own. Costs no round trip."""
    connection.autocommit = True
    try:
        yield
        connection.answered = time.monotonic()
    finally:
        if connection.info.transaction_status == TransactionStatus.IDLE:
            connection.autocommit = False
        else:  # broken or interrupted, and it must not come back to the pool as it is
            connection.close()


def adapt(context: AdaptContext) -> None:
    """Send every integer as bigint, lest each size be a statement of its own, and lists in binary."""
    context.adapters.register_dumper(int, Int8Dumper)
    context.adapters.register_dumper(int, Int8BinaryDumper)
    context.adapters.register_dumper(list, ListBinaryDumper)
    adapt_arrays(context)
