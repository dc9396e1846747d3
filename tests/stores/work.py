"""Counting the work that a store makes its database do.

Work grows with what a statement has to look at, and unlike time it is the same on every machine:

- SQLite: progress-handler calls, one for each step of its virtual machine that may be part of a loop;
- PostgreSQL: buffers hit or read, from auto_explain, which sends them to us as notices;
- MariaDB and MySQL: rows read by the storage engine, from the session's Handler_read counters.

Only what goes through the store's own connections is counted, exactly as the store sends it.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sqlalchemy import event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from psycopg.errors import Diagnostic

    from rowmq.stores.sql.store import SQLStore

_AUTO_EXPLAIN = (
    "LOAD 'auto_explain'",
    "SET auto_explain.log_min_duration = 0",
    "SET auto_explain.log_analyze = on",
    "SET auto_explain.log_buffers = on",
    "SET auto_explain.log_timing = off",
    "SET auto_explain.log_format = json",
    "SET client_min_messages = log",
)
_QUIET = ("SET auto_explain.log_min_duration = -1", "RESET client_min_messages")


class Count:
    """Work counted so far."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, units: int) -> None:
        self.total += units


class Meter(Protocol):
    """Counts the work of one connection between the moment the store takes it and gives it back."""

    unit: str

    def begin(self, connection: Any, count: Count) -> None: ...

    def end(self, connection: Any, count: Count) -> None: ...


class Steps:
    """SQLite's virtual machine."""

    unit = "steps"

    def begin(self, connection: Any, count: Count) -> None:
        connection.set_progress_handler(lambda: count.add(1), 1)

    def end(self, connection: Any, count: Count) -> None:
        connection.set_progress_handler(None, 1)


class Buffers:
    """PostgreSQL's buffers. Needs a superuser's connection, as a private server's is."""

    unit = "buffers"

    def __init__(self) -> None:
        self._handlers: dict[int, Callable[[Diagnostic], None]] = {}

    def begin(self, connection: Any, count: Count) -> None:
        self._handlers[id(connection)] = handler = lambda notice: count.add(
            _buffers(notice.message_primary or "")
        )
        connection.add_notice_handler(handler)
        _settle(connection, _AUTO_EXPLAIN)

    def end(self, connection: Any, count: Count) -> None:
        _settle(connection, _QUIET)
        connection.remove_notice_handler(self._handlers.pop(id(connection)))


class Reads:
    """MariaDB's rows read. Asking moves the counters too, by an amount that is found by asking twice."""

    unit = "reads"

    def __init__(self) -> None:
        self._before: dict[int, tuple[int, int]] = {}

    def begin(self, connection: Any, count: Count) -> None:
        first, second = _handler_reads(connection), _handler_reads(connection)
        self._before[id(connection)] = (second, second - first)

    def end(self, connection: Any, count: Count) -> None:
        before, asking = self._before.pop(id(connection))
        count.add(_handler_reads(connection) - before - asking)


METERS: dict[str, Callable[[], Meter]] = {
    "sqlite": Steps,
    "postgresql": Buffers,
    "mysql": Reads,
    "mariadb": Reads,
}


def meter_of(store: SQLStore) -> Meter:
    """The way to count the work of this store's database."""
    return METERS[store.database.engine.dialect.name]()


@contextmanager
def counting(store: SQLStore) -> Iterator[Count]:
    """Count what the store's database does meanwhile."""
    count, meter, engine = Count(), meter_of(store), store.database.engine

    def checkout(connection: Any, _record: Any, _proxy: Any) -> None:
        meter.begin(connection, count)

    def checkin(connection: Any, _record: Any) -> None:
        if connection is not None:
            meter.end(connection, count)

    event.listen(engine, "checkout", checkout)
    event.listen(engine, "checkin", checkin)
    try:
        yield count
    finally:
        event.remove(engine, "checkout", checkout)
        event.remove(engine, "checkin", checkin)


def _settle(connection: Any, statements: tuple[str, ...]) -> None:
    """Run settings so that they stay whatever becomes of the transaction to come."""
    for statement in statements:
        connection.execute(statement)
    connection.commit()


def _buffers(notice: str) -> int:
    """The buffers of one statement's plan, or none if the notice is about something else."""
    _, found, plan = notice.partition("plan:\n")
    if not found:
        return 0
    root = json.loads(plan)["Plan"]
    return int(root["Shared Hit Blocks"]) + int(root["Shared Read Blocks"])


def _handler_reads(connection: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
        return sum(int(value) for _, value in cursor.fetchall())


class Scan(NamedTuple):
    """How a plan reads a table: whole or by an index, and how many rows; SQLite does not tell those."""

    table: str
    whole: bool
    rows: int
    statement: str


@contextmanager
def planned(store: SQLStore) -> Iterator[list[Scan]]:
    """Collect how the statements that a store sends meanwhile read their tables, on SQLite and PostgreSQL."""
    scans: list[Scan] = []
    watch = _watch_sqlite if store.database.engine.dialect.name == "sqlite" else _watch_postgres
    engine = store.database.engine
    endings: dict[int, Callable[[], None]] = {}

    def checkout(connection: Any, _record: Any, _proxy: Any) -> None:
        endings[id(connection)] = watch(connection, scans)

    def checkin(connection: Any, _record: Any) -> None:
        endings.pop(id(connection))()

    event.listen(engine, "checkout", checkout)
    event.listen(engine, "checkin", checkin)
    try:
        yield scans
    finally:
        event.remove(engine, "checkout", checkout)
        event.remove(engine, "checkin", checkin)


def _watch_sqlite(connection: Any, scans: list[Scan]) -> Callable[[], None]:
    statements: list[str] = []
    connection.set_trace_callback(statements.append)

    def end() -> None:
        connection.set_trace_callback(None)
        for statement in statements:
            if statement.lstrip().startswith(("SELECT", "WITH", "UPDATE", "DELETE")):
                for *_, detail in connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall():
                    how, _, rest = detail.partition(" ")
                    if how in ("SCAN", "SEARCH"):
                        scans.append(Scan(_sqlite_table(rest, statement), how == "SCAN", 0, statement))

    return end


def _sqlite_table(detail: str, statement: str) -> str:
    """The table of a line of a plan, which may name it by its alias."""
    name = detail.split(maxsplit=1)[0]
    found = re.search(rf"\b(rowmq_\w+)(?: AS)? {re.escape(name)}\b", statement)
    return found[1] if found else name


def _watch_postgres(connection: Any, scans: list[Scan]) -> Callable[[], None]:
    def handler(notice: Diagnostic) -> None:
        _, found, plan = (notice.message_primary or "").partition("plan:\n")
        if found:
            explained = json.loads(plan)
            scans.extend(_postgres_scans(explained["Plan"], explained["Query Text"]))

    connection.add_notice_handler(handler)
    _settle(connection, _AUTO_EXPLAIN)

    def end() -> None:
        _settle(connection, _QUIET)
        connection.remove_notice_handler(handler)

    return end


def _postgres_scans(node: dict[str, Any], statement: str) -> Iterator[Scan]:
    """What a node and those under it read; rows that were read and left out count too."""
    if "Relation Name" in node:
        rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        whole = node["Node Type"] == "Seq Scan"
        yield Scan(node["Relation Name"], whole, int(rows * node["Actual Loops"]), statement)
    for part in node.get("Plans", ()):
        yield from _postgres_scans(part, statement)
