"""Long messages on Redis: claimed by a script, and read after it, when anything may have happened to them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from rowmq.core.errors import OutcomeUnknown
from rowmq.stores import open_store
from rowmq.stores.redis.store import RedisStore
from rowmq.testing.build import after, claim, message, payloads, push, put_queue, settle, span
from tests.servers import connect_redis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.servers import Server

LONG = "é" * 5000
MIXED = [LONG, "", {"n": 1, "text": LONG}, b"\x00\xff" * 5000, b"", None, *([LONG] * 200)]


@pytest.fixture
def store(redis_url: str) -> Iterator[RedisStore]:
    with closing(opened(redis_url)) as store:
        put_queue(store)
        yield store


def opened(url: str) -> RedisStore:
    store = open_store(url)
    assert isinstance(store, RedisStore)
    return store


def meanwhile(store: RedisStore, happens: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let something happen after the next claim's script, before its messages are read."""
    ask = store.server.ask

    def asked(*command: Any) -> Any:
        monkeypatch.setattr(store.server, "ask", ask)
        happens()
        return ask(*command)

    monkeypatch.setattr(store.server, "ask", asked)


def test_long_and_short_messages_come_as_they_were_pushed(store: RedisStore) -> None:
    push(store, *(message(each, metadata={"n": str(place)}) for place, each in enumerate(MIXED)))
    found = claim(store, len(MIXED))
    assert payloads(found) == MIXED
    assert [each.metadata["n"] for each in found] == [str(place) for place in range(len(MIXED))]
    assert {settle(store, each).value for each in found} == {"settled"}


def test_what_another_holder_has_finished_meanwhile_is_not_delivered_without_its_payload(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_queue(store, retention=span(0))
    push(store, *(message(LONG) for _ in range(10)))

    def another_holder() -> None:
        taken = claim(store, 1, now=after(60))
        settle(store, taken[0], now=after(60))

    meanwhile(store, another_holder, monkeypatch)
    assert payloads(claim(store, 10, lease=span(1))) == [LONG] * 9


def test_what_is_gone_meanwhile_is_not_delivered(store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
    push(store, *(message(LONG) for _ in range(10)))
    meanwhile(store, lambda: store.queues.drop("q"), monkeypatch)
    assert claim(store, 10) == []


def test_a_connection_that_breaks_meanwhile_is_made_anew(
    own_redis: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(opened(own_redis.url)) as store, connect_redis(own_redis.url) as other:
        put_queue(store)
        push(store, *(message(LONG) for _ in range(10)))
        meanwhile(store, lambda: other.client_kill_filter(_type="normal", skipme=True), monkeypatch)
        assert payloads(claim(store, 10)) == [LONG] * 10


def test_a_server_that_is_gone_meanwhile_leaves_the_outcome_unknown(
    own_redis: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(opened(own_redis.url)) as store:
        put_queue(store)
        push(store, *(message(LONG) for _ in range(10)))
        meanwhile(store, own_redis.kill, monkeypatch)
        with pytest.raises(OutcomeUnknown, match="claimed"):
            claim(store, 10)
