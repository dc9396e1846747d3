"""Transactions that begin, commit and are run again when the database says so."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.exc import DBAPIError

from rowmq.core.errors import (
    InvalidInput,
    OutcomeUnknown,
    RowMQError,
    SchemaOutdated,
    StoreError,
    StoreFull,
    StoreUnavailable,
    TransactionConflict,
)
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.dialect import Dialect, Trouble
from rowmq.stores.sql.forking import Gate, stand_still_at_forks
from rowmq.stores.sql.queries import load_queries
from rowmq.stores.sql.renewing import renew_all_after_one_broke
from rowmq.stores.sql.waiting import Waiters

T = TypeVar("T")
PATIENCE = 30.0
"""Seconds of conflicts after which a transaction gives up."""
RECONNECTS = 3
"""How often a transaction whose connection was broken before COMMIT is begun anew."""


class Conflict(Exception):
    """Raised inside a transaction that must be run again from the start."""


class Database:
    """An engine, its statements, and the rule of what is tried again."""

    def __init__(self, dialect: Dialect, url: URL) -> None:
        self.dialect = dialect
        self.url = url
        self.engine: Engine = dialect.engine(url)
        self.queries = load_queries(dialect.package, dialect.style)
        self.waiters = Waiters()
        self._gate = Gate()
        self._inherited: list[object] = []
        renew_all_after_one_broke(self.engine)
        stand_still_at_forks(self)

    def run(
        self, work: Callable[[Cursor], T], *, tx: object = None, writes: bool = True, repeatable: bool = False
    ) -> T:
        """Run work in a transaction of its own, again after conflicts, or in the caller's.

        ``repeatable`` work may also be run again when nobody knows whether its COMMIT counted.
        """
        if tx is not None:
            return self._within(tx, work)
        started, broken, attempt = time.monotonic(), 0, 0
        unknown: _Again | None = None
        while True:
            try:
                return self._once(work, attempt, writes=writes)
            except StoreUnavailable:
                if unknown is not None:  # nothing was written now, but perhaps before
                    raise unknown.final from unknown.__cause__
                raise
            except _Again as again:
                broken += again.broken
                unknown = again if again.unknown else unknown
                if (
                    (again.unknown and not repeatable)
                    or broken > RECONNECTS
                    or time.monotonic() - started > PATIENCE
                ):
                    final = unknown or again
                    raise final.final from final.__cause__
            attempt += 1
            time.sleep(min(0.001 * 2 ** min(attempt, 5), 0.03) * random.random())  # noqa: S311 - spreads retries, no secret

    def hold_still(self) -> None:
        """Before a fork: end what is under way and begin nothing."""
        self._gate.close()
        self.dialect.hold_still(self.engine)

    def begin_anew(self) -> None:
        """In a forked child: keep the parent's connections, unused; closing one would end it there too."""
        self._inherited.append(self.engine.pool)
        self.engine.dispose(close=False)
        self.waiters = Waiters()

    def let_go(self) -> None:
        """After a fork, in both processes."""
        self.dialect.let_go()
        self._gate.open()

    def read(self, work: Callable[[Cursor], T]) -> T:
        """Run work that writes nothing."""
        return self.run(work, writes=False)

    def _once(self, work: Callable[[Cursor], T], attempt: int, *, writes: bool) -> T:
        with self._gate, self.dialect.guard(writes=writes), self._connection() as connection:
            cursor = None
            try:
                begin = partial(self.dialect.begin, writes=writes)
                cursor = Cursor(connection.cursor(), self.queries, self.dialect, attempt=attempt, begin=begin)
                result = work(cursor)
                with cursor.committing():
                    connection.commit()
            except BaseException as error:
                self._abandon(connection, error)
                undecided = cursor is not None and cursor.undecided
                raise self._translated(error, committing=undecided and writes) from error
            cursor.close()
        self.waiters.wake(cursor.pushed)
        return result

    def _within(self, tx: object, work: Callable[[Cursor], T]) -> T:
        connection = self.dialect.driver_connection(tx)
        if isinstance(tx, Connection) and not tx.in_transaction():
            tx.begin()  # as its own first statement would; without it the caller's commit() does nothing
        cursor = Cursor(connection.cursor(), self.queries, self.dialect, joined=True)
        try:
            if not getattr(connection, "in_transaction", True):  # sqlite3 begins at the first write only,
                self.dialect.begin(cursor.raw, writes=True)  # and a savepoint before that is a transaction
            result = work(cursor)
        except Conflict as error:
            raise TransactionConflict(
                "another transaction was faster; roll back and run yours again"
            ) from error
        except Exception as error:
            if self.dialect.trouble(error) in (Trouble.CONFLICT, Trouble.COLLISION):
                raise TransactionConflict(
                    f"your transaction met another one ({error}); roll back and run it again"
                ) from error
            raise self._translated(error, committing=False) from error
        finally:
            cursor.close()
        self.waiters.wake_after(tx, cursor.pushed)
        return result

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        try:
            connection = self.engine.raw_connection()
        except Exception as error:  # the pool does not wrap the driver's errors
            raise self._translated(_driver_error(error), committing=False) from error
        try:
            yield connection
        finally:
            connection.close()

    def _abandon(self, connection: Any, error: BaseException) -> None:
        if self.dialect.trouble(error) is Trouble.GONE:
            connection.invalidate()
            return
        try:
            connection.rollback()
        except Exception:  # noqa: BLE001 - a connection that cannot roll back is thrown away, the first error counts
            connection.invalidate()

    def _translated(self, error: BaseException, *, committing: bool) -> BaseException:
        if isinstance(error, Conflict):
            return _Again(StoreUnavailable("other transactions were faster for too long; try again later"))
        if isinstance(error, RowMQError) or not isinstance(error, Exception):
            return error
        trouble = self.dialect.trouble(error)
        if trouble in (Trouble.CONFLICT, Trouble.COLLISION):
            return _Again(StoreUnavailable(f"the database stayed too busy: {error}"))
        if trouble is Trouble.GONE:
            return _Again(_lost(error, committing=committing), broken=1, unknown=committing)
        if trouble is Trouble.REFUSED:
            return StoreUnavailable(f"the database cannot be used: {error}")
        if trouble is Trouble.FULL:
            return StoreFull(f"the database has no room left: {error}")
        if trouble is Trouble.UNSTORABLE:
            return InvalidInput(f"a text has a character that the database cannot hold: {error}")
        if trouble is Trouble.NO_TABLES:
            return SchemaOutdated("RowMQ's tables are missing or incomplete; run: rowmq migrate")
        return StoreError(f"{type(error).__name__}: {error}") if self.is_driver_error(error) else error

    def is_driver_error(self, error: BaseException) -> bool:
        """Whether the driver raised this, not our own code."""
        return isinstance(error, self.engine.dialect.loaded_dbapi.Error)


class _Again(Exception):
    """A transaction that may be run again, and the error for when it has been often enough."""

    def __init__(self, final: StoreError, *, broken: int = 0, unknown: bool = False) -> None:
        super().__init__(str(final))
        self.final, self.broken, self.unknown = final, broken, unknown


def _lost(error: BaseException, *, committing: bool) -> StoreError:
    if committing:
        return OutcomeUnknown(f"the connection broke during COMMIT ({error}): it may or may not have counted")
    return StoreUnavailable(f"the connection to the database broke: {error}")


def _driver_error(error: BaseException) -> BaseException:
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
