"""What comes back to the pool of connections, which does not look itself."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, cast

import pytest
from psycopg.pq import TransactionStatus

from rowmq.core.delivery import Want
from rowmq.core.errors import InvalidSetting
from rowmq.stores import open_store
from rowmq.stores.postgres import connecting, dialect
from rowmq.stores.postgres.connecting import OurConnection, autocommit, is_silent

if TYPE_CHECKING:
    from rowmq.stores.sql.cursor import Cursor
    from rowmq.stores.sql.store import SQLStore


@pytest.mark.parametrize("error", [InvalidSetting, ValueError, KeyboardInterrupt])
def test_a_transaction_that_failed_is_not_left_open(postgres_url: str, error: type[BaseException]) -> None:
    def work(cursor: Cursor) -> None:
        cursor.all("queues_by_name", names=["q"], now=None)
        raise error

    with closing(cast("SQLStore", open_store(postgres_url))) as store:
        with pytest.raises(error):
            store.database.run(work)
        with closing(store.database.engine.raw_connection()) as connection:
            status = cast("TransactionStatus", connection.driver_connection.info.transaction_status)  # type: ignore[union-attr]
    assert status == TransactionStatus.IDLE


def test_a_connection_that_was_closed_in_a_transaction_is_not_used_again(postgres_url: str) -> None:
    def work(cursor: Cursor) -> None:
        cursor.raw.connection.close()
        raise ValueError

    with closing(cast("SQLStore", open_store(postgres_url))) as store:
        with pytest.raises(ValueError, match=r"^$"):
            store.database.run(work)
        assert store.queues.put("q").name == "q"


def asked(store: SQLStore, monkeypatch: pytest.MonkeyPatch, limit: int) -> bool:
    """Whether a claim just after another asks if the server is there."""
    questions: list[object] = []

    def note(connection: OurConnection) -> bool:
        questions.append(connection)
        return is_silent(connection)

    store.claim("q", [Want(limit=limit)])
    with monkeypatch.context() as patch:
        patch.setattr(dialect, "is_silent", note)
        store.claim("q", [Want(limit=limit)])
    return bool(questions)


def test_only_a_large_claim_believes_that_a_server_that_has_answered_just_now_is_there(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "JUST_NOW", 60.0)
    with closing(cast("SQLStore", open_store(postgres_url))) as store:
        store.queues.put("q")
        store.claim("q", [Want()])
        assert asked(store, monkeypatch, limit=99)
        assert not asked(store, monkeypatch, limit=100)
        monkeypatch.setattr(connecting, "JUST_NOW", 0.0)
        assert asked(store, monkeypatch, limit=100)


def test_an_answer_that_never_came_is_none(postgres_url: str) -> None:
    with closing(OurConnection.connect(postgres_url)) as connection:
        with pytest.raises(ZeroDivisionError), autocommit(connection):
            raise ZeroDivisionError
        assert connection.answered == float("-inf")
