"""Messages packed together are the same when they are unpacked."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from rowmq import InvalidMessage
from rowmq.core.chunk import Past, pack, unpack
from rowmq.core.message import Message
from rowmq.core.outcome import Reason, State

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
FULL = Message(
    id=uuid4(),
    body=b"\x00\xff",
    binary=True,
    metadata={"é": "\U0001f600"},
    at=NOW,
    priority=9,
    deadline=NOW + timedelta(days=1),
    key="k",
    window=timedelta(minutes=1),
    group="g",
)
DELAYED = Message(id=uuid4(), body=b"[1, 2]", delay=timedelta(seconds=5))


@pytest.mark.parametrize(
    "messages", [[], [Message(id=uuid4(), body=b"1")], [FULL], [Message(id=uuid4(), body=b""), FULL, DELAYED]]
)
def test_messages_come_out_of_a_chunk_as_they_went_in(messages: list[Message]) -> None:
    assert unpack(pack(messages)) == (messages, None)


def test_pasts_come_out_of_a_chunk_with_their_messages() -> None:
    pasts = [
        Past(created_at=NOW),
        Past(
            created_at=NOW,
            attempts=3,
            state=State.DEAD,
            reason=Reason.EXHAUSTED,
            started_at=NOW,
            finished_at=NOW,
            error="no\n",
        ),
    ]
    assert unpack(pack([FULL, DELAYED], pasts)) == ([FULL, DELAYED], pasts)


def test_what_says_nothing_takes_no_room() -> None:
    plain = [Message(id=uuid4(), body=b"1") for _ in range(1000)]
    assert len(pack(plain)) < 1000 * (16 + 1 + 3)


def test_a_past_ends_done_or_dead_or_not_at_all() -> None:
    with pytest.raises(InvalidMessage, match="done or dead"):
        Past(created_at=NOW, state=State.READY)
    with pytest.raises(InvalidMessage, match="0 times or more"):
        Past(created_at=NOW, attempts=-1)
