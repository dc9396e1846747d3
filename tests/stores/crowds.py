"""Queues crowded with messages in every state, put there quickly and without the store's help."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from sqlalchemy import text

from rowmq.core.clock import micros
from rowmq.core.delivery import Settlement, Want
from rowmq.core.message import Batch, Message
from rowmq.core.outcome import ACK
from rowmq.testing.build import T0
from tests.stores.work import counting

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from rowmq.stores.sql.store import SQLStore

BODY = b'{"text":"' + b"x" * 189 + b'"}'
ROUNDS = 16
"""Enough for PostgreSQL to have gone from plans for these values to plans for any values."""
MEASURED = 5
_PUSHED, _LATER = micros(T0) - 3_600_000_000, micros(T0) + 86_400_000_000
_DIGITS = " UNION ALL SELECT ".join("0 AS n" if digit == 0 else str(digit) for digit in range(10))
_IDS = {
    "sqlite": "CAST(printf('%016d', {}) AS BLOB)",
    "postgresql": "CAST(lpad(to_hex({}), 32, '0') AS uuid)",
    "mysql": "CAST(LPAD({}, 16, '0') AS BINARY(16))",
    "mariadb": "CAST(LPAD({}, 16, '0') AS BINARY(16))",
}


class Crowd(NamedTuple):
    """How many messages a queue holds in each state; what is scheduled has five priorities."""

    finished: int = 0
    waiting: int = 0
    scheduled: int = 0
    leased: int = 0
    grouped: int = 0
    groups: int = 0


class Scene(NamedTuple):
    """A crowd, and the small one it is compared with; each time some more fall due and some are asked for."""

    name: str
    crowd: Crowd
    small: Crowd = Crowd()
    due: int = 1
    limit: int = 1


class Round(NamedTuple):
    """One claim and its ack: how many messages, and the work of the database."""

    messages: int
    work: int


def scenes(scale: int) -> list[Scene]:
    """Every crowd a claim must not notice; scale 10 is the full size, 1 a tenth of it."""
    few = Crowd(grouped=40 * ROUNDS, groups=20)
    alone = Crowd(grouped=4 * ROUNDS, groups=1)
    return [
        Scene("finished", Crowd(finished=100_000 * scale)),
        Scene("waiting", Crowd(waiting=10_000 * scale)),
        Scene("scheduled", Crowd(scheduled=100_000 * scale), due=3, limit=10),
        Scene("leased", Crowd(leased=5_000 * scale)),
        Scene("groups", Crowd(grouped=10_000 * scale, groups=1_000 * scale), few, due=0),
        Scene("one group", Crowd(grouped=10_000 * scale, groups=1), alone, due=0),
    ]


def fill(store: SQLStore, queue: str, crowd: Crowd) -> None:
    """Make a queue that holds this crowd."""
    store.queues.put(queue, {"lease": timedelta(hours=1)}, now=T0)
    with store.database.engine.begin() as connection:
        key = connection.execute(
            text("SELECT id FROM rowmq_queues WHERE name = :name"), {"name": _name(connection, queue)}
        ).scalar_one()
        filling = _Filling(connection, key)
        filling.finished(crowd.finished)
        filling.pending(crowd.waiting, f"{_PUSHED}")
        filling.pending(crowd.scheduled, f"{_LATER} + m.seq", priorities=5)
        filling.pending(crowd.leased, f"{_LATER} + m.seq", leased=True)
        filling.grouped(crowd.grouped, crowd.groups)


def leave_alone(store: SQLStore) -> None:
    """Keep PostgreSQL from analyzing by itself in the middle of a test."""
    if store.database.engine.dialect.name == "postgresql":
        with store.database.engine.begin() as connection:
            for table in ("messages", "pending", "outcomes", "groups", "failures"):
                connection.execute(text(f"ALTER TABLE rowmq_{table} SET (autovacuum_enabled = false)"))


def push_due(store: SQLStore, queue: str, count: int, now: datetime, number: int) -> None:
    """Push messages that are due at once, with ids nobody else has; the number tells rounds apart."""
    if count:
        first = micros(now) << 64 | number << 32
        store.push(
            [Batch(queue, [Message(id=UUID(int=first + place), body=BODY) for place in range(count)])],
            now=now,
        )


def claim_and_ack(store: SQLStore, queue: str, limit: int, now: datetime) -> int:
    """Claim and ack once; how many messages there were."""
    (found,) = store.claim(queue, [Want(limit=limit)], now=now)
    store.settle([Settlement(each.receipt, ACK) for each in found], now=now)
    return len(found)


def measure(store: SQLStore, scene: Scene, salt: int, *, start: datetime = T0) -> Round:
    """The usual work of a claim and its ack, once statements are prepared and plans have settled."""
    rounds = []
    for number in range(ROUNDS):
        now = start + timedelta(seconds=number)
        push_due(store, scene.name, scene.due, now, salt)
        with counting(store) as count:
            messages = claim_and_ack(store, scene.name, scene.limit, now)
        rounds.append(Round(messages, count.total))
    return min(rounds[-MEASURED:], key=lambda each: each.work)  # what disturbs a count only adds to it


class _Filling:
    """Inserts a queue's messages, whole states at a time."""

    def __init__(self, connection: Connection, queue: int) -> None:
        self._connection = connection
        self._queue = queue
        self._dialect = connection.dialect.name
        self._last = 0

    def finished(self, count: int) -> None:
        self._messages(count)
        self._derive(
            "rowmq_outcomes (seq, queue, state, finished_at, attempts, receives, token)",
            f"m.seq, m.queue, 'done', {_PUSHED} + m.seq, 1, 1, :token",
        )

    def pending(self, count: int, visible_at: str, *, priorities: int = 1, leased: bool = False) -> None:
        self._messages(count, priorities=priorities)
        held = f"1, 1, :token, {_PUSHED}" if leased else "0, 0, NULL, NULL"
        self._derive(
            "rowmq_pending (seq, queue, priority, visible_at, attempts, receives, token, claimed_at)",
            f"m.seq, m.queue, m.priority, {visible_at}, {held}",
        )

    def grouped(self, count: int, groups: int) -> None:
        """The first message of each group is its head, and the others are parked; no seq is left out."""
        if not count:
            return
        self._messages(count, groups=groups)
        names = f"SELECT {self._queue}, CAST(n AS CHAR(20)) FROM {_numbers(groups)}"
        self._run(f"INSERT INTO rowmq_groups (queue, name) {names}")
        first, last = self._connection.execute(
            text(f"SELECT MIN(seq), MAX(seq) FROM rowmq_messages WHERE seq > {self._last}")
        ).one()
        if last - first != count - 1:
            raise RuntimeError("somebody else is pushing")
        head = f"m.seq < {first + groups}"
        self._derive(
            "rowmq_pending (seq, queue, priority, visible_at, parked_until, group_id)",
            f"m.seq, m.queue, m.priority, CASE WHEN {head} THEN {_PUSHED} END,"
            f" CASE WHEN {head} THEN NULL ELSE {_PUSHED} END, g.id",
            " JOIN rowmq_groups g ON g.queue = m.queue AND g.name = m.group_name",
        )

    def _messages(self, count: int, *, priorities: int = 1, groups: int = 0) -> None:
        """Insert messages, leaving their numbers to the database."""
        self._last = self._connection.execute(
            text("SELECT COALESCE(MAX(seq), 0) FROM rowmq_messages")
        ).scalar_one()
        binary = self._connection.dialect.identifier_preparer.quote_identifier("binary")
        id = _IDS[self._dialect].format(f"{self._queue * 100_000_000 + self._last} + n")
        group = f"CAST(n % {groups} AS CHAR(20))" if groups else "NULL"
        columns = f"id, queue, body, {binary}, priority, group_name, created_at"
        values = f"{id}, {self._queue}, :body, false, n % {priorities}, {group}, {_PUSHED}"
        self._run(f"INSERT INTO rowmq_messages ({columns}) SELECT {values} FROM {_numbers(count)} ORDER BY n")

    def _derive(self, into: str, values: str, joins: str = "") -> None:
        """Insert a row for each of the messages inserted last."""
        latest = f"m.seq > {self._last} AND m.queue = {self._queue}"
        self._run(
            f"INSERT INTO {into} SELECT {values} FROM rowmq_messages m{joins} WHERE {latest} ORDER BY m.seq"
        )

    def _run(self, statement: str) -> None:
        known = {"body": BODY, "token": b"t" * 16}
        used = {name: value for name, value in known.items() if f":{name}" in statement}
        self._connection.execute(text(statement), used)


def _numbers(count: int) -> str:
    """A table of the numbers below ``count``, in every database's SQL."""
    digits = max(1, len(str(count - 1)))
    number = " + ".join(f"d{place}.n * {10**place}" for place in range(digits))
    tables = " CROSS JOIN ".join(f"(SELECT {_DIGITS}) d{place}" for place in range(digits))
    return f"(SELECT {number} AS n FROM {tables} WHERE {number} < {count}) numbers"


def _name(connection: Connection, queue: str) -> str | bytes:
    """A name as a parameter: MySQL keeps names as bytes."""
    return queue.encode() if connection.dialect.name in ("mysql", "mariadb") else queue
