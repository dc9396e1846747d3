"""What a store sends to its driver, recorded so that it can be sent again without the store.

The replay is the bare loop that a store is compared with: the same statements with the same parameters in
the same transactions, on a connection opened the same way, and nothing built in Python around them.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

from rowmq.stores.sql import database
from rowmq.stores.sql.cursor import Cursor, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.stores.sql.store import SQLStore


class Call(NamedTuple):
    """One call of the driver's cursor."""

    method: str
    arguments: tuple[Any, ...]


class Transaction(list[Call]):
    """The calls of one transaction."""

    alone = False
    """Whether it was one statement that commits by itself, without BEGIN and COMMIT."""


class Prepared(NamedTuple):
    """A transaction to send again: methods, arguments, and the lists among these as a program has them."""

    calls: list[tuple[str, tuple[Any, ...], dict[str, list[Any]]]]
    alone: bool


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
            transactions.append(Transaction())
            super().__init__(_Spy(raw, transactions[-1]), *arguments, **options)

        def all(self, statement: str, **parameters: Any) -> list[Row]:
            transactions[-1].alone = transactions[-1].alone or self.undecided
            return super().all(statement, **parameters)

    with mock.patch.object(database, "Cursor", Recorded):
        yield transactions


class Bare:
    """A driver connection as the store opens it, and a loop that does with it what no program can do without.

    It holds the rows of a claim until they are settled, and makes each list of seqs it sends from numbers
    that it has. Everything else that the store sent is sent again as it is.
    """

    def __init__(self, store: SQLStore) -> None:
        self._connection: Any = store.database.engine.raw_connection()
        self._driver: Any = self._connection.driver_connection
        self._cursor: Any = self._connection.cursor()
        self._many = store.database.dialect.many
        self._alone = False
        self._held: list[Any] = []

    def prepared(self, transaction: Transaction) -> Prepared:
        """A transaction with its lists as a program has them, before it sends them."""
        calls = [(method, arguments, _lists(arguments)) for method, arguments in transaction]
        return Prepared(calls, transaction.alone)

    def replay(self, transaction: Prepared) -> None:
        """Send a prepared transaction again."""
        if transaction.alone != self._alone:
            self._driver.autocommit = self._alone = transaction.alone
        fetched = []
        for method, given, lists in transaction.calls:
            arguments = given
            if lists:
                made = {name: self._many([value for value in values]) for name, values in lists.items()}  # noqa: C416
                arguments = (given[0], {**given[1], **made})
            fetched.append(getattr(self._cursor, method)(*arguments))
        if not transaction.alone:
            self._driver.commit()
        self._held = fetched

    def close(self) -> None:
        """Give the connection back."""
        if self._alone:
            self._driver.autocommit = False
        self._connection.close()


def _lists(arguments: tuple[Any, ...]) -> dict[str, list[Any]]:
    """The lists among a statement's parameters, whatever form they were sent in."""
    if len(arguments) < 2 or not isinstance(arguments[1], dict):  # noqa: PLR2004 - a statement and its parameters
        return {}
    found = {}
    for name, value in arguments[1].items():
        if isinstance(value, str) and value.startswith("["):
            found[name] = json.loads(value)
        elif isinstance(value, list | tuple):
            found[name] = list(value)
    return found
