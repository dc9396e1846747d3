"""A push of a few plain messages on PostgreSQL: one statement, with the same result as the longer way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from rowmq.core.errors import DuplicateMessage, QueueFull, QueueNotFound
from rowmq.core.message import Batch, Pushed
from rowmq.core.outcome import State
from rowmq.stores import open_store
from rowmq.stores.postgres import inserting
from rowmq.stores.postgres.inserting import PAUSE
from rowmq.stores.postgres.listening import DEBOUNCE
from rowmq.stores.sql.at_once import LARGEST
from rowmq.testing.build import message, messages
from tests.stores.callers import connected
from tests.stores.proxy import proxied
from tests.stores.test_statements import Noted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.core.message import Message
    from rowmq.stores.sql.cursor import Cursor
    from rowmq.stores.sql.store import SQLStore

NOW = datetime(2030, 5, 17, 12, tzinfo=UTC)


@pytest.fixture
def store(postgres_url: str) -> Iterator[SQLStore]:
    with closing(opened(postgres_url)) as store:
        yield store


class Clock:
    """What the store takes for the machine's clock, moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(inserting, "time", clock)
    return clock


def opened(url: str) -> SQLStore:
    store = cast("SQLStore", open_store(url))
    store.queues.put("q")
    return store


def push(store: SQLStore, *new: Message, queue: str = "q") -> Pushed:
    (answer,) = store.push([Batch(queue, new)])
    assert isinstance(answer, Pushed), answer
    return answer


def sent(store: SQLStore, *new: Message) -> list[str]:
    """The named statements of one push."""
    noted = store.database.queries = Noted({**store.database.queries})
    push(store, *new)
    return noted.sent[:]


# ---- what it costs -----------------------------------------------------------------------------------------


def test_a_push_of_plain_messages_is_one_round_trip(store: SQLStore, postgres_url: str) -> None:
    with proxied(postgres_url) as (way, proxy), closing(opened(way)) as far:
        push(far, message())
        before = proxy.requests
        push(far, *messages(3, metadata={"a": "b"}, priority=3))
        assert proxy.requests == before + 1
    assert store.queues.stats("q").ready == 4


@pytest.mark.parametrize(
    "new",
    [
        [message(key="k")],
        [message(group="g")],
        [message(delay=timedelta(seconds=1))],
        [message(at=NOW)],
        messages(LARGEST + 1),
    ],
    ids=["key", "group", "delay", "time", "many"],
)
def test_what_takes_more_than_one_statement_is_not_tried_with_one(
    store: SQLStore, new: list[Message]
) -> None:
    assert sent(store, *messages(LARGEST)) == ["insert_at_once"]
    assert "insert_at_once" not in sent(store, *new)


def test_a_queue_whose_rules_take_more_is_asked_once_and_then_left_alone_for_a_while(
    store: SQLStore, clock: Clock
) -> None:
    store.queues.put("q", {"fifo": True})
    assert sent(store, message())[0] == "insert_at_once"
    clock.now += PAUSE - 0.001
    assert "insert_at_once" not in sent(store, message())
    clock.now += 0.002
    assert sent(store, message())[0] == "insert_at_once"
    store.queues.put("q", {"fifo": False})
    clock.now += PAUSE
    assert sent(store, message()) == ["insert_at_once"]


def test_names_of_queues_that_do_not_exist_are_not_remembered_without_end(
    store: SQLStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inserting, "MOST_PAUSED", 2)
    for name in "abcde":
        store.push([Batch(name, [message()])])
    noted = store.database.queries = Noted({**store.database.queries})
    store.push([Batch("a", [message()])])
    assert noted.sent[0] == "insert_at_once"


# ---- the same result ---------------------------------------------------------------------------------------


def stored(store: SQLStore, pushed: object) -> dict[str, Any]:
    """All that is stored of a message, but for what is its own."""
    assert isinstance(pushed, Pushed)
    record = store.history.get(pushed.ids[0])
    assert record is not None
    assert record.seq == pushed.seqs[0]
    return {name: value for name, value in record._asdict().items() if name not in ("id", "seq")}


@pytest.mark.parametrize("now", [NOW, None], ids=["given", "own"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"payload": b"\0\xff"},
        {"payload": {"a": [1, None]}, "metadata": {"k": "v ☃"}, "priority": 9},
        {"deadline": NOW + timedelta(minutes=1)},
    ],
    ids=["plain", "binary", "metadata", "deadline"],
)
def test_a_message_is_stored_as_the_longer_way_stores_it(
    store: SQLStore, now: datetime | None, options: dict[str, Any]
) -> None:
    (short,) = store.push([Batch("q", [message(**options)])], now=now)
    long, _ = store.push([Batch("q", [message(**options)]), Batch("q", [message()])], now=now)
    one, other = stored(store, short), stored(store, long)
    if now is None:
        for name in ("created_at", "visible_at"):
            assert other.pop(name) - one.pop(name) < timedelta(seconds=10)
    assert one == other
    if now is not None:
        assert one["created_at"] == one["visible_at"] == now


def test_seqs_are_in_the_order_of_the_messages(store: SQLStore) -> None:
    new = messages(LARGEST)
    answer = push(store, *new)
    assert list(answer.ids) == [each.id for each in new]
    assert list(answer.seqs) == sorted(answer.seqs)
    found = store.history.find("q", limit=LARGEST).records
    assert [record.payload for record in found] == list(range(LARGEST))


def test_a_message_pushed_again_is_stored_once_and_another_of_its_id_is_refused(store: SQLStore) -> None:
    said = message("said")
    first = push(store, said)
    second = push(store, said)
    assert second.seqs == first.seqs
    assert second.seen == {0}
    mixed = push(store, message("new"), said)
    assert mixed.seen == {1}
    (other,) = store.push([Batch("q", [message("new too"), message("other", id=said.id)])])
    assert isinstance(other, DuplicateMessage)
    assert store.queues.stats("q").ready == 2


def test_a_message_twice_in_one_batch_is_stored_once(store: SQLStore) -> None:
    said = message("said")
    answer = push(store, said, said)
    assert answer.seqs[0] == answer.seqs[1]
    assert store.queues.stats("q").ready == 1


def test_a_push_to_an_unknown_queue_is_refused_and_counts_once_the_queue_is_there(store: SQLStore) -> None:
    (answer,) = store.push([Batch("nowhere", [message()])])
    assert isinstance(answer, QueueNotFound)
    store.queues.put("nowhere")
    push(store, message(), queue="nowhere")
    assert store.queues.stats("nowhere").ready == 1


def test_a_rule_given_to_a_queue_holds_from_its_next_push_on(store: SQLStore, clock: Clock) -> None:
    push(store, message())
    store.queues.put("q", {"max_length": 2})
    push(store, message())
    (answer,) = store.push([Batch("q", [message()])])
    assert isinstance(answer, QueueFull)
    store.queues.put("q", {"max_length": None, "delay": timedelta(hours=1)})
    clock.now += PAUSE
    later = push(store, message())
    (record,) = store.history.find("q", state=State.SCHEDULED).records
    assert record.id == later.ids[0]


def test_a_connection_that_pushed_at_once_has_transactions_again(store: SQLStore) -> None:
    push(store, message())

    def fail(cursor: Cursor) -> None:
        cursor.run("queue_delete", queue=1)
        cursor.run("unpend", seqs=[1])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.database.run(fail)
    assert store.queues.stats("q").ready == 1


def test_a_push_that_collided_leaves_a_connection_with_transactions(store: SQLStore) -> None:
    said = message()
    push(store, said)
    push(store, said)
    connection: Any = store.database.engine.raw_connection()
    assert not connection.driver_connection.autocommit
    connection.close()


def test_plain_pushes_go_on_where_transactions_are_serializable_by_default(postgres_url: str) -> None:
    strict = f"{postgres_url}%20-cdefault_transaction_isolation%3Dserializable"
    with closing(opened(strict)) as store, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: push(store, message()), range(80)))
        assert store.queues.stats("q").ready == 80


def test_a_durability_set_for_each_transaction_is_not_left_out(postgres_url: str) -> None:
    with closing(opened(f"{postgres_url}&prepare=off&durability=off")) as store:
        assert "insert_at_once" not in sent(store, message())
    with closing(opened(f"{postgres_url}&prepare=off")) as store:
        assert sent(store, message()) == ["insert_at_once"]


# ---- telling those who wait --------------------------------------------------------------------------------


@pytest.fixture
def ear(store: SQLStore, postgres_url: str) -> Iterator[Any]:
    """A session that listens; the store's pushes have not been notified yet."""
    assert store
    with closing(connected(postgres_url, autocommit=True)) as connection:
        connection.execute("LISTEN rowmq")
        yield connection


def heard(ear: Any) -> int:
    """How many notifications of this test's own schema have come since the last time."""
    (schema,) = ear.execute("SELECT current_schema()").fetchone()
    return sum(each.payload.startswith(f"{schema}:") for each in ear.notifies(timeout=0))


def test_a_push_notifies_and_more_of_them_soon_after_do_not(store: SQLStore, ear: Any, clock: Clock) -> None:
    push(store, message())
    assert heard(ear) == 1
    clock.now += DEBOUNCE + 0.001
    push(store, message())
    assert heard(ear) == 1
    clock.now += DEBOUNCE - 0.001
    push(store, message())
    push(store, *messages(LARGEST + 1))
    assert heard(ear) == 0
    clock.now += 0.002
    push(store, message())
    assert heard(ear) == 1


@pytest.mark.usefixtures("clock")
def test_a_queue_made_anew_under_its_name_is_notified_about(store: SQLStore, ear: Any) -> None:
    for _ in range(3):
        push(store, message())
    store.queues.drop("q")
    store.queues.put("q")
    heard(ear)
    push(store, message())
    assert heard(ear) == 1


def test_a_push_that_had_to_go_the_longer_way_notifies(store: SQLStore, ear: Any, clock: Clock) -> None:
    push(store, message())
    assert heard(ear) == 1
    store.queues.put("q", {"max_length": 10})
    clock.now += DEBOUNCE + 0.001
    push(store, message())
    assert heard(ear) == 1
