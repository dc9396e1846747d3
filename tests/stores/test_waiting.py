"""Waiting for messages: nobody sleeps through what came after a look that found nothing."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, cast

import pytest

from rowmq.core.delivery import Want
from rowmq.core.message import Batch
from rowmq.stores import open_store
from rowmq.testing.build import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.stores.sql.store import SQLStore

LONG = timedelta(seconds=20)


@pytest.fixture
def store(sql_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[SQLStore]:
    """A store that has told of a push, and so does not tell of another for a while."""
    monkeypatch.setattr("rowmq.stores.postgres.inserting.DEBOUNCE", 3600.0)
    with closing(cast("SQLStore", open_store(sql_url))) as store:
        store.queues.put("q")
        for _ in range(2):  # the first does not know the queue yet, and tells without remembering it
            store.push([Batch("q", [message()])])
        while claim(store):
            pass
        while store.wait(["q"], timedelta(milliseconds=50)):  # until what was told has been heard
            pass
        yield store


def claim(store: SQLStore) -> int:
    (found,) = store.claim("q", [Want(limit=10)])
    return len(found)


def test_a_push_between_an_empty_claim_and_the_wait_ends_the_wait(store: SQLStore) -> None:
    assert claim(store) == 0
    store.push([Batch("q", [message()])])
    began = time.monotonic()
    assert store.wait(["q"], LONG)
    assert time.monotonic() - began < LONG.total_seconds() / 2
    assert claim(store) == 1
