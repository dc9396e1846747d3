"""Transactions that meet on SQLite, where one writes at a time."""

from __future__ import annotations

from contextlib import closing, contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Any

import pytest

from rowmq.core.delivery import Want
from rowmq.core.errors import StoreUnavailable, TransactionConflict
from rowmq.core.message import Batch
from rowmq.stores.sql import database
from rowmq.testing.build import message
from tests.stores.callers import calling, connected
from tests.stores.meeting import ack, held, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rowmq.stores.sql.store import SQLStore


@pytest.fixture
def sqlite_store(sqlite_url: str) -> Iterator[SQLStore]:
    with closing(opened(sqlite_url)) as store:
        yield store


@contextmanager
def write_lock(url: str) -> Iterator[Any]:
    """Hold SQLite's write lock in another connection."""
    with closing(connected(url, autocommit=True)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        if connection.in_transaction:
            connection.execute("ROLLBACK")


CALLS: dict[str, Callable[[SQLStore], object]] = {
    "push": lambda store: store.push([Batch("q", [message()])]),
    "claim": lambda store: store.claim("q", [Want()]),
    "put": lambda store: store.queues.put("q", {"max_attempts": 7}),
    "sweep": lambda store: store.history.sweep(),
}


@contextmanager
def released_soon(url: str) -> Iterator[None]:
    """Have the write lock held by somebody who lets it go after a moment."""
    connection = connected_anywhere(url)
    connection.execute("BEGIN IMMEDIATE")
    timer = Timer(0.04, connection.execute, ["ROLLBACK"])
    timer.start()
    try:
        yield
        assert not connection.in_transaction
    finally:
        timer.join()
        connection.close()


def connected_anywhere(url: str) -> Any:
    """Connect so that another thread may go on with the connection."""
    import sqlite3  # noqa: PLC0415 the other tests need no driver by name

    return sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, check_same_thread=False)


@pytest.mark.parametrize("call", CALLS)
def test_a_busy_sqlite_is_waited_for(sqlite_store: SQLStore, sqlite_url: str, call: str) -> None:
    sqlite_store.push([Batch("q", [message()])])
    with released_soon(sqlite_url):
        CALLS[call](sqlite_store)
    assert sqlite_store.history.bounds() == (1, 2 if call == "push" else 1)
    assert sqlite_store.queues.stats("q").leased == (1 if call == "claim" else 0)


def test_a_sqlite_that_stays_busy_is_unavailable_and_nothing_is_written(
    sqlite_store: SQLStore, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    (delivery,) = held(sqlite_store, 1)
    sqlite_store.push([Batch("q", [message()])])
    with write_lock(sqlite_url):
        for call in CALLS.values():
            with pytest.raises(StoreUnavailable):
                call(sqlite_store)
        with pytest.raises(StoreUnavailable):
            ack(sqlite_store, delivery)
    stats = sqlite_store.queues.stats("q")
    assert (stats.ready, stats.leased, stats.done) == (1, 1, 0)
    assert sqlite_store.queues.get("q") == sqlite_store.queues.put("q")


def test_reading_does_not_wait_for_a_writer(
    sqlite_store: SQLStore, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.0)
    sqlite_store.push([Batch("q", [message()])])
    with write_lock(sqlite_url):
        assert sqlite_store.queues.stats("q").ready == 1


def test_a_transaction_that_finds_sqlite_busy_is_the_callers_to_run_again(
    sqlite_store: SQLStore, sqlite_url: str
) -> None:
    (delivery,) = held(sqlite_store, 1)
    with write_lock(sqlite_url), calling(sqlite_url, "driver") as caller:
        with pytest.raises(TransactionConflict):
            sqlite_store.push([Batch("q", [message()])], tx=caller.tx)
        caller.rollback()
        with pytest.raises(TransactionConflict):
            ack(sqlite_store, delivery, tx=caller.tx)
    stats = sqlite_store.queues.stats("q")
    assert (stats.ready, stats.leased) == (0, 1)


def test_a_transaction_that_has_read_what_is_no_longer_so_is_the_callers_to_run_again(
    sqlite_store: SQLStore, sqlite_url: str
) -> None:
    with calling(sqlite_url, "driver") as caller:
        caller.run("BEGIN")
        caller.run("SELECT COUNT(*) FROM rowmq_messages")
        sqlite_store.push([Batch("q", [message()])])
        with pytest.raises(TransactionConflict):
            sqlite_store.push([Batch("q", [message()])], tx=caller.tx)
        caller.rollback()
        sqlite_store.push([Batch("q", [message()])], tx=caller.tx)
        caller.commit()
    assert sqlite_store.queues.stats("q").ready == 2
