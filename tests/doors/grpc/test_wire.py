"""GOMQ's wire: what a client sends and gets that knows fields by their numbers, and nothing of our code."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import grpc
import pytest

from rowmq.doors.grpc.inbox import PATIENCE
from rowmq.doors.grpc.serving import Settings
from rowmq.runtime.config_sections import ServerConfig
from rowmq.stores.memory import MemoryStore
from tests.doors.grpc.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTES = 2
"""The wire type of texts, bytes and messages."""


def field(number: int, value: bytes) -> bytes:
    assert len(value) < 128  # so that its length is one byte
    return bytes([number << 3 | BYTES, len(value)]) + value


def fields(said: bytes) -> list[tuple[int, bytes]]:
    """The fields of a message, all of them short texts, bytes or messages."""
    found = []
    while said:
        tag, length = said[0], said[1]
        assert (tag & 7, length < 128) == (BYTES, True)
        found.append((tag >> 3, said[2 : 2 + length]))
        said = said[2 + length :]
    return found


@pytest.fixture
def channel() -> Iterator[grpc.Channel]:
    with serving(MemoryStore()) as address, grpc.insecure_channel(address) as found:
        yield found


def ask(channel: grpc.Channel, method: str, said: bytes) -> bytes:
    """Send bytes, get bytes: without serializers nothing is encoded here."""
    call: Any = channel.unary_unary(f"/routeguide.RouteGuide/{method}")
    answer: bytes = call(said, timeout=10)
    return answer


def test_the_four_calls_have_gomqs_names_fields_and_numbers(channel: grpc.Channel) -> None:
    before = datetime.now().astimezone()
    done = b""  # Result{code=1} of 0, which is not written
    assert ask(channel, "Subscribe", field(1, b"orders") + field(2, b"billing")) == done
    assert ask(channel, "Publish", field(1, b"orders") + field(2, b"\x00seven")) == done
    ((number, record),) = fields(ask(channel, "Observe", field(1, b"billing")))
    assert number == 1
    (key, value) = fields(record)
    assert (key, value[0]) == ((1, b"orders"), 2)
    id, timestamp, payload = fields(value[1])
    assert (id[0], timestamp[0], payload) == (1, 2, (3, b"\x00seven"))
    assert UUID(id[1].decode()).version
    said = datetime.fromisoformat(timestamp[1].decode())
    assert said.utcoffset() == timedelta(0)
    assert before - timedelta(seconds=1) < said < before + timedelta(minutes=1)
    assert ask(channel, "Unsubscribe", field(1, b"orders") + field(2, b"billing")) == done
    assert ask(channel, "Observe", field(1, b"billing")) == b""  # RecordSet of no records


def test_by_default_it_is_gomqs_port_and_a_peer_may_be_silent_for_thirty_seconds() -> None:
    assert ServerConfig().grpc_port == 10001
    assert Settings().patience == PATIENCE == timedelta(seconds=30)
