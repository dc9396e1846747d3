"""Claims and acks on MariaDB: rows do not grow, and keys are read as ranges, not from end to end."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

import pytest

from rowmq.core.delivery import Receipt, Settlement, Want
from rowmq.core.outcome import ACK, Settled
from rowmq.stores import open_store
from rowmq.stores.mysql.dialect import LETTERS, LONG_RUN
from rowmq.testing.build import messages, push, put_queue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rowmq.core.delivery import Delivery
    from rowmq.stores.sql.store import SQLStore

MANY = 4 * LONG_RUN
LENGTH = """
SELECT LENGTH(COALESCE(room, '')) + LENGTH(COALESCE(token, '')) + LENGTH(COALESCE(consumer, ''))
       + CASE WHEN claimed_at IS NULL THEN 0 ELSE 8 END
FROM rowmq_pending
"""


@pytest.fixture
def store(mysql_url: str) -> Iterator[SQLStore]:
    with closing(cast("SQLStore", open_store(mysql_url))) as opened:
        put_queue(opened)
        yield opened


def asked(store: SQLStore, sql: str, **said: Any) -> Sequence[tuple[Any, ...]]:
    def ask(cursor: Any) -> Sequence[tuple[Any, ...]]:
        cursor.raw.execute(sql, said or None)
        return cast("Sequence[tuple[Any, ...]]", cursor.raw.fetchall())

    return store.database.read(ask)


def kinds(store: SQLStore, statement: str, **said: Any) -> list[str]:
    """How the tables of a statement are read."""
    return [row[3] for row in asked(store, f"EXPLAIN {store.database.queries[statement]}", **said)]


def claimed(store: SQLStore, count: int) -> list[Delivery]:
    (found,) = store.claim("q", [Want(limit=count, consumer="host:12345:abcdef")])
    return found


def settled(store: SQLStore, receipts: Sequence[Receipt]) -> list[Settled]:
    return list(store.settle([Settlement(each, ACK) for each in receipts]))


def test_a_row_is_no_longer_once_it_is_claimed(store: SQLStore) -> None:
    push(store, *messages(1))
    ((before,),) = asked(store, LENGTH)
    assert len(claimed(store, 1)) == 1
    ((after,),) = asked(store, LENGTH)
    assert 24 < after <= before


def test_a_claim_leaves_the_index_of_groups_alone(store: SQLStore) -> None:
    columns = asked(
        store,
        "SELECT column_name FROM information_schema.statistics WHERE table_schema = DATABASE()"
        " AND index_name = 'rowmq_pending_group' ORDER BY seq_in_index",
    )
    assert [name for (name,) in columns] == ["group_id", "parked", "seq"]


@pytest.mark.parametrize("others", [0, 1, 3, MANY])
def test_what_is_acked_is_read_as_a_range_however_small_the_table(store: SQLStore, others: int) -> None:
    push(store, *messages(LONG_RUN + others))
    seqs = [each.seq for each in claimed(store, LONG_RUN)]
    held: dict[str, Any] = {"seqs": tuple(seqs), "token": b"x" * 16}
    assert kinds(store, "unpend_run", first=seqs[0], last=seqs[-1]) == ["range"]
    assert kinds(store, "ack_finish", now=1, **held)[0] == "range"
    assert kinds(store, "ack_finished", **held) == ["range", "eq_ref"]


def test_which_priorities_are_due_is_one_look_from_each_ones_floor(store: SQLStore) -> None:
    push(store, *messages(MANY))
    floors = {f"floor_{letter}": 1 for letter in LETTERS}
    sql = f"EXPLAIN {store.database.queries['due_priorities']}"
    rows = asked(store, sql, queue=1, now=2, **floors)[: len(LETTERS)]
    assert [(row[3], row[5]) for row in rows] == [("range", "rowmq_pending_due")] * len(LETTERS)


def test_acks_in_runs_and_alone_of_several_tokens_count_each_for_itself(store: SQLStore) -> None:
    push(store, *messages(2 * MANY))
    first, second = claimed(store, MANY), claimed(store, MANY)
    gap = first[LONG_RUN + 1]
    assert settled(store, [gap.receipt]) == [Settled.SETTLED]
    wrong = Receipt(second[0].seq, first[0].token)
    receipts = [each.receipt for each in (*first, *second[1:])]
    answers = dict(zip(receipts, settled(store, receipts), strict=True))
    assert answers.pop(gap.receipt) == Settled.REPEATED
    assert set(answers.values()) == {Settled.SETTLED}
    assert settled(store, [wrong]) == [Settled.LOST]
    left = store.queues.stats("q")
    assert (left.done, left.leased, left.ready) == (2 * MANY - 1, 1, 0)
    assert settled(store, [second[0].receipt]) == [Settled.SETTLED]


def test_one_stale_receipt_among_many_changes_nothing_for_the_others(store: SQLStore) -> None:
    push(store, *messages(MANY))
    found = claimed(store, MANY)
    stale = Receipt(found[7].seq, b"somebody else's!")
    receipts = [stale if each is found[7] else each.receipt for each in found]
    answers = settled(store, receipts)
    assert answers[7] == Settled.LOST
    assert set(answers[:7] + answers[8:]) == {Settled.SETTLED}
    assert store.queues.stats("q").leased == 1
