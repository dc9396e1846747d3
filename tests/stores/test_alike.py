"""Messages alike on SQLite: one statement for each table, with the same rows as the longer way."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from rowmq.core.message import Batch
from rowmq.stores import open_store
from rowmq.stores.sqlite.alike import FEWEST
from rowmq.stores.sqlite.whole import LONGEST
from rowmq.testing.build import T0, claim, everything, message, push, put_queue, states
from tests.stores.test_statements import Noted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.core.message import Message
    from rowmq.stores.sql.store import SQLStore

WIDE, ALIKE = ["insert_message", "insert_pending"], ["insert_alike", "insert_alike_pending"]
BODIES = [0, "", "ä𝄞\u0000\ud800", b"", b"\x00", bytes(range(256)), [1, {"b": 2, "a": 1.50}], b"x" * LONGEST]


@pytest.fixture
def store(sqlite_url: str) -> Iterator[SQLStore]:
    with closing(cast("SQLStore", open_store(sqlite_url))) as store:
        put_queue(store)
        yield store


def inserts(store: SQLStore, *new: Message) -> list[str]:
    """The inserts of one push, by name."""
    noted = store.database.queries = Noted({**store.database.queries})
    push(store, *new)
    return [name for name in noted.sent if name.startswith("insert")]


def rows(store: SQLStore) -> tuple[list[Any], list[Any]]:
    """All that both tables have."""
    with closing(store.database.engine.raw_connection()) as connection:
        messages, pending = (
            connection.cursor().execute(f"SELECT * FROM {table} ORDER BY seq").fetchall()
            for table in ("rowmq_messages", "rowmq_pending")
        )
    return messages, pending


def some() -> list[Message]:
    """Messages alike, of all kinds of bodies and priorities."""
    return [message(body, priority=place % 10) for place, body in enumerate(BODIES * 2)]


def test_messages_alike_are_two_statements(store: SQLStore) -> None:
    assert inserts(store, *some()) == ALIKE
    assert inserts(store, *(each for _ in range(100) for each in some())) == ALIKE


@pytest.mark.parametrize("journey", ["push", "claim"])
def test_they_come_back_byte_for_byte_in_their_order(store: SQLStore, journey: str) -> None:
    new = some()
    answer = push(store, *new)
    found: Any = everything(store, "q") if journey == "push" else claim(store, len(new))
    if journey == "claim":
        new.sort(key=lambda each: -each.priority)
    said = [(each.id, each.body, each.binary, each.priority) for each in new]
    assert [(each.id, each.body, each.binary, each.priority) for each in found] == said
    assert sorted(each.seq for each in found) == list(answer.seqs)


def test_their_rows_are_those_of_the_longer_way(
    store: SQLStore, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = some()
    assert inserts(store, *new) == ALIKE
    monkeypatch.setattr("rowmq.stores.sqlite.alike.FEWEST", len(new) + 1)
    with closing(cast("SQLStore", open_store(f"{sqlite_url}.other"))) as other:
        put_queue(other)
        assert inserts(other, *new) == WIDE
        assert rows(other) == rows(store)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONG = b"x" * (LONGEST + 1)


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
    store: SQLStore, option: str, said: Any, kept: dict[str, Any]
) -> None:
    new = [*some(), message(**{"payload": "odd", option: said})]
    assert inserts(store, *new) == WIDE
    (found,) = [each for each in everything(store, "q") if each.id == new[-1].id]
    assert {name: getattr(found, name) for name in kept} == kept


def test_messages_of_two_queues_go_the_longer_way(store: SQLStore) -> None:
    put_queue(store, "other")
    noted = store.database.queries = Noted({**store.database.queries})
    store.push([Batch("q", some()), Batch("other", some())], now=T0)
    assert set(WIDE) < set(noted.sent)
    assert not set(ALIKE) & set(noted.sent)
    assert states(store) == states(store, "other") == {"ready": len(some())}


def test_few_go_the_longer_way(store: SQLStore) -> None:
    assert inserts(store, *some()[: FEWEST - 1]) == WIDE
    assert inserts(store, *some()[:FEWEST]) == ALIKE


def test_a_file_whose_text_is_utf_16_keeps_them_too(sqlite_url: str) -> None:
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection:
        connection.execute("PRAGMA encoding = 'UTF-16'")
        connection.execute("CREATE TABLE theirs (a)")
    with closing(cast("SQLStore", open_store(sqlite_url))) as store:
        put_queue(store)
        new = some()
        assert inserts(store, *new) == ALIKE
        assert [(each.body, each.priority) for each in everything(store, "q")] == [
            (each.body, each.priority) for each in new
        ]
