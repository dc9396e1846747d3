"""What a store sends to its driver, recorded so that it can be sent again without the store.

The replay is the bare loop that a store is compared with: the same statements with the same parameters in
the same transactions, on a connection opened the same way, and nothing built in Python around them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

from rowmq.stores.sql import database
from rowmq.stores.sql.cursor import Cursor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.stores.sql.store import SQLStore


class Call(NamedTuple):
    """One call of the driver's cursor."""

    method: str
    arguments: tuple[Any, ...]


Transaction = list[Call]


class _Spy:
    """A driver's cursor that writes down what is asked of it."""

    def __init__(self, raw: Any, calls: Transaction) -> None:
        self._raw = raw
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._raw, name)
        if name not in ("execute", "executemany", "fetchall", "fetchone"):
            return found

        def call(*arguments: Any) -> Any:
            self._calls.append(Call(name, arguments))
            return found(*arguments)

        return call


@contextmanager
def recording() -> Iterator[list[Transaction]]:
    """Record every transaction of every store meanwhile."""
    transactions: list[Transaction] = []

    class Recorded(Cursor):
        def __init__(self, raw: Any, *arguments: Any, **options: Any) -> None:
            transactions.append([])
            super().__init__(_Spy(raw, transactions[-1]), *arguments, **options)

    with mock.patch.object(database, "Cursor", Recorded):
        yield transactions


class Bare:
    """A driver connection as the store opens it, and nothing else."""

    def __init__(self, store: SQLStore) -> None:
        self._connection: Any = store.database.engine.raw_connection()
        self._driver: Any = self._connection.driver_connection
        self._cursor: Any = self._connection.cursor()

    def replay(self, transaction: Transaction) -> Any:
        """Send a transaction again, and return what was fetched last."""
        result = None
        for method, arguments in transaction:
            result = getattr(self._cursor, method)(*arguments)
        self._driver.commit()
        return result

    def close(self) -> None:
        """Give the connection back."""
        self._cursor.close()
        self._connection.close()
