"""Empty places on private servers, and what the servers used meanwhile."""

from __future__ import annotations

import itertools
import secrets
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from tests.servers import (
    Server,
    connect_mysql,
    connect_postgres,
    connect_redis,
    fresh_mysql_database,
    mariadb_server,
    postgres_server,
    redis_server,
)

REDIS = {"auto-aof-rewrite-percentage": "0"}
"""The log is not rewritten during a run, so that what was written can be read off its size."""
MARIADB = {"log": "96M", "pool": "128M"}
"""MariaDB's own sizes; the tests' are smaller."""
DATABASES = itertools.count()


class Place:
    """An empty place for one system; a file needs no server."""

    def __init__(self, url: str, server: Server | None = None) -> None:
        self.url = url
        self.server = server

    @property
    def pids(self) -> list[int]:
        """The server's process."""
        return [self.server.process.pid] if self.server and self.server.process else []

    def written(self) -> int | None:
        """Bytes that the server wrote to its log so far; None where clients write themselves."""
        return None

    def dead(self) -> int | None:
        """Dead tuples, where there is such a thing."""
        return None

    def look(self) -> None:
        """Let the server see how full its tables are, which it does by itself only once a minute."""

    def begin(self) -> None:
        """Let a step of a scene begin with no work left by others, whatever scene was before it."""

    def rest(self) -> None:
        """Let the server finish what filling the place has left it to do, before anything is timed."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Meanwhile somebody holds a transaction open that has seen everything."""
        with ExitStack() as stack:
            for file in Path(self.url).glob("**/*.db"):
                connection = stack.enter_context(closing(sqlite3.connect(file, isolation_level=None)))
                connection.execute("BEGIN")
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            yield


class PostgresPlace(Place):
    """A database of its own."""

    def written(self) -> int:
        return self._number("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')")

    def dead(self) -> int:
        return self._number("SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables")

    def look(self) -> None:
        with connect_postgres(self.url) as connection:
            connection.execute("ANALYZE")

    def begin(self) -> None:
        # A checkpoint comes after half a gigabyte of log: else always in the same scene of a round.
        with connect_postgres(self.url) as connection:
            connection.execute("CHECKPOINT")

    def rest(self) -> None:
        with connect_postgres(self.url) as connection:
            connection.execute("VACUUM ANALYZE")

    def _number(self, query: str) -> int:
        with connect_postgres(self.url) as connection:
            row = connection.execute(query.encode()).fetchone()
        return int(row[0]) if row else 0

    @contextmanager
    def held(self) -> Iterator[None]:
        with connect_postgres(self.url) as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            connection.execute("SELECT count(*) FROM pg_class")
            yield


class MariaDBPlace(Place):
    """A database of its own."""

    def written(self) -> int:
        with connect_mysql(self.url) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'")
            row = cursor.fetchone()
        return int(row[1]) if row else 0

    @contextmanager
    def held(self) -> Iterator[None]:
        with connect_mysql(self.url) as connection, connection.cursor() as cursor:
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            yield


class RedisPlace(Place):
    """A numbered database, emptied; the log is the whole server's, and no transaction stays open."""

    def written(self) -> int:
        with connect_redis(self.url) as client:
            return int(client.info("persistence")["aof_current_size"])


class Places:
    """Makes empty places of one kind, on one server that all systems share in turn."""

    def __init__(self, kind: str, server: Server | None) -> None:
        self.kind = kind
        self.server = server

    @contextmanager
    def fresh(self) -> Iterator[Place]:
        """An empty place, gone afterwards."""
        if self.server is None:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                yield Place(folder)
        else:
            fresh = {"postgres": _postgres, "mysql": _mariadb, "redis": _redis}[self.kind]
            with fresh(self.server) as place:
                yield place

    def settings(self) -> str:
        """What makes the server durable, as it says itself."""
        if self.server is None:
            return f"SQLite {sqlite3.sqlite_version}; files, each flushed as its system's settings say"
        return {"postgres": _postgres_settings, "mysql": _mariadb_settings, "redis": _redis_settings}[
            self.kind
        ](self.server.url)


@contextmanager
def places(kind: str) -> Iterator[Places]:
    """Start a private server, if this kind of store needs one."""
    starting: dict[str, Callable[[], AbstractContextManager[Server]]] = {
        "postgres": postgres_server,
        "mysql": partial(mariadb_server, **MARIADB),
        "redis": partial(redis_server, **REDIS),
    }
    with starting[kind]() if kind in starting else nullcontext() as server:
        yield Places(kind, server)


@contextmanager
def _postgres(server: Server) -> Iterator[Place]:
    name = f"peer_{secrets.token_hex(6)}"
    with connect_postgres(server.url) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        # Each begins with no work left by the one before it.
        connection.execute("CHECKPOINT")
        try:
            yield PostgresPlace(urlunsplit(urlsplit(server.url)._replace(path=f"/{name}")), server)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@contextmanager
def _mariadb(server: Server) -> Iterator[Place]:
    with fresh_mysql_database(server.url) as url:
        yield MariaDBPlace(url, server)


@contextmanager
def _redis(server: Server) -> Iterator[Place]:
    """One of Redis's numbered databases: several places may be open at once."""
    url = f"{server.url.rpartition('/')[0]}/{next(DATABASES) % 16}"
    # To free millions of messages takes longer than the driver waits for an answer otherwise.
    with connect_redis(url, timeout=120) as client:
        client.flushdb()
        yield RedisPlace(url, server)
        client.flushdb()


def _postgres_settings(url: str) -> str:
    names = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers")
    with connect_postgres(url) as connection:
        found = [(name, connection.execute(f"SHOW {name}".encode()).fetchone()) for name in names]
    return ", ".join(f"{name}={row[0]}" for name, row in found if row)


def _mariadb_settings(url: str) -> str:
    durable = ("version", "innodb_flush_log_at_trx_commit", "innodb_doublewrite", "log_bin")
    names = (*durable, "innodb_buffer_pool_size", "innodb_log_file_size")
    with connect_mysql(url) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(f'@@{name}' for name in names)}")
        row = cursor.fetchone() or ()
    return ", ".join(f"{name}={value}" for name, value in zip(names, row, strict=True))


def _redis_settings(url: str) -> str:
    with connect_redis(url) as client:
        found = {name: client.config_get(name)[name] for name in ("appendonly", "appendfsync", *REDIS)}
        version = client.info("server")["redis_version"]
    return ", ".join([f"redis_version={version}", *(f"{name}={value}" for name, value in found.items())])
