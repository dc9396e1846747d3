"""The monitor of each store, beyond what all of them promise alike."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

from rowmq.core.errors import QueueNotFound
from rowmq.core.monitor import MINUTE, Counts
from rowmq.core.outcome import State
from rowmq.stores import open_store
from rowmq.stores.sql.migrations import migrations
from rowmq.stores.sqlite import dialect as sqlite
from rowmq.testing.build import T0, after, done_message, messages, push, put_queue
from tests.stores.places import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.stores.places import Place

SETTINGS = {
    "memory": set[str](),
    "sqlite": {"journal_mode", "synchronous"},
    "postgres": {"fsync", "full_page_writes", "synchronous_commit"},
    "mysql": {"innodb_doublewrite", "innodb_flush_log_at_trx_commit", "log_bin", "sync_binlog"},
    "redis": {"appendonly", "appendfsync", "no-appendfsync-on-rewrite", "maxmemory-policy"},
}
NAMES = {"sqlite": "SQLite 3", "postgres": "PostgreSQL 1", "mysql": "MariaDB 1", "redis": "Redis 7"}


@pytest.fixture(params=list(SETTINGS))
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def store(kind: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    place: Place = request.getfixturevalue(f"{kind}_place")
    with opened(place) as store:
        yield store


def test_every_store_that_holds_messages_itself_has_a_monitor(store: Any, remote_place: Place) -> None:
    assert store.monitor.counts([]) == {}
    with opened(remote_place) as remote:
        assert not hasattr(remote, "monitor")


def test_health_names_the_database_and_the_settings_that_matter(store: Any, kind: str) -> None:
    health = store.monitor.health()
    assert health.database.startswith(NAMES.get(kind, "the memory"))
    assert set(health.settings) == SETTINGS[kind]


def test_health_names_the_last_migration(store: Any, kind: str) -> None:
    packages = ("sqlite", "postgres", "mysql")
    names = {each: migrations(f"rowmq.stores.{each}")[-1].name for each in packages} | {"redis": "layout 2"}
    assert store.monitor.health().schema == names.get(kind, "")


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "mysql"])
def test_health_measures_tables(store: Any) -> None:
    sizes = store.monitor.health().sizes
    assert sizes["rowmq_messages"] > 0
    assert {each.removeprefix("rowmq_") for each in sizes} >= {"outcomes", "pending", "samples"}


def test_the_tables_of_a_large_file_are_not_measured(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "LARGEST_MEASURED", 1)
    with closing(open_store(sqlite_url)) as store:
        health = store.monitor.health()  # type: ignore[attr-defined]
    assert health.size > 1
    assert health.sizes == {}


def test_a_partitioned_tables_size_is_that_of_its_partitions(postgres_url: str) -> None:
    joint = "&" if "?" in postgres_url else "?"
    with closing(open_store(f"{postgres_url}{joint}partitions=day")) as store:
        put_queue(store)
        store.push([])
        push(store, *messages(10), now=store.now())
        sizes = store.monitor.health().sizes  # type: ignore[attr-defined]
        assert sizes["rowmq_messages"] > 0
        assert [name for name in sizes if name[-1].isdigit()] == []
        listed = store.monitor.page("q", State.READY)  # type: ignore[attr-defined]
        assert len(listed.records) == 10


def test_hundreds_of_queues_are_counted_together(store: Any) -> None:
    names = [f"q{number}" for number in range(120)]
    for name in names:
        put_queue(store, name)
    push(store, *messages(2), queue="q7")
    found = store.monitor.counts(names, now=after(1))
    assert list(found) == names
    assert {name for name, counts in found.items() if counts != Counts()} == {"q7"}
    done_message(store, queue="q3")
    assert store.monitor.sample(now=after(60)) == 2
    assert [each.queue for each in store.monitor.samples(MINUTE, T0)] == ["q3", "q7"]


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "mysql"])
def test_no_row_of_a_dropped_queues_samples_is_left(store: Any) -> None:
    put_queue(store)
    done_message(store)
    store.monitor.sample(now=after(60))
    rows = text("SELECT COUNT(*) FROM rowmq_samples")
    with store.database.engine.connect() as connection:
        assert connection.execute(rows).scalar_one() == 1
    store.queues.drop("q", now=after(61))
    with store.database.engine.connect() as connection:
        assert connection.execute(rows).scalar_one() == 0


def test_samples_are_empty_while_nobody_samples(store: Any) -> None:
    put_queue(store)
    done_message(store)
    assert store.monitor.samples(MINUTE, T0) == []


def test_names_that_no_queue_can_have_are_nobodys(store: Any) -> None:
    put_queue(store)
    for name in ("\x1f", "x" * 300, "q ", "Q"):
        assert store.monitor.counts([name, "q"], now=T0) == {"q": Counts()}
        with pytest.raises(QueueNotFound):
            store.monitor.page(name, State.READY, now=T0)
