"""A user with a transaction of their own, in each of the ways that ``tx=`` takes one."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote, urlsplit

import psycopg
import pymysql
from sqlalchemy import Connection, Engine, create_engine, make_url, text
from sqlalchemy.orm import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}
WAYS = ("session", "connection", "driver")


class Caller(Protocol):
    """Someone who runs statements and commits or rolls back."""

    tx: Any

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows, if it has any."""

    def commit(self) -> None:
        """Make it real."""

    def rollback(self) -> None:
        """Undo it."""


class Mapped:
    """Through SQLAlchemy."""

    def __init__(self, tx: Session | Connection) -> None:
        self.tx: Any = tx
        self.commit = tx.commit
        self.rollback = tx.rollback

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        result = self.tx.execute(text(sql))
        return [tuple(row) for row in result] if result.returns_rows else []


class Driven:
    """Through the driver itself."""

    def __init__(self, tx: Any) -> None:
        self.tx = tx
        self.commit = tx.commit
        self.rollback = tx.rollback

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        cursor = self.tx.cursor()
        cursor.execute(sql)
        rows = list(cursor.fetchall()) if cursor.description else []
        cursor.close()
        return rows


def engine_of(url: str, **options: Any) -> Engine:
    """Make an engine of the user's own for a store's URL."""
    parsed = make_url(url)
    return create_engine(parsed.set(drivername=DRIVERS[parsed.drivername]), **options)


def connected(url: str, *, autocommit: bool = False) -> Any:
    """Connect with the driver itself."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return sqlite3.connect(parts.path[1:], isolation_level=None if autocommit else "DEFERRED", timeout=0)
    if parts.scheme == "postgresql":
        return psycopg.connect(url, autocommit=autocommit, connect_timeout=10)
    return pymysql.connect(
        host=parts.hostname or "",
        port=parts.port or 0,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=parts.path[1:],
        autocommit=autocommit,
    )


@contextmanager
def calling(url: str, way: str) -> Iterator[Caller]:
    """Have a transaction open for a while."""
    if way == "driver":
        connection = connected(url)
        try:
            yield Driven(connection)
        finally:
            connection.close()
        return
    engine = engine_of(url)
    tx = Session(engine) if way == "session" else engine.connect()
    try:
        yield Mapped(tx)
    finally:
        tx.close()
        engine.dispose()
