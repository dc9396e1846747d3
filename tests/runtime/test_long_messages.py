"""A worker takes long messages few at a time, and keeps few of them waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rowmq.runtime import fetcher
from tests.runtime.working import eventually, working

if TYPE_CHECKING:
    from datetime import datetime

    import rowmq
    from rowmq import ClaimedMessage
    from rowmq.core.delivery import Delivery, Want

MANY = 2000


@pytest.fixture(autouse=True)
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a claim bring about ten kilobytes, and thirty wait."""
    monkeypatch.setattr(fetcher, "CLAIMED", 10_000)
    monkeypatch.setattr(fetcher, "WAITING", 30_000)


@pytest.fixture
def claims(memory: rowmq.Client, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many messages each claim has brought."""
    brought: list[int] = []
    claim = memory.store.claim

    def noted(queue: str, wants: list[Want], *, now: datetime | None = None) -> list[list[Delivery]]:
        found = claim(queue, wants, now=now)
        brought.append(sum(map(len, found)))
        return found

    monkeypatch.setattr(memory.store, "claim", noted)
    return brought


def most_waiting(mq: rowmq.Client, payload: object) -> int:
    """Handle many quick messages with two hands, and tell how many waited for a hand at most."""
    q, most = mq.queue("q"), [0]

    @q.handler
    def handle(_: ClaimedMessage) -> None:
        waiting = sum(not each.started for each in worker.held())
        most.append(max(most[-1], waiting))

    with working(mq, concurrency=2) as worker:
        q.push_many([payload] * MANY)
        eventually(lambda: q.stats().done == MANY)
    return most[-1]


def test_a_claim_of_long_messages_is_small(memory: rowmq.Client, claims: list[int]) -> None:
    most_waiting(memory, b"x" * 1000)
    assert 2 < max(claims) <= 10


def test_few_long_messages_wait(memory: rowmq.Client) -> None:
    assert 2 < most_waiting(memory, b"x" * 1000) <= 2 + 30


def test_a_message_longer_than_all_that_is_taken_comes_alone(memory: rowmq.Client, claims: list[int]) -> None:
    most_waiting(memory, b"x" * 20_000)
    assert set(list(filter(None, claims))[1:]) == {1}


def test_short_messages_come_many_at_a_time_and_many_wait(memory: rowmq.Client, claims: list[int]) -> None:
    assert most_waiting(memory, b"x") > 100
    assert max(claims) > 100
