"""What comes back to the pool of connections, which does not look itself."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, cast

import pytest
from psycopg.pq import TransactionStatus

from rowmq.core.errors import InvalidSetting
from rowmq.stores import open_store

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
