"""Empty databases to measure on, on private servers with their default durability (fsync on)."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, cast

from rowmq.stores import open_store
from tests.servers import fresh_mysql_database, fresh_postgres_schema, private_mariadb, private_postgres

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.stores.sql.store import SQLStore

KINDS = ("sqlite", "postgres", "mysql")


class Places:
    """Makes empty stores of one kind."""

    def __init__(self, kind: str, server: str) -> None:
        self.kind = kind
        self._server = server

    @contextmanager
    def store(self) -> Iterator[SQLStore]:
        """Open a store in an empty place, and leave nothing behind."""
        with ExitStack() as stack:
            url = stack.enter_context(self.url())
            store = cast("SQLStore", open_store(url))
            stack.callback(store.close)
            yield store

    @contextmanager
    def url(self) -> Iterator[str]:
        """An empty place, gone afterwards."""
        if self.kind == "sqlite":
            with tempfile.TemporaryDirectory() as directory:
                yield f"sqlite:///{directory}/bench.db"
            return
        with (fresh_postgres_schema if self.kind == "postgres" else fresh_mysql_database)(
            self._server
        ) as url:
            yield url


@contextmanager
def places(kind: str) -> Iterator[Places]:
    """Start a private server, if this kind of store needs one."""
    if kind == "sqlite":
        yield Places(kind, "")
        return
    with (private_postgres if kind == "postgres" else private_mariadb)() as url:
        yield Places(kind, url)
