"""Where a test's store lives: a database that is migrated once, and emptied instead of made anew."""

from __future__ import annotations

import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection, create_engine, inspect, make_url, text

from rowmq.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.core.store import Store

DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}


class Place(Protocol):
    """Somewhere that a store can be opened, empty each time."""

    def empty(self) -> str:
        """Make the place empty and return its URL."""

    def leave(self) -> None:
        """Give back what the place itself holds."""


class MemoryPlace:
    """A store in memory is new whenever it is opened."""

    def empty(self) -> str:
        return "memory://"

    def leave(self) -> None:
        pass


class SQLitePlace:
    """A new file each time, copied from one that has been migrated."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._template = directory / "template.db"
        self._used: Path | None = None
        self._count = 0
        open_store(f"sqlite:///{self._template}").close()

    def empty(self) -> str:
        self.leave()
        self._count += 1
        self._used = self._directory / f"{self._count}.db"
        shutil.copyfile(self._template, self._used)
        return f"sqlite:///{self._used}"

    def leave(self) -> None:
        if self._used is not None:
            for suffix in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    Path(f"{self._used}{suffix}").unlink()


class ServerPlace:
    """A schema of a server, migrated once, whose rows are deleted each time.

    What the migrations themselves have written stays.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        open_store(url).close()
        parsed = make_url(url)
        self._engine = create_engine(parsed.set(drivername=DRIVERS[parsed.drivername]))
        with self._engine.connect() as connection:
            self._tables = [name for name in _tables(connection) if not _has_rows(connection, name)]

    def empty(self) -> str:
        with self._engine.begin() as connection:
            for name in self._tables:
                connection.execute(text(f"DELETE FROM {name}"))
        return self._url

    def leave(self) -> None:
        self._engine.dispose()


def _tables(connection: Connection) -> list[str]:
    """List the tables so that none is referred to by a later one."""
    order = inspect(connection).get_sorted_table_and_fkc_names()
    return [name for name, _ in reversed(order) if name is not None]


def _has_rows(connection: Connection, table: str) -> bool:
    return connection.execute(text(f"SELECT 1 FROM {table} LIMIT 1")).first() is not None


@contextmanager
def opened(place: Place) -> Iterator[Store]:
    """Open an empty store there for a while."""
    store = open_store(place.empty())
    try:
        yield store
    finally:
        store.close()
