"""A plain claim on PostgreSQL and SQLite: one look, with the same result as the longer way."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from rowmq.core.delivery import Settlement, Want
from rowmq.core.errors import QueueNotFound
from rowmq.core.message import Batch, Pushed
from rowmq.core.outcome import ACK, Reason, Retry, Settled, State
from rowmq.core.queue import Guarantee, Rate
from rowmq.stores import open_store
from rowmq.stores.sql import floors
from rowmq.testing.build import message, messages
from tests.stores.callers import calling
from tests.stores.proxy import proxied
from tests.stores.test_statements import Noted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.core.delivery import Delivery
    from rowmq.core.message import Message
    from rowmq.stores.sql.store import SQLStore

NOW = datetime(2030, 5, 17, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def paid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every claim look from the beginning that wants to."""
    monkeypatch.setattr(floors, "SHARE", 0)


@pytest.fixture(params=("postgres", "sqlite"))
def store(request: pytest.FixtureRequest) -> Iterator[SQLStore]:
    with closing(idle(request.getfixturevalue(f"{request.param}_url"))) as store:
        yield store


@pytest.fixture
def postgres(postgres_url: str) -> Iterator[SQLStore]:
    with closing(idle(postgres_url)) as store:
        yield store


def idle(url: str) -> SQLStore:
    """A store whose queue has been found empty."""
    store = cast("SQLStore", open_store(url))
    store.queues.put("q", now=NOW)
    assert claim(store) == []
    return store


def claim(store: SQLStore, *, now: datetime = NOW, **want: Any) -> list[Delivery]:
    (found,) = store.claim("q", [Want(**{"limit": 10, **want})], now=now)
    return found


def push(store: SQLStore, *new: Message, now: datetime = NOW) -> None:
    (answer,) = store.push([Batch("q", new)], now=now)
    assert isinstance(answer, Pushed), answer


def sent(store: SQLStore, **options: Any) -> list[str]:
    """The named statements of one claim."""
    noted = store.database.queries = Noted({**store.database.queries})
    claim(store, **options)
    return noted.sent[:]


def is_at_once(names: list[str]) -> bool:
    """Whether these are the statements of a claim at once; SQLite asks another for what it has claimed."""
    return set(names) <= {"claim_at_once", "claimed_at_once"}


# ---- what it costs -----------------------------------------------------------------------------------------


def test_a_claim_and_an_ack_are_a_round_trip_each(postgres: SQLStore, postgres_url: str) -> None:
    push(postgres, message())
    with proxied(postgres_url) as (way, proxy), closing(cast("SQLStore", open_store(way))) as far:
        assert len(claim(far)) == 1
        push(postgres, message())
        before = proxy.requests
        (found,) = claim(far)
        assert proxy.requests == before + 1
        assert far.settle([Settlement(found.receipt, ACK)], now=NOW) == [Settled.SETTLED]
        assert proxy.requests == before + 2


def test_an_empty_queue_is_found_empty_with_one_statement(store: SQLStore) -> None:
    assert is_at_once(sent(store))


def test_a_claim_after_a_full_one_starts_at_the_floors_and_looks_again_if_that_is_in_vain(
    postgres: SQLStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(floors, "LONGEST", float("inf"))
    long = {"limit": 1, "lease": timedelta(hours=1)}
    push(postgres, message("late"), now=NOW + MINUTE)
    assert [each.payload for each in claim(postgres, now=NOW + MINUTE, **long)] == ["late"]
    push(postgres, message("below"))
    push(postgres, message("above"), now=NOW + 2 * MINUTE)
    assert [each.payload for each in claim(postgres, now=NOW + 2 * MINUTE, **long)] == ["above"]
    assert [each.payload for each in claim(postgres, now=NOW + 2 * MINUTE, **long)] == ["below"]
    assert sent(postgres, now=NOW + 2 * MINUTE, **long) == ["claim_at_once"]


def test_what_was_tried_before_is_no_reason_to_look_longer(store: SQLStore) -> None:
    push(store, message())
    (held,) = claim(store)
    store.settle([Settlement(held.receipt, Retry(delay=timedelta(0)))], now=NOW)
    assert is_at_once(sent(store))


def test_a_message_that_is_settled_twice_is_settled_in_one_transaction(store: SQLStore) -> None:
    push(store, *messages(2))
    one, other = claim(store)
    acks = [Settlement(one.receipt, ACK), Settlement(other.receipt._replace(token=b"x" * 16), ACK)]
    assert store.settle(acks, now=NOW) == [Settled.SETTLED, Settled.LOST]
    assert store.settle([acks[0], acks[0]], now=NOW) == [Settled.REPEATED] * 2


@pytest.mark.parametrize(
    "rule",
    [
        {"paused": True},
        {"rate": Rate(1, MINUTE)},
        {"max_age": MINUTE},
        {"delivery": Guarantee.AT_MOST_ONCE},
    ],
    ids=str,
)
def test_a_queue_with_a_rule_is_asked_once_and_then_left_alone(store: SQLStore, rule: dict[str, Any]) -> None:
    store.queues.put("q", rule)
    assert sent(store)[0] == "claim_at_once"
    assert "claim_at_once" not in sent(store)
    store.queues.put("q", {name: None for name in rule if name not in ("paused", "delivery")})
    store.queues.put("q", {"paused": False, "delivery": Guarantee.AT_LEAST_ONCE})
    claim(store)
    assert is_at_once(sent(store))


# ---- the same result ---------------------------------------------------------------------------------------


def shown(delivery: Delivery) -> dict[str, Any]:
    """All that a holder sees, but for what is the message's own."""
    said = delivery._asdict()
    return {name: value for name, value in said.items() if name not in ("uid", "seq", "token")}


@pytest.mark.parametrize(
    "want", [{}, {"lease": timedelta(hours=1), "consumer": "w", "share": False}], ids=str
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"payload": b"\0\xff", "priority": 9},
        {"payload": {"a": 1}, "metadata": {"k": "v ☃"}, "group": "g"},
        {"deadline": NOW + timedelta(seconds=5)},
        {"deadline": NOW - timedelta(seconds=5)},
    ],
    ids=["plain", "binary", "group", "deadline", "past deadline"],
)
def test_a_delivery_is_what_the_longer_way_delivers(
    store: SQLStore, want: dict[str, Any], options: dict[str, Any]
) -> None:
    push(store, message(**options))
    (short,) = claim(store, **want)
    store.settle([Settlement(short.receipt, ACK)], now=NOW)
    push(store, message(**options))
    (long,), _ = store.claim("q", [Want(**want), Want()], now=NOW)
    assert shown(short) == shown(long)
    one, other = (store.history.get(each.id, now=NOW) for each in (short, long))
    assert one is not None
    assert other is not None
    assert (one.consumer, one.started_at, one.attempts) == (other.consumer, other.started_at, other.attempts)


def test_what_is_long_or_empty_or_not_text_comes_as_it_was(store: SQLStore) -> None:
    payloads = [
        b"",
        b"\0",
        b"\xff" * 8192,
        b"\xfe" * 8193,
        "☃",
        b"\0long" * 10_000,
        {"a": ["x"] * 5000},
        b"end",
    ]
    push(store, *(message(payload) for payload in payloads))
    assert [each.payload for each in claim(store)] == payloads


def test_messages_come_by_priority_and_then_by_time(store: SQLStore) -> None:
    push(store, message("c", priority=1), message("d"), now=NOW)
    push(store, message("a", priority=9), now=NOW)
    push(store, message("e"), now=NOW + MINUTE)
    push(store, message("b", priority=9), now=NOW + MINUTE)
    found = claim(store, now=NOW + MINUTE)
    assert [each.payload for each in found] == ["a", "b", "c", "d", "e"]


def test_each_of_many_that_differ_comes_with_what_is_its_own(store: SQLStore) -> None:
    push(store, message("tried"))
    (tried,) = claim(store)
    store.settle([Settlement(tried.receipt, Retry())], now=NOW)
    push(store, message("usual"), message(b"binary"), message("noted", metadata={"k": "v"}))
    push(store, message("urgent", priority=3), message("grouped", group="g"), message("usual too"))
    push(store, message("delayed", delay=MINUTE), now=NOW - MINUTE / 2)
    found = claim(store, now=NOW + MINUTE, limit=9)
    assert [(each.payload, each.priority, each.binary, each.metadata, each.group) for each in found] == [
        ("urgent", 3, False, {}, None),
        ("tried", 0, False, {}, None),
        ("usual", 0, False, {}, None),
        (b"binary", 0, True, {}, None),
        ("noted", 0, False, {"k": "v"}, None),
        ("grouped", 0, False, {}, "g"),
        ("usual too", 0, False, {}, None),
        ("delayed", 0, False, {}, None),
    ]
    assert [each.attempt for each in found] == [1, 2, 1, 1, 1, 1, 1, 1]
    assert [each.created_at for each in found] == [NOW] * 7 + [NOW - MINUTE / 2]


def test_the_first_of_many_are_taken_and_can_be_settled_once(store: SQLStore) -> None:
    push(store, *messages(15))
    found = claim(store)
    assert [each.payload for each in found] == list(range(10))
    acks = [Settlement(each.receipt, ACK) for each in found]
    assert store.settle(acks, now=NOW) == [Settled.SETTLED] * 10
    assert store.settle(acks, now=NOW) == [Settled.REPEATED] * 10
    assert [each.payload for each in claim(store)] == list(range(10, 15))


def test_what_another_transaction_holds_is_skipped(postgres: SQLStore, postgres_url: str) -> None:
    push(postgres, *messages(3))
    with calling(postgres_url, "driver") as outside:
        outside.run("SELECT seq FROM rowmq_pending ORDER BY seq LIMIT 1 FOR UPDATE")
        assert [each.payload for each in claim(postgres)] == [1, 2]
        outside.rollback()
    assert [each.payload for each in claim(postgres)] == [0]


def test_a_message_whose_holder_vanished_is_delivered_and_that_is_noted(store: SQLStore) -> None:
    push(store, message())
    (first,) = claim(store, consumer="gone", share=False)
    later = NOW + timedelta(days=1)
    assert claim(store) == []
    (second,) = claim(store, now=later)
    assert (second.id, second.attempt) == (first.id, 2)
    (failure,) = store.history.failures(first.id)
    assert failure.consumer == "gone"


def test_a_message_that_may_not_be_tried_again_is_buried(store: SQLStore) -> None:
    push(store, message())
    (held,) = claim(store)
    store.settle([Settlement(held.receipt, Retry(delay=timedelta(0)))], now=NOW)
    assert claim(store, limit=1)
    store.queues.put("q", {"max_attempts": 2}, now=NOW)
    push(store, message("next"), now=NOW + timedelta(days=1))
    (found,) = claim(store, now=NOW + timedelta(days=1))
    assert found.payload == "next"
    record = store.history.get(held.id, now=NOW)
    assert record is not None
    assert (record.state, record.reason) == (State.DEAD, Reason.EXHAUSTED)


def test_a_rule_given_to_a_queue_holds_from_its_next_claim_on(store: SQLStore) -> None:
    push(store, *messages(5))
    store.queues.put("q", {"paused": True, "lease": timedelta(hours=1)})
    assert claim(store) == []
    store.queues.put("q", {"paused": False, "rate": Rate(2, timedelta(hours=1))})
    assert len(claim(store)) == 2
    store.queues.put("q", {"rate": None, "max_age": MINUTE})
    assert claim(store, now=NOW + MINUTE) == []
    assert store.queues.stats("q").dead == 3


def test_the_floors_of_a_queue_are_not_those_of_one_made_anew_under_its_name(
    postgres: SQLStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(floors, "LONGEST", float("inf"))
    later = NOW + MINUTE
    push(postgres, message("old"), now=later)
    assert len(claim(postgres, now=later, limit=1)) == 1
    postgres.queues.drop("q")
    postgres.queues.put("q", now=NOW)
    push(postgres, message("early"))
    push(postgres, message("late"), now=later)
    assert [each.payload for each in claim(postgres, now=later, limit=1)] == ["early"]


def test_a_queue_that_is_gone_is_unknown_and_one_made_anew_is_another(store: SQLStore) -> None:
    push(store, message("old"))
    store.queues.drop("q")
    store.queues.put("q", now=NOW)
    push(store, message("new"))
    assert [each.payload for each in claim(store)] == ["new"]
    store.queues.drop("q")
    with pytest.raises(QueueNotFound):
        claim(store)


def test_a_file_whose_text_is_utf_16_is_read_the_longer_way(sqlite_url: str) -> None:
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection:
        connection.execute("PRAGMA encoding = 'UTF-16'")
        connection.execute("CREATE TABLE theirs (a)")
    with closing(idle(sqlite_url)) as store:
        push(store, message(b"\0\xff\xd8"))
        assert [each.payload for each in claim(store)] == [b"\0\xff\xd8"]
