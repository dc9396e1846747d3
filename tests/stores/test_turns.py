"""SQLite has one writer at a time: who waits for a turn gets it at once, and who only looks needs none."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import event

from rowmq.core.delivery import Want
from rowmq.core.history import Swept
from rowmq.core.message import Batch
from rowmq.stores import open_store
from rowmq.stores.sqlite.turns import Turns
from rowmq.testing.build import after, messages, span
from tests.runtime.working import eventually

if TYPE_CHECKING:
    from rowmq.stores.sql.store import SQLStore

TRIES = 50


def first_after_a_turn() -> str:
    """Who comes first: the thread that has left, or the one that had to wait for it."""
    turns, order, waits = Turns(), list[str](), threading.Event()

    def wait() -> None:
        waits.set()
        with turns:
            order.append("next")

    with turns:
        other = threading.Thread(target=wait)
        other.start()
        waits.wait()
        eventually(lambda: turns._waiting, "the wait for a turn")
    order.append("former")
    other.join()
    return order[0]


def test_whoever_leaves_lets_the_next_one_begin() -> None:
    firsts = [first_after_a_turn() for _ in range(TRIES)]
    assert firsts.count("next") > TRIES // 5  # on a busy machine waking takes longer than the pause


def test_its_holder_may_enter_again_and_nobody_else_meanwhile() -> None:
    turns, entered = Turns(), threading.Event()

    def enter() -> None:
        with turns:
            entered.set()

    other = threading.Thread(target=enter)
    with turns:
        with turns:
            other.start()
        assert not entered.wait(0.05)
    assert entered.wait(10)
    other.join()


def swept(store: SQLStore, **options: Any) -> tuple[Swept, list[str]]:
    """What a sweep did, and how the transactions began in which it looked for what is overdue."""
    said: list[str] = []
    event.listen(store.database.engine, "checkout", lambda it, *_: it.set_trace_callback(said.append))
    done = store.history.sweep(limit=100, **options)
    looks = [place for place, sql in enumerate(said) if "attempts >=" in sql]
    begins = [[sql for sql in said[:place] if sql.startswith("BEGIN")][-1] for place in looks]
    return done, begins


def test_a_sweep_that_finds_nothing_overdue_keeps_nobody_from_writing(sqlite_url: str) -> None:
    with closing(cast("SQLStore", open_store(sqlite_url))) as store:
        store.queues.put("q")
        store.push([Batch("q", messages(3))])
        assert swept(store) == (Swept(), ["BEGIN"])


def test_what_it_finds_is_looked_for_again_by_the_one_that_may_write(sqlite_url: str) -> None:
    with closing(cast("SQLStore", open_store(sqlite_url))) as store:
        store.queues.put("q", {"max_attempts": 1}, now=after(0))
        store.push([Batch("q", messages(3))], now=after(0))
        assert len(store.claim("q", [Want(limit=2, lease=span(1))], now=after(0))[0]) == 2
        assert swept(store, now=after(9)) == (Swept(buried=2), ["BEGIN", "BEGIN IMMEDIATE"])


def test_whoever_writes_next_has_the_connection_that_has_just_written(sqlite_url: str) -> None:
    with closing(cast("SQLStore", open_store(sqlite_url))) as store:
        engine, used = store.database.engine, set[int]()
        with engine.connect(), engine.connect():
            pass  # there are two now
        event.listen(engine, "checkout", lambda connection, *_: used.add(id(connection)))
        for _ in range(4):
            store.queues.put("q")
        assert len(used) == 1
