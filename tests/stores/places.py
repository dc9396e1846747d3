"""Where a test's store lives: a database that is migrated once, and emptied instead of made anew."""

from __future__ import annotations

import shutil
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection, create_engine, inspect, make_url, text

from rowmq.runtime.client import Client
from rowmq.stores import open_store
from rowmq.stores.memory import MemoryStore
from rowmq.stores.memory.role import Role
from rowmq.stores.memory.tables import Tables
from tests.doors.http.serving import serving
from tests.servers import fresh_redis_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.core.store import Store

DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}


class Place(Protocol):
    """Somewhere that has a store, empty each time it is asked for."""

    def open(self) -> Store:
        """Return a store that holds nothing."""

    def close(self, store: Store) -> None:
        """Take back a store that was opened here."""

    def leave(self) -> None:
        """Give back what the place itself holds."""


class MemoryPlace:
    """A store in memory is new whenever it is opened."""

    def open(self) -> Store:
        return open_store("memory://")

    def close(self, store: Store) -> None:
        store.close()

    def leave(self) -> None:
        pass


class SQLitePlace:
    """A new file each time, copied from one that has been migrated."""

    def __init__(self, directory: Path) -> None:
        self._template = directory / "template.db"
        self._used = directory / "used.db"
        open_store(f"sqlite:///{self._template}").close()

    def open(self) -> Store:
        self.leave()
        shutil.copyfile(self._template, self._used)
        return open_store(f"sqlite:///{self._used}")

    def close(self, store: Store) -> None:
        store.close()

    def leave(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                Path(f"{self._used}{suffix}").unlink()


class ServerPlace:
    """A schema of a server, migrated once, with a store that stays open and whose rows are deleted each time.

    To connect and look around takes longer than most tests. What a store remembers of a queue it keeps by
    the queue's number, which is never used again; what the migrations have written stays.
    """

    def __init__(self, url: str) -> None:
        self._store = open_store(url)
        parsed = make_url(url)
        self._engine = create_engine(parsed.set(drivername=DRIVERS[parsed.drivername]))
        with self._engine.connect() as connection:
            names = _tables(connection)
            kept = _with_rows(connection, names)
        self._tables = [name for name in names if name not in kept]

    def open(self) -> Store:
        with self._engine.begin() as connection:
            if self._engine.name == "postgresql":
                connection.execute(text("SET LOCAL synchronous_commit = off"))
            used = _with_rows(connection, self._tables)
            for name in self._tables:
                if name in used:
                    connection.execute(text(f"DELETE FROM {name}"))
        return self._store

    def close(self, store: Store) -> None:
        """Leave it open for the next test."""

    def leave(self) -> None:
        self._store.close()
        self._engine.dispose()


class RedisPlace:
    """A prefix of its own each time on a server, whose keys are deleted afterwards."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._open: dict[Store, ExitStack] = {}

    def open(self) -> Store:
        stack = ExitStack()
        store = open_store(stack.enter_context(fresh_redis_prefix(self._url)))
        self._open[store] = stack
        return store

    def close(self, store: Store) -> None:
        store.close()
        self._open.pop(store).close()

    def leave(self) -> None:
        pass


class RemotePlace:
    """A server on a store in memory, whose tables are new each time, and the store that talks to it.

    The server lets requests say what time it is, as tests do.
    """

    def __init__(self) -> None:
        self._behind, self._open = MemoryStore(), ExitStack()
        url = self._open.enter_context(serving(Client(self._behind), clients_clock=True))
        self._store = open_store(url)

    def open(self) -> Store:
        fresh, behind = Tables(), self._behind
        for role in (
            behind,
            behind.queues,
            behind.topics,
            behind.consumers,
            behind.schedules,
            behind.history,
            behind.monitor,
        ):
            assert isinstance(role, Role)
            role.tables = fresh
        return self._store

    def close(self, store: Store) -> None:
        """Leave it open for the next test."""

    def leave(self) -> None:
        self._store.close()
        self._open.close()
        self._behind.close()


def _tables(connection: Connection) -> list[str]:
    """List the tables so that none is referred to by a later one."""
    order = inspect(connection).get_sorted_table_and_fkc_names()
    return [name for name, _ in reversed(order) if name is not None]


def _with_rows(connection: Connection, tables: list[str]) -> set[str]:
    query = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in tables)
    return {row[0] for row in connection.execute(text(query))}


@contextmanager
def opened(place: Place) -> Iterator[Store]:
    """Have an empty store there for a while."""
    store = place.open()
    try:
        yield store
    finally:
        place.close(store)
