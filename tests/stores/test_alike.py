"""Messages alike on SQLite: one step for a few, two statements for many, the same rows as the longer way."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from rowmq.core.message import Batch
from rowmq.stores import open_store
from rowmq.stores.sql.at_once import LARGEST
from rowmq.stores.sqlite.whole import LONGEST
from rowmq.testing.build import T0, claim, everything, message, push, put_queue, refusal, states
from tests.stores.test_statements import Noted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.core.message import Message
    from rowmq.stores.sql.store import SQLStore

ONCE = ["insert_at_once", "inserted_at_once"]
ALIKE = ["insert_alike", "insert_alike_pending"]
WIDE = ["insert_message", "insert_pending"]
FEW, MANY = 20, LARGEST + 10
BODIES = [0, "", "ä𝄞\u0000\ud800", b"", b"\x00", bytes(range(256)), [1, {"b": 2, "a": 1.50}], b"x" * LONGEST]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONG = b"x" * (LONGEST + 1)
TABLES = ("rowmq_messages", "rowmq_pending")


@pytest.fixture
def store(sqlite_url: str) -> Iterator[SQLStore]:
    with closing(opened(sqlite_url)) as store:
        yield store


def opened(url: str) -> SQLStore:
    store = cast("SQLStore", open_store(url))
    put_queue(store)
    return store


def some(count: int) -> list[Message]:
    """Messages alike, of all kinds of bodies and priorities."""
    return [message(BODIES[place % len(BODIES)], priority=place % 10) for place in range(count)]


def noted(store: SQLStore) -> Noted:
    """What notes the statements that the store sends."""
    found = store.database.queries = Noted({**store.database.queries})
    return found


def inserts(store: SQLStore, new: list[Message]) -> list[str]:
    """The inserts of one push, by name."""
    statements = noted(store)
    push(store, *new)
    return [name for name in statements.sent if name.startswith("insert")]


def rows(store: SQLStore) -> list[Any]:
    """All that both tables have."""
    with closing(store.database.engine.raw_connection()) as connection:
        ask = connection.cursor().execute
        return [ask(f"SELECT * FROM {table} ORDER BY seq").fetchall() for table in TABLES]


@pytest.mark.parametrize(("count", "names"), [(1, ONCE), (FEW, ONCE), (MANY, ALIKE), (3000, ALIKE)])
def test_messages_alike_are_one_step_or_two_statements(store: SQLStore, count: int, names: list[str]) -> None:
    assert inserts(store, some(count)) == names


@pytest.mark.parametrize("count", [1, FEW, MANY])
@pytest.mark.parametrize("journey", ["find", "claim"])
def test_they_come_back_byte_for_byte_in_their_order(store: SQLStore, count: int, journey: str) -> None:
    push(store, *some(3))
    claim(store, 3)
    new = some(count)
    answer = push(store, *new)
    found: Any = claim(store, count) if journey == "claim" else everything(store, "q")[3:]
    assert list(answer.seqs) == list(range(4, 4 + count))
    assert sorted(each.seq for each in found) == list(answer.seqs)
    if journey == "claim":
        new.sort(key=lambda each: -each.priority)
    said = [(each.id, each.body, each.binary, each.priority) for each in new]
    assert [(each.id, each.body, each.binary, each.priority) for each in found] == said


@pytest.mark.parametrize("count", [1, FEW, MANY])
def test_their_rows_are_those_of_the_longer_way(
    store: SQLStore, sqlite_url: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = some(count)
    assert inserts(store, new) != WIDE
    monkeypatch.setattr("rowmq.stores.sqlite.alike.LONGEST", -1)
    with closing(opened(f"{sqlite_url}.other")) as other:
        assert inserts(other, new) == WIDE
        assert rows(other) == rows(store)


@pytest.mark.parametrize("count", [1, FEW, MANY])
@pytest.mark.parametrize(
    ("option", "said", "kept"),
    [
        ("payload", LONG, {"body": LONG}),
        ("metadata", {"v": "1"}, {"metadata": {"v": "1"}}),
        ("delay", timedelta(minutes=1), {"scheduled_for": T0 + timedelta(minutes=1)}),
        ("at", EPOCH, {"scheduled_for": EPOCH, "visible_at": T0}),
        ("deadline", EPOCH, {"deadline": EPOCH}),
    ],
)
def test_with_one_that_has_more_to_say_all_go_the_longer_way(
    store: SQLStore, count: int, option: str, said: Any, kept: dict[str, Any]
) -> None:
    new = [*some(count - 1), message(**{"payload": "odd", option: said})]
    assert inserts(store, new) == WIDE
    (found,) = [each for each in everything(store, "q") if each.id == new[-1].id]
    assert {name: getattr(found, name) for name in kept} == kept


@pytest.mark.parametrize(
    "rules",
    [{"delay": timedelta(minutes=1)}, {"fifo": True}, {"max_length": 1000}],
    ids=lambda it: next(iter(it)),
)
@pytest.mark.parametrize("count", [1, FEW, MANY])
def test_a_queue_with_rules_is_asked_for_them(store: SQLStore, count: int, rules: dict[str, Any]) -> None:
    put_queue(store, **rules)
    new = some(count)
    assert inserts(store, new)[-2:] == (ALIKE if "max_length" in rules and count > 1 else WIDE)
    assert len(everything(store, "q")) == count
    assert states(store) == {"scheduled" if "delay" in rules else "ready": count}


@pytest.mark.parametrize("count", [1, MANY])
def test_an_unknown_queue_is_refused_and_nothing_is_left(store: SQLStore, count: int) -> None:
    assert "'nowhere'" in str(refusal(store, *some(count), queue="nowhere"))
    assert rows(store) == [[], []]
    push(store, *some(count))
    assert len(everything(store, "q")) == count


def test_messages_of_two_queues_go_the_longer_way(store: SQLStore) -> None:
    put_queue(store, "other")
    statements = noted(store)
    store.push([Batch("q", some(FEW)), Batch("other", some(FEW))], now=T0)
    assert [name for name in statements.sent if name.startswith("insert")] == WIDE
    assert states(store) == states(store, "other") == {"ready": FEW}


@pytest.mark.parametrize("count", [1, FEW, MANY])
def test_what_is_pushed_again_is_stored_once(store: SQLStore, count: int) -> None:
    new = some(count)
    first = push(store, *new)
    again = push(store, *new, *some(1))
    assert again.seqs[:count] == first.seqs
    assert again.seen == set(range(count))
    assert [each.id for each in everything(store, "q")][:count] == list(first.ids)
    assert len(everything(store, "q")) == count + 1


def test_a_file_whose_text_is_utf_16_keeps_them_too(sqlite_url: str) -> None:
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection:
        connection.execute("PRAGMA encoding = 'UTF-16'")
        connection.execute("CREATE TABLE theirs (a)")
    with closing(opened(sqlite_url)) as store:
        new = some(FEW) + some(MANY)
        assert inserts(store, new[:FEW]) == ONCE
        assert inserts(store, new[FEW:]) == ALIKE
        assert [(each.body, each.priority) for each in everything(store, "q")] == [
            (each.body, each.priority) for each in new
        ]
