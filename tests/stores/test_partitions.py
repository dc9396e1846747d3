"""Daily partitions on PostgreSQL, over a month that is moved by hand."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from rowmq import DuplicateMessage, InvalidURL
from rowmq.core.clock import micros
from rowmq.engine import Ack, Batch, Message, Pushed, Want, open_store
from rowmq.stores.sql.migrations import migrations
from rowmq.stores.sql.store import SQLStore
from rowmq.testing.build import message, settle

DAY = timedelta(days=1)
START = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) + DAY


@pytest.fixture
def store(postgres_url: str) -> Iterator[SQLStore]:
    store = open_store(f"{postgres_url}&partitions=day")
    assert isinstance(store, SQLStore)
    store.queues.put("q", {"retention": 7 * DAY, "max_attempts": None})
    yield store
    store.close()


def days(store: SQLStore) -> list[int]:
    """The partitions there are, as days from the first of the test."""
    first = micros(START) // 86_400_000_000
    with store.database.engine.connect() as connection:
        rows = connection.execute(
            text(
                "SELECT relname FROM pg_class"
                " WHERE relname LIKE 'rowmq_messages_2%' AND relkind = 'r' AND pg_table_is_visible(oid)"
            )
        )
        return sorted(int(name.rsplit("_", 1)[1]) - first for (name,) in rows)


def one_day(store: SQLStore, number: int, *, finish: bool = True) -> Message:
    """Sweep, push and, unless told otherwise, finish a message on a day."""
    now = START + number * DAY
    store.history.sweep(now=now)
    said = message(number)
    assert isinstance(store.push([Batch("q", [said])], now=now)[0], Pushed)
    if finish:
        (delivery,) = [one for one in store.claim("q", [Want(limit=10)], now=now)[0] if one.id == said.id]
        settle(store, delivery, now=now)
    return said


def seqs(store: SQLStore) -> list[int]:
    return [record.seq for record in store.history.find("q", limit=1000).records]


def test_each_day_has_a_partition_made_before_it_comes(store: SQLStore) -> None:
    assert days(store) == [-1, 0, 1, 2]
    one_day(store, 0)
    assert days(store) == [0, 1, 2, 3], "the day before was empty"


def test_a_month_of_days_leaves_those_within_retention(store: SQLStore) -> None:
    for number in range(30):
        one_day(store, number)
    assert days(store) == list(range(23, 33))
    assert [record.payload for record in store.history.find("q", limit=1000).records] == list(range(23, 30))
    assert seqs(store) == sorted(seqs(store))


def test_what_is_dropped_is_in_the_ledger(store: SQLStore) -> None:
    for number in range(10):
        one_day(store, number)
    entries = store.history.ledger("q")
    assert [(entry.action, entry.count) for entry in entries] == [("retention", 1)] * 3
    assert [entry.at for entry in entries] == [START + 7 * DAY, START + 8 * DAY, START + 9 * DAY]


def test_a_day_with_an_unfinished_message_is_not_dropped_until_it_is_finished(store: SQLStore) -> None:
    kept = one_day(store, 0, finish=False)
    for number in range(1, 20):
        one_day(store, number)
    assert days(store)[:2] == [0, 13]
    (delivery,) = store.claim("q", [Want(limit=10)], now=START + 60 * DAY)[0]
    assert delivery.id == kept.id
    settle(store, delivery, now=START + 60 * DAY)
    store.history.sweep(now=START + 68 * DAY)
    assert store.history.get(kept.id) is None
    assert days(store)[0] == 68


def test_ids_stay_unique_over_all_partitions(store: SQLStore) -> None:
    said = one_day(store, 0)
    one_day(store, 1)
    now = START + DAY
    (again,) = store.push([Batch("q", [said])], now=now)
    assert isinstance(again, Pushed)
    assert again.seen == {0}
    (other,) = store.push([Batch("q", [message("other", id=said.id)])], now=now)
    assert isinstance(other, DuplicateMessage)
    assert len(seqs(store)) == 2


def test_an_id_is_free_again_once_its_message_is_gone(store: SQLStore) -> None:
    said = one_day(store, 0)
    store.history.sweep(now=START + 10 * DAY)
    assert store.history.get(said.id) is None
    (again,) = store.push([Batch("q", [said])], now=START + 10 * DAY)
    assert isinstance(again, Pushed)
    assert again.seen == frozenset()
    store.queues.purge("q", now=START + 10 * DAY)
    (third,) = store.push([Batch("q", [said])], now=START + 10 * DAY)
    assert isinstance(third, Pushed)
    assert third.seen == frozenset()


def test_a_queue_that_requires_the_archive_holds_its_days(store: SQLStore) -> None:
    store.queues.put("q", {"archive": "required"})
    one_day(store, 0)
    store.history.sweep(now=START + 10 * DAY)
    assert days(store)[0] == 0
    store.history.archive(seqs(store), now=START + 10 * DAY)
    store.history.sweep(now=START + 10 * DAY)
    assert days(store)[0] == 10


def test_partitions_are_for_new_tables(postgres_url: str) -> None:
    open_store(postgres_url).close()
    with pytest.raises(InvalidURL, match="for new tables"):
        open_store(f"{postgres_url}&partitions=day")


def test_a_store_with_partitions_is_opened_without_saying_so(store: SQLStore, postgres_url: str) -> None:
    one_day(store, 0)
    other = open_store(postgres_url)
    other.history.sweep(now=START + 10 * DAY)
    other.close()
    assert days(store)[0] == 10


def test_results_are_kept_in_the_days_they_belong_to(store: SQLStore) -> None:
    said = one_day(store, 0, finish=False)
    ((delivery,),) = store.claim("q", [Want()], now=START)
    settle(store, delivery, Ack(b"7"), now=START)
    one_day(store, 1)
    found = store.history.get(said.id)
    assert found is not None
    assert found.result == b"7"
    assert [record.result for record in store.history.find("q").records] == [b"7", None]


def test_days_made_before_a_migration_are_migrated_with_the_others(postgres_url: str) -> None:
    """A database as the version before the runtime left it, with days, gets results in old days and new."""
    old = open_store(f"{postgres_url}&partitions=day", migrate=False, check=False)
    assert isinstance(old, SQLStore)
    old.migrator.run(upto=2)
    old.database.run(old.database.dialect.set_up)
    later = [each.name for each in migrations(old.database.dialect.package)[2:]]
    assert old.migrate() == later
    old.queues.put("q", {"max_attempts": None})
    for number in range(3):
        now = START + number * DAY
        said = one_day(old, number, finish=False)
        (delivery,) = [one for one in old.claim("q", [Want(limit=10)], now=now)[0] if one.id == said.id]
        settle(old, delivery, Ack(b"%d" % number), now=now)
    assert [record.result for record in old.history.find("q").records] == [b"0", b"1", b"2"]
    old.close()
