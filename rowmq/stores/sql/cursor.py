"""A transaction's way to the named statements."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import Any

from rowmq.core.errors import RowMQError
from rowmq.stores.sql.dialect import Dialect

Row = tuple[Any, ...]
WIDTH = 32
"""Rows of an insert with many: SQLite takes two thirds of the time for them, and hardly less for more.

Between two statements a thread may also have to wait for others that want the interpreter."""


class Cursor:
    """Runs named statements on a driver's cursor, lists among the parameters made what the driver takes."""

    def __init__(
        self,
        raw: Any,
        queries: Mapping[str, str],
        dialect: Dialect,
        *,
        attempt: int = 0,
        joined: bool = False,
        begin: Callable[[Any], object] | None = None,
    ) -> None:
        self._raw, self._begin = raw, begin
        self.dialect = dialect
        self.attempt = attempt
        self.joined = joined
        self._queries = queries
        self._depth = 0
        self.undecided = False
        """Whether a break now leaves open if what was done counts."""
        self.pushed: set[int] = set()
        """Ids of queues to wake the waiters of once this is committed."""

    @property
    def raw(self) -> Any:
        """The driver's cursor. Whoever asks for it begins the transaction."""
        if self._begin is not None:
            begin, self._begin = self._begin, None
            begin(self._raw)
        return self._raw

    @property
    def connection(self) -> Any:
        """The driver's connection."""
        return self._raw.connection

    @property
    def is_fresh(self) -> bool:
        """Whether no transaction has begun."""
        return self._begin is not None

    def at_once(self, statement: str, **parameters: Any) -> Any:
        """Run a statement that commits by itself, before a transaction has begun; the driver's cursor."""
        self._raw.execute(self._queries[statement], self._adapted(parameters))
        return self._raw

    def close(self) -> None:
        """Give the driver's cursor back."""
        self._raw.close()

    def all(self, statement: str, **parameters: Any) -> list[Row]:
        """Every row of a statement's result."""
        self.raw.execute(self._queries[statement], self._adapted(parameters))
        rows: list[Row] = self.raw.fetchall()
        return rows

    def aside(self, statement: str, **parameters: Any) -> None:
        """Run a statement whose result nobody reads, on a cursor of its own."""
        self.connection.cursor().execute(self._queries[statement], self._adapted(parameters))

    def one(self, statement: str, **parameters: Any) -> Row | None:
        """The first row, or None."""
        self.raw.execute(self._queries[statement], self._adapted(parameters))
        row: Row | None = self.raw.fetchone()
        return row

    def run(self, statement: str, **parameters: Any) -> int:
        """Run a statement; how many rows it touched."""
        self.raw.execute(self._queries[statement], self._adapted(parameters))
        count: int = self.raw.rowcount
        return count

    def many(self, statement: str, rows: Sequence[Mapping[str, Any] | Sequence[Any]]) -> int:
        """Run a statement once for each row of parameters."""
        self.raw.executemany(self._queries[statement], rows)
        count: int = self.raw.rowcount
        return count

    def wide(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows, many with each statement."""
        for start in range(0, len(rows), WIDTH):
            some = rows[start : start + WIDTH]
            self.raw.execute(_widened(self._queries[statement], len(some)), tuple(chain.from_iterable(some)))

    def select(self, statement: str, extra: str, **parameters: Any) -> list[Row]:
        """A statement with conditions put in at its ``/*and*/`` mark, which are made of constants only."""
        sql = self._queries[statement].replace("/*and*/", self.dialect.style(extra))
        self.raw.execute(sql, self._adapted(parameters))
        rows: list[Row] = self.raw.fetchall()
        return rows

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """What is done inside is undone if it is refused, and the transaction goes on."""
        self._depth += 1
        name = f"rowmq_{self._depth}"  # MySQL forgets the outer of two that have one name
        self.raw.execute(f"SAVEPOINT {name}")
        try:
            yield
        except RowMQError:  # after a driver's error the transaction ends anyway, or has ended
            self.raw.execute(f"ROLLBACK TO SAVEPOINT {name}")
            self.raw.execute(f"RELEASE SAVEPOINT {name}")
            raise
        finally:
            self._depth -= 1
        self.raw.execute(f"RELEASE SAVEPOINT {name}")

    @contextmanager
    def committing(self) -> Iterator[None]:
        """What is sent inside commits: if no answer comes, nobody knows whether it counted."""
        self.undecided = True
        yield
        self.undecided = False  # not after an error, for which it is asked

    def _adapted(self, parameters: dict[str, Any]) -> dict[str, Any]:
        for name, value in parameters.items():
            if type(value) is list:
                parameters[name] = self.dialect.many(value)
        if parameters.get("now", 0) is None:  # not earlier: a push made while we waited would be missed
            parameters["now"] = self.dialect.clock()
        return parameters


@cache
def _widened(insert: str, rows: int) -> str:
    """An insert of one row made one of so many."""
    head, _, row = insert.rstrip().rstrip(";").rpartition("VALUES ")
    return f"{head}VALUES {', '.join([row] * rows)}"
