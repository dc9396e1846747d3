"""Finished messages for RowMQ: by SQL where there is SQL, and by its own calls on Redis."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy import text

from rowmq.core.delivery import Settlement, Want
from rowmq.core.message import Batch, Message
from rowmq.core.outcome import ACK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

NUMBERS = {
    "sqlite": (
        "WITH RECURSIVE counted(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM counted WHERE n < {last})"
        " SELECT n FROM counted"
    ),
    "postgresql": "SELECT generate_series({first}, {last}) AS n",
    "mysql": "SELECT seq AS n FROM seq_{first}_to_{last}",
}
IDS = {
    "sqlite": "randomblob(16)",
    "postgresql": "gen_random_uuid()",
    "mysql": "UNHEX(REPLACE(UUID(), '-', ''))",
}
MESSAGES = """INSERT INTO rowmq_messages (id, queue, body, {binary}, priority, created_at)
SELECT {id}, (SELECT id FROM rowmq_queues WHERE name = 'q'), :body, false, 0, {begin} + n
FROM ({numbers}) AS numbers ORDER BY n"""
OUTCOMES = """INSERT INTO rowmq_outcomes (seq, queue, state, finished_at, attempts, receives)
SELECT seq, queue, 'done', created_at, 1, 1 FROM rowmq_messages WHERE seq > {last} ORDER BY seq"""
LAST = "SELECT coalesce(max(seq), 0) FROM rowmq_messages"
STEP = 500_000
"""Messages of one transaction."""
CALL = 5000
"""Messages of one call, where they go through the store's own calls."""
MOST = 500_000
"""As many as go through a store's own calls: more would take too long."""


def seed_sql(engine: Engine, finished: int, body: str) -> int:
    """Messages as they are after their ack, finished just now: older ones would be swept meanwhile."""
    kind, begin = engine.dialect.name, time.time_ns() // 1000 - finished
    known = {"id": IDS[kind], "binary": "`binary`" if kind == "mysql" else '"binary"', "begin": begin}
    for first in range(1, finished + 1, STEP):
        numbers = NUMBERS[kind].format(first=first, last=min(first + STEP - 1, finished))
        with engine.begin() as connection:
            last = connection.execute(text(LAST)).scalar_one()
            connection.execute(text(MESSAGES.format(numbers=numbers, **known)), {"body": body.encode()})
            connection.execute(text(OUTCOMES.format(last=last)))
    return finished


def seed_calls(store: Any, finished: int, body: str) -> int:
    """Push, claim and ack in large batches: how a store lays things out is its own affair."""
    count = min(finished, MOST)
    for messages in _batches(count, body.encode()):
        store.push([Batch("q", messages)])
        (claimed,) = store.claim("q", [Want(limit=len(messages))])
        store.settle([Settlement(each.receipt, ACK) for each in claimed])
    return count


def _batches(count: int, body: bytes) -> Iterator[list[Message]]:
    for done in range(0, count, CALL):
        yield [Message(id=uuid4(), body=body) for _ in range(min(CALL, count - done))]
