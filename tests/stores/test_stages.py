"""What bulk writers stage counts together, once, under every rule of a push."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from rowmq import DuplicateMessage, InvalidSetting, QueueFull, QueueNotFound, StoreUnavailable
from rowmq.core.chunk import Past
from rowmq.core.message import Message
from rowmq.core.outcome import Reason, State
from rowmq.core.store import BATCHES_KEPT, STAGES_KEPT
from rowmq.engine import Batch, Want, message
from rowmq.stores.sql.store import SQLStore
from tests.stores.places import Place, opened


@pytest.fixture
def store(sql_place: Place) -> Iterator[SQLStore]:
    with opened(sql_place) as store:
        assert isinstance(store, SQLStore)
        store.queues.put("q")
        yield store


def messages(count: int, **about: Any) -> list[Message]:
    return [message(number, **about) for number in range(count)]


def bodies(store: SQLStore, queue: str = "q") -> list[bytes]:
    return [record.body or b"" for record in store.history.find(queue, limit=1000).records]


def rows(store: SQLStore, table: str) -> int:
    with store.database.engine.connect() as connection:
        return int(connection.execute(text(f"SELECT COUNT(*) FROM rowmq_{table}")).scalar_one())


def commit(store: SQLStore, stages: dict[str, int], *, number: int = 0, **to: Any) -> bool:
    return store.stages.commit("job", stages, writer="w", number=number, **(to or {"queue": "q"}))


def test_staged_messages_are_seen_by_nobody_until_they_are_committed(store: SQLStore) -> None:
    store.stages.put("job", "a", 0, messages(3))
    assert bodies(store) == []
    assert commit(store, {"a": 3})
    assert bodies(store) == [b"0", b"1", b"2"]
    assert len(store.claim("q", [Want(limit=10)])[0]) == 3
    assert rows(store, "stages") == 0


def test_stages_are_pushed_in_the_order_they_are_named_and_parts_in_theirs(store: SQLStore) -> None:
    said = messages(6)
    store.stages.put("job", "a", 1, said[4:])
    store.stages.put("job", "a", 0, said[2:4])
    store.stages.put("job", "b", 0, said[:2])
    assert commit(store, {"b": 2, "a": 4})
    assert bodies(store) == [b"%d" % number for number in range(6)]


def test_a_batch_that_was_committed_is_not_pushed_again(store: SQLStore) -> None:
    store.stages.put("job", "a", 0, messages(2))
    assert commit(store, {"a": 2}, number=7)
    store.stages.put("job", "b", 0, messages(2))
    assert not commit(store, {"b": 2}, number=7)
    assert not commit(store, {"b": 2}, number=6)
    assert len(bodies(store)) == 2
    assert rows(store, "stages") == 0
    store.stages.put("job", "c", 0, messages(1))
    assert commit(store, {"c": 1}, number=8)
    assert (len(bodies(store)), rows(store, "batches")) == (3, 1)
    assert (store.stages.last("w"), store.stages.last("other")) == (8, None)


@pytest.mark.parametrize("promised", [{"a": 3}, {"a": 1}, {"a": 2, "b": 1}])
def test_nothing_is_pushed_if_not_all_is_there_that_was_promised(
    store: SQLStore, promised: dict[str, int]
) -> None:
    store.stages.put("job", "a", 0, messages(2))
    with pytest.raises(StoreUnavailable, match="nothing was written"):
        commit(store, promised)
    assert bodies(store) == []
    assert commit(store, {"a": 2})


def test_what_failed_attempts_have_staged_is_not_pushed_and_goes_with_the_job(store: SQLStore) -> None:
    store.stages.put("job", "failed", 0, messages(5))
    store.stages.put("job", "a", 0, messages(1))
    store.stages.put("other", "a", 0, messages(1))
    assert commit(store, {"a": 1})
    assert (len(bodies(store)), rows(store, "stages")) == (1, 1)
    store.stages.drop("other")
    assert rows(store, "stages") == 0


def test_a_part_that_is_put_again_is_there_once(store: SQLStore) -> None:
    store.stages.put("job", "a", 0, messages(2))
    store.stages.put("job", "a", 0, messages(2))
    assert commit(store, {"a": 2})
    assert len(bodies(store)) == 2


def test_every_rule_of_a_push_holds_for_what_was_staged(store: SQLStore) -> None:
    store.queues.put("q", {"max_length": 4})
    store.stages.put("job", "a", 0, [*messages(2, key="same"), *messages(2, group="g")])
    assert commit(store, {"a": 4})
    assert len(bodies(store)) == 3
    assert len(store.claim("q", [Want(limit=10)])[0]) == 2
    store.stages.put("job", "b", 0, messages(1))
    store.stages.put("job", "b", 1, messages(1))
    with pytest.raises(QueueFull):
        commit(store, {"b": 2}, number=1)
    assert len(bodies(store)) == 3
    with pytest.raises(QueueNotFound):
        commit(store, {"b": 2}, number=1, queue="none")
    with pytest.raises(InvalidSetting, match="either a queue or a topic"):
        commit(store, {"b": 2}, number=1, queue="q", topic="t")


def test_a_topic_gets_a_copy_for_each_bound_queue(store: SQLStore) -> None:
    store.queues.put("r")
    store.topics.bind("t", "q")
    store.topics.bind("t", "r")
    store.stages.put("job", "a", 0, messages(2))
    assert commit(store, {"a": 2}, topic="t")
    assert (bodies(store), bodies(store, "r")) == ([b"0", b"1"], [b"0", b"1"])


@pytest.mark.parametrize("known", [False, True])
def test_messages_that_are_stored_already_count_as_seen(store: SQLStore, *, known: bool) -> None:
    said = messages(3)
    store.push([Batch("q", said[:1])])
    store.stages.put("job", "a", 0, said)
    assert commit(store, {"a": 3}, queue="q", known_ids=known)
    assert bodies(store) == [b"0", b"1", b"2"]
    store.stages.put("job", "b", 0, [replace(said[0], body=b"9")])
    with pytest.raises(DuplicateMessage):
        commit(store, {"b": 1}, number=1)


def test_what_nobody_commits_is_swept_after_its_time(store: SQLStore) -> None:
    store.stages.put("job", "a", 0, messages(1))
    store.stages.put("job", "b", 0, messages(1))
    now = store.now()
    assert store.history.sweep(now=now + STAGES_KEPT - timedelta(minutes=1)).forgotten == 0
    assert store.history.sweep(now=now + STAGES_KEPT + timedelta(minutes=1)).forgotten == 2
    commit(store, {})
    assert store.history.sweep(now=now + BATCHES_KEPT - timedelta(minutes=1)).forgotten == 0
    assert store.history.sweep(now=now + BATCHES_KEPT + timedelta(minutes=1)).forgotten == 1
    assert (rows(store, "stages"), rows(store, "batches")) == (0, 0)


def pasts(store: SQLStore) -> list[Past]:
    old = store.now() - timedelta(days=1)
    ended = old + timedelta(minutes=1)
    return [
        Past(created_at=old, attempts=2, error="first try"),
        Past(created_at=old, attempts=1, state=State.DONE, started_at=old, finished_at=ended),
        Past(
            created_at=old, attempts=5, state=State.DEAD, reason=Reason.KILLED, finished_at=ended, error="no"
        ),
    ]


@pytest.mark.parametrize("fifo", [False, True])
def test_messages_with_a_past_go_on_where_they_were(store: SQLStore, *, fifo: bool) -> None:
    store.queues.put("q", {"fifo": fifo})
    said, before = messages(3), pasts(store)
    store.stages.put("job", "a", 0, said, pasts=before)
    assert commit(store, {"a": 3})
    found = [store.history.get(each.id) for each in said]
    assert [record and record.state for record in found] == [State.READY, State.DONE, State.DEAD]
    assert [record and record.attempts for record in found] == [2, 1, 5]
    assert [record and record.created_at for record in found] == [past.created_at for past in before]
    assert [record and record.finished_at for record in found] == [past.finished_at for past in before]
    assert [[each.error for each in store.history.failures(one.id)] for one in said] == [
        ["first try"],
        [],
        ["no"],
    ]
    assert [delivery.attempt for delivery in store.claim("q", [Want(limit=9)])[0]] == [3]


def test_a_past_is_given_once_and_changes_nothing_that_has_happened_here(store: SQLStore) -> None:
    said, before = messages(3), pasts(store)
    store.stages.put("job", "a", 0, said, pasts=before)
    commit(store, {"a": 3})
    store.claim("q", [Want(limit=9)])
    store.stages.put("job", "b", 0, [*said, message("new")], pasts=[*before, before[1]])
    assert commit(store, {"b": 4}, number=1, queue="q", known_ids=True)
    found = store.history.find("q").records
    assert [record.state for record in found] == [State.LEASED, State.DONE, State.DEAD, State.DONE]
    assert rows(store, "failures") == 2
