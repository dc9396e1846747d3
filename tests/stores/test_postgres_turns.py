"""Large claims on PostgreSQL take turns: a lock that is there for speed, and that nobody depends on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from rowmq.core.delivery import Want
from rowmq.stores import open_store
from rowmq.stores.postgres import dialect
from rowmq.stores.sql.dialect import MANY
from rowmq.testing.build import messages, push, put_queue
from tests.runtime.working import eventually
from tests.servers import connect_postgres

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.core.store import Store

TURNS = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid ="
    " CAST(CAST(hashtext('rowmq turns of ' || current_schema()) AS bit(32)) AS bigint) AND granted = {}"
)
TAKE = (
    "SELECT pg_advisory_lock(hashtext('rowmq turns of ' || current_schema()), CAST(id AS integer))"
    " FROM rowmq_queues WHERE name = 'q'"
)


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    """A store whose queue is busy: its last claim got all it asked for."""
    with closing(open_store(postgres_url)) as opened:
        put_queue(opened)
        push(opened, *messages(4 * MANY))
        assert [found(opened, MANY), found(opened, MANY)] == [MANY, MANY]
        yield opened


def found(store: Store, limit: int) -> int:
    return sum(map(len, store.claim("q", [Want(limit=limit)])))


def turns(connection: Any, *, granted: bool) -> int:
    return int(connection.execute(TURNS.format(granted)).fetchone()[0])


def test_a_large_claim_waits_for_its_turn(
    store: Store, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialect, "TURN", "30s")
    with ThreadPoolExecutor(1) as pool, connect_postgres(postgres_url) as other:
        other.execute(TAKE)
        claim = pool.submit(found, store, MANY)
        eventually(lambda: turns(other, granted=False), "the wait for a turn")
        assert not claim.done()
        assert found(store, 1) == 1, "a small one does not wait"
        other.execute("SELECT pg_advisory_unlock_all()")
        assert claim.result(20) == MANY
        assert turns(other, granted=True) == 0, "a turn ends with its claim"


def test_a_claim_that_has_waited_too_long_goes_on_without_a_turn(
    store: Store, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialect, "TURN", "20ms")
    with connect_postgres(postgres_url) as other:
        other.execute(TAKE)
        assert [found(store, MANY), found(store, 2 * MANY)] == [MANY, MANY]
        assert turns(other, granted=True) == 1, "that of the other one"
        stats = store.queues.stats("q")
        assert (stats.leased, stats.ready) == (4 * MANY, 0)


def test_a_queue_that_is_not_busy_asks_for_no_turn(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(store, 3 * MANY) == 2 * MANY
    monkeypatch.setattr(dialect, "TURN", "no such time")
    push(store, *messages(MANY))
    assert found(store, MANY) == MANY
    with pytest.raises(Exception, match="lock_timeout"):
        found(store, MANY)
