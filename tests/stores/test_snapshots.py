"""What is looked up is of one moment: a message that is finished or revived meanwhile is seen once."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from rowmq.core.delivery import Settlement
from rowmq.core.outcome import ACK, Bury
from rowmq.stores import open_store
from rowmq.stores.sql.cursor import Cursor
from rowmq.testing.build import claim_one, message, push, put_queue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rowmq.stores.sql.store import SQLStore

LOOKS: dict[str, Callable[[SQLStore, Any], int]] = {
    "scan": lambda store, _: len(store.history.scan(1, 10)),
    "find": lambda store, _: len(store.history.find("q").records),
    "get": lambda store, uuid: int(store.history.get(uuid) is not None),
}


@pytest.fixture
def store(sql_url: str) -> Iterator[SQLStore]:
    with closing(open_store(sql_url)) as store:
        yield store  # type: ignore[misc]


def meanwhile(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> list[object]:
    """Do something, on another connection, after what is owed was read and before what is finished is."""
    select = Cursor.select
    done: list[object] = []

    def selecting(self: Cursor, statement: str, extra: str, **parameters: Any) -> Any:
        if statement == "find_finished" and not done:
            done.append(action())
        return select(self, statement, extra, **parameters)

    monkeypatch.setattr(Cursor, "select", selecting)
    return done


@pytest.mark.parametrize("look", LOOKS)
def test_a_message_that_is_acked_between_two_statements_is_seen_once(
    store: SQLStore, monkeypatch: pytest.MonkeyPatch, look: str
) -> None:
    put_queue(store)
    said = message()
    push(store, said)
    held = claim_one(store)
    done = meanwhile(monkeypatch, lambda: store.settle([Settlement(held.receipt, ACK)]))
    assert LOOKS[look](store, said.id) == 1
    assert done


@pytest.mark.parametrize("look", LOOKS)
def test_a_message_that_is_revived_between_two_statements_is_seen(
    store: SQLStore, monkeypatch: pytest.MonkeyPatch, look: str
) -> None:
    put_queue(store)
    said = message()
    push(store, said)
    store.settle([Settlement(claim_one(store).receipt, Bury())])
    done = meanwhile(monkeypatch, lambda: store.history.redrive("q"))
    assert LOOKS[look](store, said.id) == 1
    assert done == [1]
