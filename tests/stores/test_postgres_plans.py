"""Plans on PostgreSQL hold although the planner takes a table for empty that has filled up since."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

import pytest

from rowmq.core.delivery import Settlement, Want
from rowmq.core.message import Batch
from rowmq.core.outcome import ACK, State
from rowmq.stores import open_store
from rowmq.stores.sql.floors import PRIORITIES
from rowmq.testing.build import messages
from tests.servers import fresh_postgres_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.stores.sql.store import SQLStore

MANY = 500


@pytest.fixture
def emptied(postgres_url: str) -> Iterator[SQLStore]:
    """A store whose table of what is owed was analyzed when all of it had been acked."""
    with (
        fresh_postgres_schema(postgres_url) as url,
        closing(cast("SQLStore", open_store(url))) as store,
    ):
        store.queues.put("q")
        store.push([Batch("q", messages(MANY))])
        (found,) = store.claim("q", [Want(limit=MANY)])
        store.settle([Settlement(each.receipt, ACK) for each in found])
        store.queues.purge("q")
        store.queues.purge("q", state=State.DONE)
        analyze = "ANALYZE rowmq_pending, rowmq_messages"
        store.database.run(lambda cursor: cursor.raw.execute(analyze, binary=False))
        store.push([Batch("q", messages(MANY))])
        yield store


def plan(store: SQLStore, statement: str, **said: Any) -> str:
    """What PostgreSQL would do."""
    sql = "EXPLAIN " + store.database.queries[statement]
    rows = store.database.read(lambda cursor: cursor.raw.execute(sql, said, binary=False).fetchall())
    return "\n".join(row[0] for row in rows)


def test_an_ack_looks_its_rows_up(emptied: SQLStore) -> None:
    (found,) = emptied.claim("q", [Want(limit=MANY)])
    tokens = b"".join(each.token for each in found)
    seqs = sorted(each.seq for each in found)
    said = plan(emptied, "ack", seqs=seqs, tokens=tokens, now=None)
    assert "Index Cond: (seq = ANY" in said
    assert "rowmq_pending_pkey" in said
    assert "rowmq_pending_due" not in said  # which has every seq too, but only from end to end
    assert "Join Filter" not in said
    settled = emptied.settle([Settlement(each.receipt, ACK) for each in found])
    assert len(settled) == MANY
    assert emptied.queues.stats("q").done == MANY


def test_acks_of_one_message_are_not_planned_each_time(emptied: SQLStore) -> None:
    emptied.database.run(lambda cursor: cursor.raw.execute("ANALYZE rowmq_pending", binary=False))
    for _ in range(20):
        (found,) = emptied.claim("q", [Want(limit=1)])
        emptied.settle([Settlement(each.receipt, ACK) for each in found])
    counts = "SELECT generic_plans FROM pg_prepared_statements WHERE statement LIKE '%%INTO rowmq_outcomes%%'"
    ((generic,),) = emptied.database.read(lambda cursor: cursor.raw.execute(counts).fetchall())
    assert generic >= 5


def test_a_claim_updates_the_rows_it_found(emptied: SQLStore) -> None:
    said = plan(
        emptied,
        "claim_at_once",
        name="q",
        known=1,
        priorities=list(PRIORITIES),
        floors=[0] * len(PRIORITIES),
        lasts=[0] * len(PRIORITIES),
        limit=MANY,
        consumer=None,
        lease=None,
        token=b"t" * 16,
        now=time.time_ns() // 1000,
    )
    assert "Tid Scan on rowmq_pending" in said
    assert "Join Filter" not in said


def test_a_claim_writes_its_rows_beside_their_first_versions(emptied: SQLStore) -> None:
    consumer = "a-machine-of-some-name-12345"
    pages = "SELECT seq, (CAST(CAST(ctid AS text) AS point))[0] FROM rowmq_pending ORDER BY seq"
    before = emptied.database.read(lambda cursor: cursor.raw.execute(pages).fetchall())
    emptied.claim("q", [Want(limit=MANY, consumer=consumer)])
    after = emptied.database.read(lambda cursor: cursor.raw.execute(pages).fetchall())
    assert len(before) == MANY
    assert sum(map(tuple.__eq__, before, after)) > 0.9 * MANY


def test_a_claim_looks_its_messages_up(emptied: SQLStore) -> None:
    said = plan(
        emptied,
        "pick",
        queue=1,
        priorities=list(PRIORITIES),
        floors=[0] * len(PRIORITIES),
        now=time.time_ns() // 1000,
        limit=MANY,
    )
    assert "Index Scan using rowmq_messages_pkey" in said
    assert "Join Filter" not in said


@pytest.mark.parametrize(
    "statement", ["hold", "lock", "sweep_queues", "sweep_overdue", "candidates", "backlog"]
)
def test_what_is_asked_about_rows_is_looked_up_by_their_seqs(emptied: SQLStore, statement: str) -> None:
    (found,) = emptied.claim("q", [Want(limit=MANY // 2)])
    now = time.time_ns() // 1000
    place = {"queue": 1, "priority": 0, "time": 0, "seq": 0, "look": MANY, "limit": MANY}
    rules = {"most": 5, "final": False, "oldest": now}
    said = plan(emptied, statement, seqs=[each.seq for each in found], now=now, after=0, **place, **rules)
    assert "Join Filter" not in said
