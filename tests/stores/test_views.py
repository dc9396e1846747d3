"""A queue as a table: the view, plain SQL that pushes, and the handy queries of docs/sql.md."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from rowmq.core.message import Batch
from rowmq.engine import Ack, Bury, Retry, Settlement, Want, message
from rowmq.stores.sql.store import SQLStore
from rowmq.stores.views import view
from rowmq.testing.build import put_queue
from tests.stores.places import Place, opened

COLUMNS = [
    "id",
    "payload",
    "payload_bytes",
    "metadata",
    "created_at",
    "started_at",
    "scheduled_for",
    "locked_until",
    "processed_at",
    "error_detail",
    "consumed_count",
]
ID = "0190b3c0-0000-7000-8000-00ff00ff0001"
DOCUMENT = Path(__file__).parents[2] / "docs" / "sql.md"
QUERY = re.compile(r"^([A-Z][^\n]*):\n\n```sql\n(SELECT.*?);\n```", re.DOTALL | re.MULTILINE)
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "mysql": "MySQL"}


@pytest.fixture
def store(sql_place: Place) -> Iterator[SQLStore]:
    with opened(sql_place) as store:
        assert isinstance(store, SQLStore)
        put_queue(store, "q'u")
        with _view_of(store, "q'u"):
            yield store


@contextmanager
def _view_of(store: SQLStore, queue: str) -> Iterator[None]:
    dialect = store.database.dialect
    connection = store.database.engine.raw_connection()
    dialect.script(connection.cursor(), view(kind(store), "orders", queue))
    connection.commit()
    yield
    connection.cursor().execute("DROP VIEW orders")
    connection.commit()
    connection.close()


def kind(store: SQLStore) -> str:
    return store.database.engine.dialect.name


def insert(store: SQLStore, payload: str | None = "1", **columns: Any) -> None:
    """Push in plain SQL, as the database at hand lets one."""
    columns = {"payload": payload, **columns}
    with store.database.engine.connect() as connection:
        if kind(store) == "mysql":
            names: tuple[str, ...] = ("id", "payload", "payload_bytes", "metadata", "scheduled_for")
            statement = f"CALL rowmq_publish('q''u', {', '.join(f':{name}' for name in names)})"
            columns = {name: columns.get(name) for name in names}
        else:
            names = tuple(columns)
            statement = (
                f"INSERT INTO orders ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})"
            )
        connection.execute(text(statement), columns)
        connection.commit()


def shown(store: SQLStore) -> list[dict[str, Any]]:
    with store.database.engine.connect() as connection:
        return [dict(row) for row in connection.execute(text("SELECT * FROM orders")).mappings()]


def claimed(store: SQLStore, limit: int = 10) -> list[Any]:
    return store.claim("q'u", [Want(limit=limit)])[0]


def test_the_view_has_exactly_the_columns_of_the_interface(store: SQLStore) -> None:
    store.push([Batch("q'u", [message({"b": 1, "a": [2.50]}, metadata={"k": "v"})])])
    (row,) = shown(store)
    assert list(row) == COLUMNS
    payload = row["payload"]
    assert payload in ({"b": 1, "a": [2.5]}, '{"b":1,"a":[2.5]}', '{"b": 1, "a": [2.5]}')
    assert row["consumed_count"] == 0
    assert [
        row[name] for name in ("started_at", "locked_until", "processed_at", "error_detail", "payload_bytes")
    ] == [None] * 5


def test_the_view_shows_a_message_through_its_life(store: SQLStore) -> None:
    store.push([Batch("q'u", [message(b"\x00\xff")])])
    (delivery,) = claimed(store)
    (row,) = shown(store)
    assert (row["payload"], row["payload_bytes"], row["consumed_count"]) == (None, b"\x00\xff", 1)
    assert str(row["locked_until"]) > str(row["started_at"])
    store.settle([Settlement(delivery.receipt, Retry(error="not yet"))])
    assert [row["error_detail"] for row in shown(store)] == ["not yet"]
    (delivery,) = claimed(store)
    store.settle([Settlement(delivery.receipt, Ack())])
    (row,) = shown(store)
    assert row["processed_at"] is not None
    assert (row["locked_until"], row["consumed_count"]) == (None, 2)


def test_plain_sql_pushes_a_message_exactly_as_it_is_written(store: SQLStore) -> None:
    insert(store, '{"b": 1, "a": 2.50, "é": "\\u00e9"}', id=ID, metadata='{"k": "v\\"w"}')
    (delivery,) = claimed(store)
    assert delivery.id == UUID(ID)
    assert delivery.body == '{"b": 1, "a": 2.50, "é": "\\u00e9"}'.encode()
    assert delivery.metadata == {"k": 'v"w'}
    assert store.history.get(UUID(ID)) is not None


def test_plain_sql_pushes_bytes(store: SQLStore) -> None:
    insert(store, None, payload_bytes=bytes(range(256)))
    assert [delivery.payload for delivery in claimed(store)] == [bytes(range(256))]


def test_plain_sql_makes_ids_that_differ(store: SQLStore) -> None:
    for _ in range(5):
        insert(store)
    assert len({delivery.id for delivery in claimed(store)}) == 5


def test_plain_sql_honours_the_time_and_the_priority(store: SQLStore) -> None:
    insert(store, "1", scheduled_for="2040-01-01 00:00:00")
    insert(store, "2")
    insert(store, "3", metadata='{"rowmq.priority": "9"}')
    assert [delivery.payload for delivery in claimed(store)] == [3, 2]
    assert store.queues.stats("q'u").scheduled == 1


def test_plain_sql_honours_groups(store: SQLStore) -> None:
    for number in range(3):
        insert(store, str(number), metadata='{"rowmq.group": "g"}')
    seen = []
    for _ in range(3):
        (delivery,) = claimed(store)
        seen.append((delivery.payload, delivery.group))
        store.settle([Settlement(delivery.receipt, Ack())])
    assert seen == [(0, "g"), (1, "g"), (2, "g")]


def test_plain_sql_honours_a_fifo_queue(store: SQLStore) -> None:
    put_queue(store, "q'u", fifo=True)
    insert(store, "1")
    insert(store, "2")
    assert [delivery.payload for delivery in claimed(store)] == [1]


def test_plain_sql_honours_dedup_keys_both_ways(store: SQLStore) -> None:
    insert(store, "1", metadata='{"rowmq.key": "k"}')
    insert(store, "2", metadata='{"rowmq.key": "k"}')
    store.push([Batch("q'u", [message(3, key="k")])])
    assert [delivery.payload for delivery in claimed(store)] == [1]


def test_plain_sql_honours_the_length_of_a_queue(store: SQLStore) -> None:
    put_queue(store, "q'u", max_length=2)
    insert(store)
    insert(store)
    with pytest.raises(DBAPIError, match=r"full|holds at most 2"):
        insert(store)
    assert store.queues.stats("q'u").ready == 2


def test_plain_sql_honours_the_delay_of_a_queue(store: SQLStore) -> None:
    put_queue(store, "q'u", delay=timedelta(hours=1))
    insert(store)
    assert store.queues.stats("q'u").scheduled == 1


@pytest.mark.parametrize(
    "columns",
    [
        {"payload": "not json"},
        {"payload": "1", "payload_bytes": b"1"},
        {"payload": None},
        {"payload": "1", "metadata": "[1]"},
        {"payload": "1", "metadata": '{"rowmq.priority": "11"}'},
        {"payload": "1", "id": "no uuid"},
    ],
    ids=str,
)
def test_plain_sql_that_is_wrong_is_an_error_and_stores_nothing(
    store: SQLStore, columns: dict[str, Any]
) -> None:
    with pytest.raises(DBAPIError):
        insert(store, **columns)
    assert store.queues.stats("q'u")[:5] == (0, 0, 0, 0, 0)


def test_an_id_that_is_taken_is_an_error(store: SQLStore) -> None:
    insert(store, id=ID)
    with pytest.raises(DBAPIError):
        insert(store, id=ID)
    assert store.queues.stats("q'u").ready == 1


def test_plain_sql_wakes_a_waiter(store: SQLStore) -> None:
    store.wait(["q'u"], timedelta(milliseconds=1))
    insert(store)
    assert store.wait(["q'u"], timedelta(seconds=30))


def handy(store: SQLStore) -> dict[str, list[tuple[Any, ...]]]:
    """Run the document's queries that are for this database."""
    answers = {}
    with store.database.engine.connect() as connection:
        for title, query in QUERY.findall(DOCUMENT.read_text()):
            name, _, database = title.partition(", on ")
            if database in ("", NAMES[kind(store)]):
                now = "UTC_TIMESTAMP(6)" if kind(store) == "mysql" else "CURRENT_TIMESTAMP"
                rows = connection.execute(text(query.replace("CURRENT_TIMESTAMP", now))).all()
                answers[name] = [tuple(row) for row in rows]
    return answers


def test_the_handy_queries_of_the_document_tell_the_truth(store: SQLStore) -> None:
    numbered = [message(number) for number in range(5)]
    store.push([Batch("q'u", [*numbered, message("later", delay=timedelta(days=1))])])
    done, dead, retried, held = (claimed(store, 1)[0] for _ in range(4))
    store.settle([Settlement(done.receipt, Ack()), Settlement(dead.receipt, Bury(error="broken"))])
    store.settle([Settlement(retried.receipt, Retry(error="again"))])
    (again,) = [delivery for delivery in claimed(store) if delivery.id == retried.id]
    answers = handy(store)
    ids = {name: {str(row[0]) for row in rows} for name, rows in answers.items()}
    assert answers["Waiting"] == [(0,)]
    assert ids["Being processed"] == {str(held.id), str(again.id), str(numbered[4].id)}
    assert ids["Processed"] == {str(done.id)}
    assert ids["Failed"] == {str(dead.id)}
    assert ids["Slowest"] == {str(done.id), str(dead.id)}
    assert all(float(row[1]) >= 0 for row in answers["Slowest"])
    assert ids["Retried"] == {str(retried.id)}
    assert len(ids["Unprocessed of the last day"]) == 4
    store.settle([Settlement(again.receipt, Retry())])
    assert handy(store)["Waiting"] == [(1,)]
