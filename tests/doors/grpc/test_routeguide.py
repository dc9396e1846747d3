"""GOMQ's calls: peers, what counts as received, and what becomes of what was not."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from rowmq.doors.grpc import routeguide
from rowmq.doors.grpc import routeguide_pb2 as wire
from rowmq.doors.grpc.inbox import Inbox, Inboxes
from rowmq.stores.memory import MemoryStore
from tests.doors.grpc.serving import Caller, serving
from tests.servers import free_port
from tests.timing import timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rowmq.core.store import Store

SHORT = timedelta(seconds=0.6)
SOON = 60.0
LARGE = 2**20
IDENTIFIED = wire.Identification(consumerID="c")


class Peer(Caller):
    """GOMQ's calls over one connection."""

    def publish(self, key: str, *payloads: bytes) -> None:
        for payload in payloads:
            self._ask("Publish", wire.PublishRecord(key=key, payload=payload), wire.Result)

    def subscribe(self, key: str, consumer: str) -> None:
        self._ask("Subscribe", wire.Subscription(key=key, consumerID=consumer), wire.Result)

    def unsubscribe(self, key: str, consumer: str) -> None:
        self._ask("Unsubscribe", wire.Subscription(key=key, consumerID=consumer), wire.Result)

    def observe(self, consumer: str) -> list[bytes]:
        asked = wire.Identification(consumerID=consumer)
        return [each.value.payload for each in self._ask("Observe", asked, wire.RecordSet).records]

    def until(self, consumer: str, count: int) -> list[bytes]:
        """Observe until so many have come."""
        found: list[bytes] = []

        def enough() -> bool:
            found.extend(self.observe(consumer))
            return len(found) >= count

        eventually(enough)
        return found

    def _ask(self, name: str, asked: object, gives: object) -> wire.RecordSet:
        found: wire.RecordSet = self(f"/routeguide.RouteGuide/{name}", asked, gives)
        return found


def eventually(true: Callable[[], bool]) -> None:
    end = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def inboxes(store: Store) -> list[Inbox]:
    return [each for each in map(Inbox.of, store.queues.list()) if each is not None]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def address(store: MemoryStore) -> Iterator[str]:
    with serving(store) as found:
        yield found


def test_every_peer_of_a_consumer_gets_every_message_of_all_its_keys(address: str) -> None:
    with Peer(address) as one, Peer(address) as other, Peer(address) as publisher:
        one.subscribe("a", "c")
        other.subscribe("b", "c")
        publisher.publish("a", b"1")
        publisher.publish("b", b"2")
        for peer in (one, other):
            assert sorted(peer.until("c", 2)) == [b"1", b"2"]


def test_records_are_received_at_the_next_observe_and_not_before(store: MemoryStore, address: str) -> None:
    with Peer(address) as peer:
        peer.subscribe("a", "c")
        peer.publish("a", b"1", b"2")
        assert peer.until("c", 2) == [b"1", b"2"]
        (inbox,) = inboxes(store)
        assert store.queues.stats(inbox.queue).leased == 2
        assert peer.observe("c") == []
        assert store.queues.stats(inbox.queue)[:4] == (0, 0, 0, 2)


def test_an_observe_returns_fifty_records_of_each_key_in_order(address: str) -> None:
    with Peer(address) as peer:
        for key in ("a", "b"):
            peer.subscribe(key, "c")
            peer.publish(key, *(f"{key}{number:02}".encode() for number in range(60)))
        found = peer.observe("c")
        assert len(found) == 100
        assert [each for each in found if each[:1] == b"a"] == [
            f"a{number:02}".encode() for number in range(50)
        ]
        assert len(peer.observe("c")) == 20


def test_an_answer_is_never_larger_than_a_client_takes(address: str) -> None:
    with Peer(address) as peer:
        peer.subscribe("a", "c")
        peer.publish("a", *(bytes([number]) * LARGE for number in range(10)))
        sizes: list[int] = []
        found: list[int] = []
        while len(found) < 10:
            some = peer.until("c", 1)
            sizes.append(sum(map(len, some)))
            found += [each[0] for each in some]
        assert found == list(range(10))
        assert max(sizes) <= 3 * LARGE


def test_a_call_that_breaks_returns_its_records_again(store: MemoryStore, address: str) -> None:
    real, slow = store.claim, [True]

    def claim(*asked: Any, **rest: Any) -> Any:
        if slow:
            slow.clear()
            time.sleep(0.5)
        return real(*asked, **rest)

    with Peer(address) as peer:
        peer.subscribe("a", "c")
        peer.publish("a", b"1", b"2")
        store.claim = claim  # type: ignore[method-assign]
        with pytest.raises(grpc.RpcError) as broken:
            peer("/routeguide.RouteGuide/Observe", IDENTIFIED, wire.RecordSet, timeout=0.2)
        assert broken.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        peer.publish("a", b"3")
        assert peer.until("c", 3) == [b"1", b"2", b"3"]


def test_an_answer_that_leaves_after_the_callers_deadline_comes_again(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Peer(address) as peer:
        peer.subscribe("a", "c")
        peer.publish("a", b"1", b"2")
        with monkeypatch.context() as patched:
            real = routeguide._record
            patched.setattr(routeguide, "_record", lambda *said: time.sleep(0.2) or real(*said))  # type: ignore[func-returns-value]
            with pytest.raises(grpc.RpcError) as late:
                peer("/routeguide.RouteGuide/Observe", IDENTIFIED, wire.RecordSet, timeout=0.2)
        assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert peer.until("c", 2) == [b"1", b"2"]


@timed
def test_a_peer_that_does_not_observe_is_let_go_and_its_messages_wait_for_the_next(
    store: MemoryStore,
) -> None:
    with serving(store, patience=SHORT) as address, Peer(address) as publisher:
        with Peer(address) as first:
            first.subscribe("a", "c")
            publisher.publish("a", b"1", b"2")
            assert first.until("c", 2) == [b"1", b"2"]  # and never says that it has them
        eventually(lambda: [each.peer for each in inboxes(store)] == [""])
        assert store.topics.bindings() == []
        publisher.publish("a", b"3")
        with Peer(address) as second:
            assert second.until("c", 3) == [b"1", b"2", b"3"]


@timed
def test_what_only_a_peer_that_is_gone_had_to_receive_goes_to_another_of_its_consumer(
    store: MemoryStore,
) -> None:
    with serving(store, patience=SHORT) as address, Peer(address) as publisher:
        with Peer(address) as first:
            first.subscribe("a", "c")
            publisher.publish("a", b"before")
        with Peer(address) as second:
            assert second.observe("c") == []
            publisher.publish("a", b"after")
            assert sorted(second.until("c", 2)) == [b"after", b"before"]
            assert len(inboxes(store)) == 1


@timed
def test_with_nobody_left_messages_are_kept_for_whoever_comes_first(store: MemoryStore) -> None:
    with serving(store, patience=SHORT) as address, Peer(address) as publisher:
        with Peer(address) as first:
            first.subscribe("a", "gone")
        eventually(lambda: store.topics.bindings() == [])
        publisher.publish("a", b"1")
        with Peer(address) as second:
            second.subscribe("a", "new")
            assert second.until("new", 1) == [b"1"]


def test_unsubscribing_discards_what_was_not_received_at_every_peer(store: MemoryStore, address: str) -> None:
    with Peer(address) as one, Peer(address) as other:
        one.subscribe("a", "c")
        other.subscribe("a", "c")
        one.publish("a", b"1")
        one.unsubscribe("a", "c")
        assert (one.observe("c"), other.observe("c"), inboxes(store)) == ([], [], [])


def test_a_server_that_starts_again_knows_that_its_former_peers_are_gone(store: MemoryStore) -> None:
    port = free_port()
    with serving(store, run="one", port=port) as address, Peer(address) as peer:
        peer.subscribe("a", "c")
        peer.publish("a", b"1")
    with serving(store, run="two", port=port) as address, Peer(address) as peer:
        assert peer.until("c", 1) == [b"1"]


@timed
def test_a_peer_that_another_server_took_for_gone_joins_anew(store: MemoryStore) -> None:
    with serving(store, patience=SHORT) as address, Peer(address) as peer:
        peer.subscribe("a", "c")
        (inbox,) = inboxes(store)
        Inboxes(store, server="other", run="two", alive=SHORT).leave("c", inbox.peer)
        peer.publish("a", b"1")
        assert peer.until("c", 1) == [b"1"]
        assert [each.peer for each in inboxes(store)] == [inbox.peer]


def test_what_was_claimed_of_other_keys_comes_when_an_inbox_was_dropped(
    store: MemoryStore, address: str
) -> None:
    with Peer(address) as peer:
        for key in ("a", "b"):
            peer.subscribe(key, "c")
            peer.publish(key, key.encode())
        dropped = next(each for each in inboxes(store) if each.key == "b")
        store.queues.drop(dropped.queue)
        assert peer.until("c", 1) == [b"a"]


def test_names_of_any_length_and_likeness_are_kept_apart(address: str) -> None:
    long = "k" * 255
    with Peer(address) as peer:
        for key, consumer in (("c", "ab"), ("bc", "a"), (long, long), ("ключ", "потребитель")):
            peer.subscribe(key, consumer)
            peer.publish(key, key.encode())
            assert peer.until(consumer, 1) == [key.encode()]


@pytest.mark.parametrize(
    ("name", "asked", "gives", "code", "sentence"),
    [
        ("Publish", wire.PublishRecord(key=""), wire.Result, "INVALID_ARGUMENT", "a key has 1 to 255"),
        ("Publish", wire.PublishRecord(key="k" * 256), wire.Result, "INVALID_ARGUMENT", "a key has 1 to 255"),
        ("Publish", wire.PublishRecord(key="a\x1fb"), wire.Result, "INVALID_ARGUMENT", "no control char"),
        (
            "Publish", wire.PublishRecord(key="a", payload=bytes(8 * 2**20 + 1)), wire.Result,
            "INVALID_ARGUMENT", "a payload has at most 8388608 bytes",
        ),
        (
            "Publish", wire.PublishRecord(key="a", payload=bytes(65 * 2**20)), wire.Result,
            "RESOURCE_EXHAUSTED", "larger than max",
        ),
        ("Subscribe", wire.Subscription(key="a"), wire.Result, "INVALID_ARGUMENT", "a consumer id has 1 to"),
        ("Subscribe", wire.Subscription(consumerID="a"), wire.Result, "INVALID_ARGUMENT", "a key has 1 to"),
        (
            "Unsubscribe", wire.Subscription(key="a", consumerID="b"), wire.Result,
            "NOT_FOUND", "the consumer 'b' is not subscribed to 'a'",
        ),
        ("Observe", wire.Identification(), wire.RecordSet, "INVALID_ARGUMENT", "a consumer id has"),
        (
            "Observe", wire.Identification(consumerID="who"), wire.RecordSet,
            "NOT_FOUND", "no consumer 'who' is subscribed; subscribe first",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_the_right_status_and_a_clear_sentence(
    address: str, name: str, asked: object, gives: object, code: str, sentence: str
) -> None:
    with Caller(address) as caller:
        got, said = caller.refused(f"/routeguide.RouteGuide/{name}", asked, gives)
    assert got == code
    assert sentence in said
