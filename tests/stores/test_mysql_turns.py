"""Large claims on MariaDB take turns: a lock by name that is there for speed, and that nobody depends on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from rowmq.core.delivery import Want
from rowmq.core.errors import QueueNotFound
from rowmq.stores import open_store
from rowmq.stores.mysql import dialect
from rowmq.stores.sql.dialect import MANY
from rowmq.testing.build import messages, push, put_queue
from tests.runtime.working import eventually
from tests.servers import connect_mysql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.core.store import Store

NAME = "CONCAT('rowmq:', MD5(CONCAT(DATABASE(), '/q')))"
WAITING = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND state = 'User lock'"


@pytest.fixture
def store(mysql_url: str) -> Iterator[Store]:
    with closing(open_store(mysql_url)) as opened:
        put_queue(opened)
        push(opened, *messages(2 * MANY))
        yield opened


def asked(url: str, question: str) -> object:
    """What a connection of its own is told."""
    with connect_mysql(url) as connection, connection.cursor() as cursor:
        cursor.execute(question)
        row = cursor.fetchone()
    return row[0] if row else None


def found(store: Store, limit: int) -> int:
    return sum(map(len, store.claim("q", [Want(limit=limit)])))


def test_a_large_claim_waits_for_its_turn(
    store: Store, mysql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialect, "TURN", 30)
    with ThreadPoolExecutor(1) as pool, connect_mysql(mysql_url) as other, other.cursor() as cursor:
        cursor.execute(f"SELECT GET_LOCK({NAME}, 0)")
        claim = pool.submit(found, store, MANY)
        eventually(lambda: asked(mysql_url, WAITING), "the wait for a turn")
        assert not claim.done()
        assert found(store, 1) == 1, "a small one does not wait"
        cursor.execute(f"DO RELEASE_LOCK({NAME})")
        assert claim.result(20) == MANY


def test_a_turn_that_never_comes_is_not_waited_for(
    store: Store, mysql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialect, "TURN", 0.01)
    with connect_mysql(mysql_url) as other, other.cursor() as cursor:
        cursor.execute(f"SELECT GET_LOCK({NAME}, 0)")
        assert found(store, MANY) == MANY


def test_a_turn_is_over_with_its_claim(store: Store, mysql_url: str) -> None:
    assert found(store, MANY) == MANY
    assert asked(mysql_url, f"SELECT IS_FREE_LOCK({NAME})") == 1


def test_a_turn_is_over_with_a_claim_that_fails(store: Store, mysql_url: str) -> None:
    with pytest.raises(QueueNotFound):
        store.claim("nobody made it", [Want(limit=MANY)])
    assert asked(mysql_url, f"SELECT IS_FREE_LOCK({NAME.replace('/q', '/nobody made it')})") == 1
