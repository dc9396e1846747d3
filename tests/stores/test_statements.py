"""Which statements a call sends: what a caller does not ask for costs it nothing."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, cast

import pytest

from rowmq.core.delivery import Settlement, Want
from rowmq.core.message import Batch
from rowmq.core.outcome import ACK, Ack, Outcome
from rowmq.core.queue import Rate
from rowmq.stores import open_store
from rowmq.testing.build import messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.stores.sql.store import SQLStore


class Noted(dict[str, str]):
    """Statements that note when they are looked up, which is when they are sent."""

    def __init__(self, statements: dict[str, str]) -> None:
        super().__init__(statements)
        self.sent: list[str] = []

    def __getitem__(self, name: str) -> str:
        if name not in self.sent:  # a claim may look from the beginning now and then, with the same statement
            self.sent.append(name)
        return super().__getitem__(name)


@pytest.fixture
def store(sql_url: str) -> Iterator[SQLStore]:
    with closing(cast("SQLStore", open_store(sql_url))) as store:
        store.queues.put("q")
        store.push([Batch("q", messages(20))])
        yield store


def claimed(store: SQLStore, **options: object) -> list[str]:
    """The statements of one claim that gets something."""
    noted = store.database.queries = Noted({**store.database.queries})
    assert len(store.claim("q", [Want(**options)])[0]) == 1  # type: ignore[arg-type]
    return noted.sent[:]


def usual(store: SQLStore, **options: object) -> list[str]:
    """The same for a claim on a queue that has been looked up."""
    claimed(store, **options)
    return claimed(store, **options)


def settled(store: SQLStore, outcome: Outcome) -> list[str]:
    """The statements that settle one message."""
    ((delivery,),) = store.claim("q", [Want()])
    noted = store.database.queries = Noted({**store.database.queries})
    assert store.settle([Settlement(delivery.receipt, outcome)]) == ["settled"]
    return noted.sent[:]


def test_only_a_queue_with_a_rate_pays_for_it(store: SQLStore) -> None:
    plain = usual(store)
    assert not [name for name in plain if "rate" in name]
    store.queues.put("q", {"rate": Rate(1, timedelta(milliseconds=1))})
    limited = claimed(store)
    assert [name for name in limited if "rate" in name] == ["rate_lock", "rate_make"]
    store.queues.put("q", {"rate": None})
    assert usual(store) == plain


def test_a_name_without_a_share_costs_nothing(store: SQLStore) -> None:
    assert usual(store, consumer="w", share=False) == usual(store)


def test_only_an_ack_with_a_result_pays_for_it(store: SQLStore) -> None:
    plain = settled(store, ACK)
    assert "keep_result" not in plain
    assert "hold" not in plain
    assert "keep_result" in settled(store, Ack(b"1"))
    assert settled(store, Ack()) == plain


def test_who_waits_again_and_again_does_not_ask_for_the_queue_each_time(store: SQLStore) -> None:
    store.wait(["q"], timedelta(0))
    noted = store.database.queries = Noted({**store.database.queries})
    store.wait(["q"], timedelta(0))
    assert "queues_by_name" not in noted.sent
    store.wait(["q", "none"], timedelta(0))
    assert "queues_by_name" in noted.sent
