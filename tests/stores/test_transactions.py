"""The caller's own transaction: what is done with ``tx=`` becomes real when the caller commits."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.orm import Session

from rowmq.core.delivery import Settlement, Want
from rowmq.core.errors import (
    DuplicateMessage,
    InvalidSetting,
    QueueFull,
    QueueNotFound,
    TransactionConflict,
    Unsupported,
)
from rowmq.core.message import Batch, Pushed
from rowmq.core.outcome import ACK, Retry, Settled
from rowmq.stores import open_store
from rowmq.testing.build import message, messages
from tests.stores.callers import WAYS, Caller, calling, connected, engine_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from rowmq.core.message import Message
    from rowmq.stores.sql.store import SQLStore


@pytest.fixture
def store(sql_url: str) -> Iterator[SQLStore]:
    opened: SQLStore = open_store(sql_url)  # type: ignore[assignment]
    with closing(opened):
        opened.queues.put("q")
        yield opened


@pytest.fixture(params=WAYS)
def caller(request: pytest.FixtureRequest, sql_url: str, store: SQLStore) -> Iterator[Caller]:
    """A user with a table of their own; the store is open."""
    assert store
    with closing(connected(sql_url)) as connection:
        connection.cursor().execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
        connection.commit()
    with calling(sql_url, request.param) as caller:
        yield caller


def push(store: SQLStore, caller: Caller, *new: Message, queue: str = "q") -> Pushed | Exception:
    return store.push([Batch(queue, new)], tx=caller.tx)[0]


def ready(store: SQLStore, queue: str = "q") -> int:
    return store.queues.stats(queue).ready


def orders(sql_url: str) -> int:
    with closing(connected(sql_url)) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT COUNT(*) FROM orders")
        (count,) = cursor.fetchone()
        return int(count)


def test_a_push_is_invisible_until_the_caller_commits(store: SQLStore, caller: Caller) -> None:
    assert isinstance(push(store, caller, *messages(3)), Pushed)
    assert ready(store) == 0
    assert store.history.bounds() == (0, 0)
    caller.commit()
    assert ready(store) == 3


def test_a_push_is_gone_when_the_caller_rolls_back(store: SQLStore, caller: Caller) -> None:
    push(store, caller, *messages(3))
    caller.rollback()
    assert ready(store) == 0
    assert store.history.bounds() == (0, 0)


def test_a_push_with_groups_and_keys_is_gone_when_the_caller_rolls_back(
    store: SQLStore, caller: Caller
) -> None:
    said = message(group="g", key="k")
    push(store, caller, said)
    caller.rollback()
    (answer,) = store.push([Batch("q", [said])])
    assert isinstance(answer, Pushed)
    assert not answer.seen
    assert ready(store) == 1


def test_an_ack_counts_only_when_the_caller_commits(store: SQLStore, caller: Caller) -> None:
    store.push([Batch("q", [message()])])
    ((held,),) = store.claim("q", [Want()])
    settlement = Settlement(held.receipt, ACK)
    assert store.settle([settlement], tx=caller.tx) == [Settled.SETTLED]
    assert store.queues.stats("q").leased == 1
    caller.rollback()
    assert store.queues.stats("q").leased == 1
    assert store.settle([settlement], tx=caller.tx) == [Settled.SETTLED]
    caller.commit()
    assert store.queues.stats("q").done == 1
    assert store.settle([settlement]) == [Settled.REPEATED]


def test_a_message_of_a_group_acked_in_a_transaction_makes_way_at_its_commit(
    store: SQLStore, caller: Caller
) -> None:
    store.push([Batch("q", messages(2, group="g"))])
    ((held,),) = store.claim("q", [Want()])
    store.settle([Settlement(held.receipt, ACK)], tx=caller.tx)
    assert store.queues.stats("q").done == 0
    caller.commit()
    ((following,),) = store.claim("q", [Want()])
    assert following.payload == 1


def test_a_retry_counts_only_when_the_caller_commits(store: SQLStore, caller: Caller) -> None:
    store.push([Batch("q", [message()])])
    ((held,),) = store.claim("q", [Want()])
    assert store.settle([Settlement(held.receipt, Retry(error="no"))], tx=caller.tx) == [Settled.SETTLED]
    assert not store.history.failures(held.id)
    caller.commit()
    assert [failure.error for failure in store.history.failures(held.id)] == ["no"]
    assert ready(store) == 1


@pytest.mark.parametrize("committed", [True, False])
def test_push_and_ack_share_the_fate_of_the_callers_own_rows(
    store: SQLStore, caller: Caller, sql_url: str, committed: bool
) -> None:
    store.queues.put("next")
    store.push([Batch("q", [message()])])
    ((held,),) = store.claim("q", [Want()])
    caller.run("INSERT INTO orders VALUES (1)")
    store.settle([Settlement(held.receipt, ACK)], tx=caller.tx)
    push(store, caller, message(), queue="next")
    caller.run("INSERT INTO orders VALUES (2)")
    (caller.commit if committed else caller.rollback)()
    assert orders(sql_url) == (2 if committed else 0)
    assert ready(store, "next") == (1 if committed else 0)
    assert store.queues.stats("q").done == (1 if committed else 0)


def test_the_same_message_pushed_twice_in_a_transaction_is_stored_once(
    store: SQLStore, caller: Caller
) -> None:
    said = message("once")
    first, second = push(store, caller, said), push(store, caller, said)
    caller.commit()
    third = push(store, caller, said)
    caller.commit()
    assert isinstance(first, Pushed)
    assert isinstance(second, Pushed)
    assert isinstance(third, Pushed)
    assert [first.seen, second.seen, third.seen] == [frozenset(), frozenset({0}), frozenset({0})]
    assert first.seqs == second.seqs == third.seqs
    assert ready(store) == 1


def refused(store: SQLStore, caller: Caller, kind: type[Exception]) -> Exception:
    """Push something that is refused for this reason."""
    if kind is QueueNotFound:
        answer = push(store, caller, message(), queue="nowhere")
    elif kind is QueueFull:
        store.queues.put("full", {"max_length": 1})
        answer = push(store, caller, *messages(2, key="k"), message(key="l"), queue="full")
    else:
        said = message("one")
        store.push([Batch("q", [said])])
        answer = push(store, caller, message(), message("another", id=said.id))
    assert isinstance(answer, Exception)
    return answer


@pytest.mark.parametrize("kind", [QueueFull, DuplicateMessage, QueueNotFound])
def test_a_refusal_leaves_the_callers_transaction_as_it_was(
    store: SQLStore, caller: Caller, sql_url: str, kind: type[Exception]
) -> None:
    if "sqlite" not in sql_url:  # there, the caller's first row would lock out what the test prepares
        caller.run("INSERT INTO orders VALUES (1)")
    assert type(refused(store, caller, kind)) is kind
    before = ready(store)
    caller.run("INSERT INTO orders VALUES (2)")
    assert isinstance(push(store, caller, message()), Pushed)
    caller.commit()
    assert orders(sql_url) == (1 if "sqlite" in sql_url else 2)
    assert ready(store) == before + 1


def test_a_publication_is_invisible_until_the_caller_commits(store: SQLStore, caller: Caller) -> None:
    store.queues.put("r")
    for queue in ("q", "r"):
        store.topics.bind("t", queue)
    assert store.topics.publish("t", messages(2), tx=caller.tx) == 2
    assert ready(store) == ready(store, "r") == 0
    caller.commit()
    assert ready(store) == ready(store, "r") == 2


def test_a_publication_that_nobody_hears_is_kept_only_if_the_caller_commits(
    store: SQLStore, caller: Caller
) -> None:
    said = messages(2)
    assert store.topics.publish("t", said[:1], tx=caller.tx) == 0
    caller.rollback()
    assert store.topics.publish("t", said[1:], tx=caller.tx) == 0
    caller.commit()
    store.topics.bind("t", "q")
    ((held,),) = store.claim("q", [Want(limit=5)])
    assert held.payload == 1


def test_a_publication_that_one_queue_refuses_leaves_nothing_in_the_others(
    store: SQLStore, caller: Caller, sql_url: str
) -> None:
    store.queues.put("z", {"max_length": 1})
    for queue in ("q", "z"):
        store.topics.bind("t", queue)
    with pytest.raises(QueueFull):
        store.topics.publish("t", messages(2), tx=caller.tx)
    caller.run("INSERT INTO orders VALUES (1)")
    caller.commit()
    assert orders(sql_url) == 1
    assert ready(store) == ready(store, "z") == 0


def test_a_connection_that_commits_every_statement_is_refused(store: SQLStore, sql_url: str) -> None:
    with closing(connected(sql_url, autocommit=True)) as connection, pytest.raises(InvalidSetting):
        store.push([Batch("q", [message()])], tx=connection)
    engine = engine_of(sql_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as mapped, pytest.raises(InvalidSetting):
        store.push([Batch("q", [message()])], tx=mapped)
    with Session(engine) as session, pytest.raises(InvalidSetting):
        store.push([Batch("q", [message()])], tx=session)
    engine.dispose()
    assert ready(store) == 0


def test_an_autocommit_connection_that_has_begun_a_transaction_is_taken(
    store: SQLStore, sql_url: str
) -> None:
    with closing(connected(sql_url, autocommit=True)) as connection:
        connection.cursor().execute("BEGIN")
        store.push([Batch("q", [message()])], tx=connection)
        assert ready(store) == 0
        connection.cursor().execute("ROLLBACK")
        connection.cursor().execute("BEGIN")
        store.push([Batch("q", [message()])], tx=connection)
        connection.cursor().execute("COMMIT")
    assert ready(store) == 1


@pytest.mark.parametrize("wrong", ["a string", 7, object()])
def test_something_that_is_no_transaction_is_refused(store: SQLStore, wrong: object) -> None:
    with pytest.raises(InvalidSetting, match="tx"):
        store.push([Batch("q", [message()])], tx=wrong)
    with pytest.raises(InvalidSetting, match="tx"):
        store.topics.publish("t", [message()], tx=wrong)
    assert ready(store) == 0


def test_an_engine_is_refused(store: SQLStore, sql_url: str) -> None:
    engine = engine_of(sql_url)
    with pytest.raises(InvalidSetting, match="tx"):
        store.push([Batch("q", [message()])], tx=engine)
    engine.dispose()


def test_a_transaction_of_another_kind_of_database_is_refused(
    store: SQLStore, sql_url: str, request: pytest.FixtureRequest
) -> None:
    other: str = request.getfixturevalue("postgres_url" if "sqlite" in sql_url else "sqlite_url")
    for way in WAYS:
        with calling(other, way) as caller, pytest.raises(InvalidSetting, match="tx"):
            push(store, caller, message())


def test_a_store_in_memory_has_no_transactions(sqlite_url: str) -> None:
    store = open_store("memory://")
    store.queues.put("q")
    with calling(sqlite_url, "driver") as caller:
        with pytest.raises(Unsupported):
            store.push([Batch("q", [message()])], tx=caller.tx)
        with pytest.raises(Unsupported):
            store.topics.publish("t", [message()], tx=caller.tx)
    store.close()


class Watch:
    """Stands for those who wait, and looks whether there is something to see when they are woken."""

    def __init__(self, store: SQLStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.saw: list[int] = []
        self._store = store
        self._wake = store.database.waiters.wake
        monkeypatch.setattr(store.database.waiters, "wake", self.wake)

    def wake(self, queues: Collection[int]) -> None:
        if queues:
            self.saw.append(ready(self._store))
            self._wake(queues)


def test_those_who_wait_are_woken_when_there_is_something_to_see(
    store: SQLStore, sql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(store, monkeypatch)
    with calling(sql_url, "session") as caller:
        for count in (1, 2):
            push(store, caller, message())
            assert len(watch.saw) == count - 1
            caller.commit()
    assert watch.saw == [1, 2]


def test_those_who_wait_are_woken_by_the_commit_and_not_by_the_release_of_a_savepoint(
    store: SQLStore, sql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(store, monkeypatch)
    with calling(sql_url, "session") as caller:
        caller.run("SELECT 1")
        with caller.tx.begin_nested():
            push(store, caller, message())
        assert watch.saw == []
        caller.commit()
    assert watch.saw == [1]


def test_nobody_is_woken_by_a_rollback(
    store: SQLStore, sql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(store, monkeypatch)
    with calling(sql_url, "session") as caller:
        push(store, caller, message())
        caller.rollback()
        caller.run("SELECT 1")
        caller.commit()
    assert watch.saw == []


def test_a_consumer_that_waits_gets_what_a_transaction_pushed_soon_after_its_commit(
    store: SQLStore, caller: Caller
) -> None:
    taken: list[int] = []

    def consume() -> None:
        for _ in range(2_000):
            (held,) = store.claim("q", [Want()])
            taken.extend(each.payload for each in held)
            if taken:
                return
            store.wait(["q"], timedelta(milliseconds=20))

    thread = Thread(target=consume)
    thread.start()
    said = message(7)
    for _ in range(1_000):  # the consumer claims meanwhile, and a conflict is the caller's to retry
        try:
            push(store, caller, said)
            break
        except TransactionConflict:
            caller.rollback()
    caller.commit()
    thread.join(30)
    assert taken == [7]
