"""From a URL to a store."""

import importlib
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from rowmq.core.errors import InvalidURL, StoreUnavailable
from rowmq.core.store import Store
from rowmq.stores.memory import MemoryStore
from rowmq.stores.sql.dialect import Dialect
from rowmq.stores.sql.store import SQLStore

_DIALECTS = {
    "sqlite": ("rowmq.stores.sqlite", "SQLiteDialect", None),
    "postgresql": ("rowmq.stores.postgres", "PostgresDialect", "postgres"),
    "postgres": ("rowmq.stores.postgres", "PostgresDialect", "postgres"),
    "mysql": ("rowmq.stores.mysql", "MySQLDialect", "mysql"),
    "mariadb": ("rowmq.stores.mysql", "MySQLDialect", "mysql"),
}
_REDIS = ("redis", "rediss", "unix")
_SERVERS = ("http", "https")
_GRPC = ("grpc", "grpcs")
KNOWN = ("memory", *_DIALECTS, *_REDIS, *_SERVERS, *_GRPC)


def open_store(url: str, *, migrate: bool = True, check: bool = True) -> Store:
    """Open the store a URL names, e.g. ``sqlite:///jobs.db``, ``postgresql://user@host/db`` or ``memory://``.

    ``http://host:9999`` and ``grpc://host:10001`` name the one behind a server. Its tables are made or
    brought up to date, unless ``migrate`` is False: then SchemaOutdated is raised if they are not
    (``check=False`` leaves even that to the first use). Raises InvalidURL, or StoreUnavailable if the server
    cannot be used.
    """
    parsed = _parsed(url)
    kind = parsed.drivername.split("+")[0]
    if kind == "memory":
        return MemoryStore()
    if kind in _DIALECTS:
        return SQLStore(_dialect(kind)(), parsed, migrate=migrate, check=check)
    if kind in _REDIS:
        return _redis(parsed, migrate=migrate, check=check)
    if kind in _SERVERS:
        return _remote(parsed, check=check)
    if kind in _GRPC:
        return _grpc(parsed, check=check)
    for entry in entry_points(group="rowmq.stores", name=kind):
        store: Store = entry.load()(url)
        return store
    known = ", ".join(f"{name}://" for name in KNOWN)
    raise InvalidURL(f"no store is called {kind!r}; a store URL begins with one of {known}")


def dialect_of(url: str) -> str:
    """The kind of SQL database a URL names: sqlite, postgresql or mysql."""
    kind = _parsed(url).drivername.split("+")[0]
    if kind not in _DIALECTS:
        raise InvalidURL(f"{kind!r} is not an SQL database; say --dialect sqlite, postgresql or mysql")
    return {"postgres": "postgresql", "mariadb": "mysql"}.get(kind, kind)


def _parsed(url: object) -> URL:
    if not isinstance(url, str):
        raise InvalidURL(f"a store URL is a string, not {type(url).__name__}")
    try:
        return make_url(url)
    except (ArgumentError, ValueError):
        raise InvalidURL(
            "this is not a store URL; one looks like sqlite:///jobs.db or postgresql://user@host/db"
        ) from None


def _redis(url: URL, *, migrate: bool, check: bool) -> Store:
    try:
        from rowmq.stores.redis import RedisStore  # noqa: PLC0415 - its driver is an extra
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("rowmq"):
            raise
        raise StoreUnavailable(
            f"{url.drivername} needs a driver that is not installed; run: pip install 'rowmq[redis]'"
        ) from None
    return RedisStore(url, migrate=migrate, check=check)


def _remote(url: URL, *, check: bool) -> Store:
    try:
        from rowmq.stores.remote.opening import open_remote  # noqa: PLC0415 - its packages are an extra
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("rowmq"):
            raise
        raise StoreUnavailable(
            f"{url.drivername} needs a package that is not installed; run: pip install 'rowmq[http]'"
        ) from None
    return open_remote(url, check=check)


def _grpc(url: URL, *, check: bool) -> Store:
    try:
        from rowmq.stores.grpc.opening import open_grpc  # noqa: PLC0415 - its packages are an extra
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("rowmq"):
            raise
        raise StoreUnavailable(
            f"{url.drivername} needs a package that is not installed; run: pip install 'rowmq[grpc]'"
        ) from None
    return open_grpc(url, check=check)


def _dialect(kind: str) -> Callable[[], Dialect]:
    module, name, extra = _DIALECTS[kind]
    try:
        found: Any = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("rowmq"):
            raise
        raise StoreUnavailable(
            f"{kind} needs a driver that is not installed; run: pip install 'rowmq[{extra}]'"
        ) from None
    result: Callable[[], Dialect] = found
    return result
