"""Transactions that meet on servers: the store runs its own again, and leaves the caller's to the caller."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from rowmq.core.delivery import Settlement, Want
from rowmq.core.errors import StoreUnavailable, TransactionConflict
from rowmq.core.message import Batch, Pushed
from rowmq.core.outcome import ACK, Retry, Settled
from rowmq.stores.sql import database
from rowmq.testing.build import message, messages
from tests.stores.callers import Caller, Driven, calling, connected
from tests.stores.meeting import ack, held, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rowmq.core.delivery import Delivery
    from rowmq.stores.sql.store import SQLStore

SERVERS = ("postgres", "mysql")


@pytest.fixture(params=SERVERS)
def server_url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


@pytest.fixture
def server_store(server_url: str) -> Iterator[SQLStore]:
    with closing(opened(server_url)) as store:
        yield store


WAITING = {
    "postgresql": "SELECT COUNT(*) FROM pg_stat_activity WHERE {holder} = ANY(pg_blocking_pids(pid))",
    "mysql": "SELECT COUNT(*) FROM information_schema.innodb_lock_waits w"
    " JOIN information_schema.innodb_trx t ON t.trx_id = w.blocking_trx_id"
    " WHERE t.trx_mysql_thread_id = {holder}",
}
WHO = {"postgresql": "SELECT pg_backend_pid()", "mysql": "SELECT CONNECTION_ID()"}


def await_waiting(url: str, holder: Caller) -> None:
    """Return once somebody waits for a lock that this one holds; on the same server others wait too."""
    kind = url.partition(":")[0]
    ((number,),) = holder.run(WHO[kind])
    with closing(connected(url, autocommit=True)) as connection:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if Driven(connection).run(WAITING[kind].format(holder=number))[0][0]:
                return
            time.sleep(0.15)  # InnoDB tells anew only who has not asked for a tenth of a second
    raise AssertionError("nobody waits for a lock")


def lock_row(outside: Caller, delivery: Delivery) -> None:
    outside.run(f"SELECT seq FROM rowmq_pending WHERE seq = {delivery.receipt.seq} FOR UPDATE")


@contextmanager
def outsider(url: str) -> Iterator[Caller]:
    """Open a transaction that a server would rather spare than one of the store's."""
    with closing(connected(url, autocommit=True)) as connection:
        Driven(connection).run("CREATE TABLE ballast (id INTEGER PRIMARY KEY)")
    with calling(url, "driver") as outside:
        if url.startswith("postgresql"):
            outside.run("SET deadlock_timeout = '30s'")
        outside.run("INSERT INTO ballast VALUES " + ", ".join(f"({number})" for number in range(2_000)))
        yield outside
        outside.rollback()


@contextmanager
def deadlock(url: str, first: Delivery, second: Delivery, call: Callable[[], Any]) -> Iterator[Any]:
    """Run a call that locks the first and then the second, against somebody who does the reverse.

    The store's transaction is the one that is ended; yields the call's future result.
    """
    with outsider(url) as outside, ThreadPoolExecutor(1) as pool:
        lock_row(outside, second)
        future = pool.submit(call)
        await_waiting(url, outside)
        lock_row(outside, first)
        outside.rollback()
        yield future


@pytest.mark.parametrize("outcome", [ACK, Retry(error="no")])
def test_a_settlement_that_was_the_victim_of_a_deadlock_is_run_again(
    server_store: SQLStore, server_url: str, outcome: Any
) -> None:
    first, second = held(server_store, 2)
    settlements = [Settlement(each.receipt, outcome) for each in (first, second)]
    with deadlock(server_url, first, second, lambda: server_store.settle(settlements)) as future:
        assert future.result(timeout=30) == [Settled.SETTLED] * 2
    stats = server_store.queues.stats("q")
    assert (stats.done if outcome is ACK else stats.ready) == 2


def test_a_push_into_groups_that_was_the_victim_of_a_deadlock_is_run_again(
    server_store: SQLStore, server_url: str
) -> None:
    new = [message(name, group=name) for name in ("a", "b")]
    server_store.push([Batch("q", new)])
    with outsider(server_url) as outside, ThreadPoolExecutor(1) as pool:
        outside.run("SELECT id FROM rowmq_groups WHERE name = 'b' FOR UPDATE")
        again = [message(name, group=name) for name in ("a", "b")]
        future = pool.submit(server_store.push, [Batch("q", again)])
        await_waiting(server_url, outside)
        outside.run("SELECT id FROM rowmq_groups WHERE name = 'a' FOR UPDATE")
        outside.rollback()
        (answer,) = future.result(timeout=30)
    assert isinstance(answer, Pushed), answer
    assert len(answer.ids) == 2
    assert server_store.queues.stats("q").ready == 4


def test_a_deadlock_in_the_callers_transaction_is_the_callers_to_run_again(
    server_store: SQLStore, server_url: str
) -> None:
    first, second = held(server_store, 2)
    with calling(server_url, "driver") as caller:
        call = lambda: ack(server_store, first, second, tx=caller.tx)  # noqa: E731 it has no other name
        with (
            deadlock(server_url, first, second, call) as future,
            pytest.raises(TransactionConflict, match="run it again"),
        ):
            future.result(timeout=30)
        caller.rollback()
        assert ack(server_store, first, second, tx=caller.tx) == [Settled.SETTLED] * 2
        caller.commit()
    assert server_store.queues.stats("q").done == 2


def impatient(store: SQLStore) -> None:
    """Make the store's sessions give up on a lock at once."""
    postgres = store.database.url.drivername.startswith("postgresql")
    sql = "SET lock_timeout = '20ms'" if postgres else "SET innodb_lock_wait_timeout = 0"

    @event.listens_for(store.database.engine, "checkout")
    def shorten(connection: Any, _record: Any, _proxy: Any) -> None:
        connection.cursor().execute(sql)
        connection.commit()


def test_a_lock_that_is_not_had_in_time_is_tried_for_again(server_store: SQLStore, server_url: str) -> None:
    (delivery,) = held(server_store, 1)
    tries: list[int] = []
    impatient(server_store)
    with calling(server_url, "driver") as outside, ThreadPoolExecutor(1) as pool:
        lock_row(outside, delivery)
        event.listen(server_store.database.engine, "checkout", lambda *_: tries.append(1))
        future = pool.submit(ack, server_store, delivery)
        end = time.monotonic() + 30
        while len(tries) < 3 and time.monotonic() < end:
            time.sleep(0.005)
        outside.rollback()
        assert future.result(timeout=30) == [Settled.SETTLED]
    assert len(tries) >= 3


def test_a_lock_that_is_never_had_makes_the_store_unavailable_and_nothing_is_written(
    server_store: SQLStore, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    first, second = held(server_store, 2)
    impatient(server_store)
    with calling(server_url, "driver") as outside:
        lock_row(outside, second)
        with pytest.raises(StoreUnavailable):
            ack(server_store, first, second)
        outside.rollback()
    assert server_store.queues.stats("q").leased == 2


def test_a_lock_the_callers_transaction_does_not_get_in_time_is_the_callers_to_try_again(
    server_store: SQLStore, server_url: str
) -> None:
    (delivery,) = held(server_store, 1)
    postgres = server_url.startswith("postgresql")
    with calling(server_url, "driver") as outside, calling(server_url, "driver") as caller:
        lock_row(outside, delivery)
        caller.run("SET lock_timeout = '20ms'" if postgres else "SET innodb_lock_wait_timeout = 0")
        with pytest.raises(TransactionConflict):
            ack(server_store, delivery, tx=caller.tx)
        caller.rollback()
        outside.rollback()
    assert server_store.queues.stats("q").leased == 1


def test_a_serialization_failure_of_the_callers_transaction_is_the_callers_to_run_again(
    postgres_url: str,
) -> None:
    with closing(opened(postgres_url)) as store, calling(postgres_url, "driver") as caller:
        (delivery,) = held(store, 1)
        caller.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        caller.run("SELECT COUNT(*) FROM rowmq_pending")
        store.settle([Settlement(delivery.receipt, Retry())])
        with pytest.raises(TransactionConflict):
            ack(store, delivery, tx=caller.tx)
        caller.rollback()
        assert ack(store, delivery, tx=caller.tx) == [Settled.LOST]


def test_stores_of_a_server_whose_default_is_serializable_go_on(postgres_url: str) -> None:
    strict = f"{postgres_url}%20-cdefault_transaction_isolation%3Dserializable"
    with closing(opened(strict)) as store, ThreadPoolExecutor(8) as pool:

        def work(_: int) -> int:
            done = 0
            for _ in range(5):
                store.push([Batch("q", messages(2, group="g"))])
                done += len(ack(store, *store.claim("q", [Want(limit=2)])[0]))
            return done

        total = sum(pool.map(work, range(8)))
        stats = store.queues.stats("q")
        assert stats.done == total
        assert stats.ready + stats.done == 80


def test_an_id_pushed_in_two_transactions_at_once_is_stored_once(
    server_store: SQLStore, server_url: str
) -> None:
    said = message("once")
    with calling(server_url, "driver") as caller, ThreadPoolExecutor(1) as pool:
        (first,) = server_store.push([Batch("q", [said])], tx=caller.tx)
        future = pool.submit(server_store.push, [Batch("q", [said])])
        await_waiting(server_url, caller)
        caller.commit()
        (second,) = future.result(timeout=30)
    assert isinstance(first, Pushed)
    assert isinstance(second, Pushed)
    assert second.seqs == first.seqs
    assert second.seen == {0}
    assert server_store.queues.stats("q").ready == 1


def test_a_callers_transaction_that_meets_its_id_in_another_is_the_callers_to_run_again(
    server_store: SQLStore, server_url: str
) -> None:
    said = message("once")
    with calling(server_url, "driver") as other, calling(server_url, "driver") as caller:
        server_store.push([Batch("q", [said])], tx=other.tx)
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(lambda: server_store.push([Batch("q", [said])], tx=caller.tx))
            await_waiting(server_url, other)
            other.commit()
            with pytest.raises(TransactionConflict):
                future.result(timeout=30)
        caller.rollback()
        (answer,) = server_store.push([Batch("q", [said])], tx=caller.tx)
        assert isinstance(answer, Pushed)
        assert answer.seen == {0}
