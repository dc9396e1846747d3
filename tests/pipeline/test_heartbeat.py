"""The thread that keeps a batch's lease, at the edge of the store's protocol: what changes while it asks."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rowmq.core.delivery import Claim
from rowmq.core.errors import StoreUnavailable
from rowmq.pipeline.stream.heartbeat import Heartbeat

FIRST, LATER = Claim("query/1", b"1" * 16), Claim("query/2", b"2" * 16)
NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize("away", [False, True])
def test_a_claim_that_is_held_while_the_one_before_is_found_gone_is_kept(away: bool) -> None:
    kept = threading.Event()

    class Edge:
        def extend(self, claims: list[Claim], lease: timedelta) -> Any:
            if claims == [LATER]:
                kept.set()
                return [NOW]
            beat.hold(LATER, timedelta(seconds=0.03))  # as the query does when it has acked the first
            if away:
                raise StoreUnavailable("away")
            return [None]

    edge: Any = Edge()
    beat = Heartbeat(edge)
    beat._held = FIRST, timedelta(hours=1)
    beat._beat()
    assert beat._held == (LATER, timedelta(seconds=0.03))
    assert beat._pause == pytest.approx(0.01)
    assert kept.wait(60)


def test_nothing_is_kept_after_what_was_held_is_dropped_while_the_store_is_asked() -> None:
    class Edge:
        def extend(self, claims: list[Claim], lease: timedelta) -> Any:
            beat.drop()
            return [NOW]

    edge: Any = Edge()
    beat = Heartbeat(edge)
    beat._held = FIRST, timedelta(seconds=1)
    beat._beat()
    assert beat._pause is None  # or the thread would wake for nothing


def test_a_claim_that_is_gone_is_asked_for_once() -> None:
    asked = []

    class Edge:
        def extend(self, claims: list[Claim], lease: timedelta) -> Any:
            asked.append(claims)
            return [None]

    edge: Any = Edge()
    beat = Heartbeat(edge)
    beat._held = FIRST, timedelta(seconds=1)
    for _ in range(2):
        beat._beat()
    assert asked == [[FIRST]]
