"""The statements and the tables: one set of names, forward-only migrations, users' columns left alone."""

import re
from pathlib import Path

import pytest
from sqlalchemy import text

from rowmq import SchemaOutdated
from rowmq.engine import Ack, Batch, Settlement, Want, message, open_store
from rowmq.stores.opening import dialect_of
from rowmq.stores.sql.migrations import migrations
from rowmq.stores.sql.store import SQLStore
from rowmq.stores.views import PACKAGES, schema

STORES = Path(__file__).parents[2] / "rowmq" / "stores"
OWN = {
    "sqlite": {
        "last_seq",
        "synchronous",
        "insert_message",
        "insert_pending",
        "insert_at_once",
        "inserted_at_once",
        "insert_alike",
        "insert_alike_pending",
        "ack_hold",
        "claim_at_once",
        "claimed_at_once",
        "long_bodies",
        "ack_at_once",
        "whole_size",
    },
    "postgres": {
        "insert",
        "insert_at_once",
        "take_turn",
        "claim_at_once",
        "ack",
        "durability",
        "keep_to_indexes",
        "partitioned",
        "days_lock",
        "days",
        "make_day",
        "start_day",
        "day_is_needed",
        "lock_day",
        "day_counts",
        "drop_day",
    },
    "mysql": {
        "insert_message",
        "insert_pending",
        "ack_hold",
        "ack_finish",
        "ack_finished",
        "unpend_run",
        "durability",
        "due_priorities",
        "pushed_after",
        "id_of",
        "seqs_of_ids",
    },
}

OLD_QUEUE = """
INSERT INTO rowmq_queues (name, lease, delay, backoff_first, backoff_factor, backoff_cap, backoff_jitter,
    delivery, fifo, paused, archive, tags, created_at, updated_at)
VALUES ('old', 1000, 0, 0, 1, 0, 0, 'at_least_once', FALSE, FALSE, 'optional', '{}', 0, 0)
"""


def sections(store: str) -> list[str]:
    return re.findall(r"^-- name: (\w+)$", (STORES / store / "queries.sql").read_text(), re.MULTILINE)


@pytest.mark.parametrize("store", ["postgres", "mysql"])
def test_every_dialect_has_the_same_statements_in_the_same_order(store: str) -> None:
    ours = [name for name in sections(store) if name not in OWN[store]]
    assert ours == [name for name in sections("sqlite") if name not in OWN["sqlite"]]


@pytest.mark.parametrize("store", list(OWN))
def test_every_statement_is_used_and_every_statement_used_is_there(store: str) -> None:
    code = "".join(path.read_text() for folder in ("sql", store) for path in (STORES / folder).glob("*.py"))
    code += "".join(f'"erase_{table}"' for table in ("pending", "outcomes", "failures", "messages"))
    tables = ("schedules", "consumers", "dedup", "groups", "claims", "rates", "samples")
    code += "".join(f'"drop_{table}"' for table in tables)
    code += '"sample_pushed", "sample_failed"'
    assert [name for name in sections(store) if f'"{name}"' not in code] == []


@pytest.mark.parametrize("dialect", list(PACKAGES))
def test_migrations_are_numbered_without_gaps(dialect: str) -> None:
    numbers = [migration.number for migration in migrations(PACKAGES[dialect])]
    assert numbers == list(range(1, len(numbers) + 1))
    assert schema(dialect).count("CREATE TABLE") >= 13


def opened_at(url: str, upto: int) -> SQLStore:
    store = open_store(url, migrate=False, check=False)
    assert isinstance(store, SQLStore)
    store.migrator.run(upto=upto)
    return store


def test_columns_that_users_add_survive_migrations_and_every_statement(sql_url: str) -> None:
    store = opened_at(sql_url, 1)
    with store.database.engine.begin() as connection:
        for table in ("messages", "pending", "outcomes", "queues"):
            connection.execute(text(f"ALTER TABLE rowmq_{table} ADD COLUMN team VARCHAR(20) DEFAULT 'blue'"))
    assert store.migrate() == [migration.name for migration in migrations(PACKAGES[dialect_of(sql_url)])[1:]]
    store.queues.put("q", {"max_attempts": 1})
    store.push([Batch("q", [message(1), message(2, group="g"), message(3, key="k")])])
    (deliveries,) = store.claim("q", [Want(limit=3)])
    store.settle([Settlement(delivery.receipt, Ack()) for delivery in deliveries])
    with store.database.engine.connect() as connection:
        for table in ("messages", "outcomes"):
            found = connection.execute(text(f"SELECT team FROM rowmq_{table}")).all()
            assert [tuple(row) for row in found] == [("blue",)] * 3
    store.close()


def test_tables_of_an_earlier_version_are_outdated_until_they_are_migrated(sql_url: str) -> None:
    store = opened_at(sql_url, 2)
    with pytest.raises(SchemaOutdated, match="rowmq migrate"):
        store.queues.put("q")
    later = ", ".join(each.name for each in migrations(PACKAGES[dialect_of(sql_url)])[2:])
    with pytest.raises(SchemaOutdated, match=rf"\({later} missing\)"):
        store.migrator.check()
    store.migrate()
    assert store.queues.put("q").rate is None
    store.close()


def test_what_was_there_before_a_migration_is_there_after_it(sql_url: str) -> None:
    store = opened_at(sql_url, 2)
    with store.database.engine.begin() as connection:
        connection.execute(text(OLD_QUEUE))
    store.migrate()
    assert [queue.name for queue in store.queues.list()] == ["old"]
    store.close()


def test_a_migration_that_was_interrupted_is_run_again(mysql_url: str) -> None:
    """DDL commits by itself on MySQL, so some of a migration may have been done and not written down."""
    store = opened_at(mysql_url, 2)
    interrupted, *later = migrations(PACKAGES["mysql"])[2:]
    for done in (interrupted.sql.partition("CREATE TABLE")[0], interrupted.sql):
        connection = store.database.engine.raw_connection()
        store.database.dialect.script(connection.cursor(), done)
        connection.close()
    assert store.migrate() == [interrupted.name, *(each.name for each in later)]
    assert store.queues.put("q").rate is None
    store.close()


def test_a_store_is_migrated_once(sql_url: str) -> None:
    first = open_store(sql_url)
    assert first.migrate() == []
    second = open_store(sql_url)
    assert second.migrate() == []
    first.close()
    second.close()


def test_what_drops_the_tables_leaves_nothing(sql_url: str) -> None:
    store = open_store(sql_url)
    assert isinstance(store, SQLStore)
    connection = store.database.engine.raw_connection()
    store.database.dialect.script(connection.cursor(), schema(dialect_of(sql_url), drop=True))
    connection.commit()
    connection.close()
    assert store.migrate() != []
    store.queues.put("q")
    store.close()
