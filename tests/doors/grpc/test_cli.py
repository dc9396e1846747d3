"""What the command line shows of those who observe over gRPC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import rowmq
from rowmq.doors.grpc.inbox import PATIENCE, Inboxes, alive

if TYPE_CHECKING:
    from tests.doors.program import Program


@pytest.fixture
def observed(rowmq_program: Program) -> Program:
    with rowmq.connect("sqlite:///rowmq.db") as mq:
        inboxes = Inboxes(mq.store, server="here", run="one", alive=alive(PATIENCE))
        for consumer, key, peer in (
            ("a", "orders", "ipv4:1"),
            ("a", "bills", "ipv4:2"),
            ("b", "bills", "ipv4:3"),
        ):
            inboxes.complete(consumer, key, peer, lambda *_: None)
        mq.topic("orders").subscribe("billing")
    return rowmq_program


def test_topics_show_the_consumers_of_each_key(observed: Program) -> None:
    found = {each["topic"]: each for each in observed("topics", "--json").json}
    assert found["orders"] == {"topic": "orders", "queues": ["billing"], "consumers": ["a"]}
    assert found["bills"] == {"topic": "bills", "queues": [], "consumers": ["a", "b"]}


def test_consumers_show_keys_peers_and_the_last_action(observed: Program) -> None:
    found = observed("consumers", "--json").json
    pairs = {(each["consumer"], each["key"], each["name"]) for each in found}
    assert pairs == {
        *(("a", key, peer) for key in ("orders", "bills") for peer in ("ipv4:1", "ipv4:2")),
        ("b", "bills", "ipv4:3"),
    }
    for each in found:
        last = datetime.fromisoformat(each["last_action"])
        assert timedelta(0) <= datetime.now(UTC) - last < timedelta(minutes=1)


def test_people_see_them_too(observed: Program) -> None:
    assert "last_action" in observed("consumers").out.replace(" ", "_").lower()
