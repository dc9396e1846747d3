"""Reading the tables of other systems."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, create_engine, event, inspect, text
from sqlalchemy.engine import Engine, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from rowmq.core.errors import InvalidURL, StoreUnavailable
from rowmq.pipeline.importing.rows import Part
from rowmq.pipeline.opening import refuse_missing

DRIVERS = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
    "sqlite": "sqlite",
}
Row = dict[str, Any]
LARGEST = 50_000
"""Rows above which a table is read by more tasks than one."""
MOST_PARTS = 16
FETCHED = 1_000


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """A connection to read from; InvalidURL or StoreUnavailable if there is none."""
    refuse_missing(url)
    engine = _engine(url)
    try:
        with engine.connect() as connection:
            yield connection
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).partition("\n")[0]
        raise StoreUnavailable(f"what is to be imported cannot be read: {reason}") from None
    finally:
        engine.dispose()


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise InvalidURL("--from is a URL like postgresql://user@host/db or sqlite:///file.db") from None
    kind = parsed.drivername.partition("+")[0]
    if kind not in DRIVERS:
        raise InvalidURL(f"--from is an SQL database's URL here, not {kind}://")
    engine = create_engine(parsed.set(drivername=DRIVERS[kind]))
    if engine.dialect.name == "mysql":  # whose timestamps come in the session's zone, without saying so
        event.listen(engine, "connect", lambda made, _: made.cursor().execute("SET time_zone = '+00:00'"))
    return engine


def tables_like(connection: Connection, *columns: str) -> list[str]:
    """The tables that have all of these columns."""
    there = inspect(connection)
    names = sorted(there.get_table_names())
    return [name for name in names if set(columns) <= {each["name"] for each in there.get_columns(name)}]


def rows(connection: Connection, table: str, key: str, part: Part, **only: Any) -> Iterator[Row]:
    """A table's rows in a part of its keys, without holding them all, where columns have these values.

    Values are as the driver gives them, not as the columns' types would have them: those of SQLite say
    little. JSON comes as text, to the last digit.
    """
    quote = partial(_quoted, connection)
    edges = {"first": (">=", part.first), "last": ("<", part.last)}
    form = _form(connection, table, key)
    said = {name: (quote(key), sign, form(edge)) for name, (sign, edge) in edges.items() if edge is not None}
    said |= {f"is_{name}": (quote(name), "=", value) for name, value in only.items()}
    where = " AND ".join(f"{column} {sign} :{name}" for name, (column, sign, _) in said.items())
    query = f"SELECT {_columns(connection, table)} FROM {quote(table)} WHERE {where or '1 = 1'}"  # noqa: S608 - quoted
    values = {name: value for name, (_, _, value) in said.items()}
    streaming = connection.execution_options(stream_results=True, yield_per=FETCHED)
    yield from map(dict, streaming.execute(text(query), values).mappings())


def _quoted(connection: Connection, name: str) -> str:
    """A name as SQL takes it, whatever it is; a colon in it is no parameter."""
    return connection.dialect.identifier_preparer.quote_identifier(name).replace(":", r"\:")


def _columns(connection: Connection, table: str) -> str:
    quote = partial(_quoted, connection)
    return ", ".join(
        f"CAST({quote(each['name'])} AS text) AS {quote(each['name'])}"
        if connection.dialect.name == "postgresql" and str(each["type"]).startswith("JSON")
        else quote(each["name"])
        for each in inspect(connection).get_columns(table)
    )


def parts_by_number(connection: Connection, table: str, key: str) -> list[Part]:
    """A table cut by its whole-number keys."""
    quote = partial(_quoted, connection)
    asked = f"SELECT COUNT(*), MIN({quote(key)}), MAX({quote(key)}) FROM {quote(table)}"  # noqa: S608 - quoted
    count, low, high = connection.execute(text(asked)).one()
    pieces = _pieces(count)
    edges = [low + (high - low + 1) * each // pieces for each in range(1, pieces)]
    return _between([str(edge) for edge in edges])


def parts_by_uuid(connection: Connection, table: str) -> list[Part]:
    """A table cut by the first digits of its keys, which are UUIDs in one form or another."""
    quoted = _quoted(connection, table)
    count = connection.execute(text(f"SELECT COUNT(*) FROM {quoted}")).scalar_one()  # noqa: S608 - quoted
    pieces = _pieces(count)
    return _between([f"{256 * each // pieces:02x}" for each in range(1, pieces)])


def _pieces(count: int) -> int:
    return max(1, min(MOST_PARTS, -(-count // LARGEST)))


def _between(edges: list[str]) -> list[Part]:
    return [Part(*pair) for pair in zip([None, *edges], [*edges, None], strict=True)]


def _form(connection: Connection, table: str, key: str) -> Callable[[str], Any]:
    """How an edge is written for this key, by what the first key there is."""
    quote = partial(_quoted, connection)
    asked = f"SELECT {quote(key)} FROM {quote(table)} LIMIT 1"  # noqa: S608 - quoted
    found = connection.execute(text(asked)).scalar()
    if isinstance(found, int):
        return int
    if isinstance(found, bytes):
        return lambda edge: bytes.fromhex(edge.ljust(32, "0"))
    return lambda edge: str(UUID(edge.ljust(32, "0")))
