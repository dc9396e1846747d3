"""RowMQ's own calls: queues, publishing, and subscriptions as streams."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from rowmq.core.delivery import Delivery, Want
from rowmq.core.errors import StoreUnavailable
from rowmq.doors.grpc import subscription
from rowmq.stores.grpc import rowmq_pb2 as wire
from rowmq.stores.memory import MemoryStore
from tests.doors.grpc.serving import Caller, serving
from tests.doors.grpc.subscribing import PATH, Stream, eventually, publish, said

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def address(store: MemoryStore) -> Iterator[str]:
    with serving(store) as found:
        yield found


@pytest.fixture
def caller(address: str) -> Iterator[Caller]:
    with Caller(address) as found:
        yield found


def test_a_pushed_message_is_claimed_extended_and_settled(caller: Caller) -> None:
    caller(f"{PATH}/PutQueue", wire.PutQueueRequest(name="emails"), wire.Queue)
    id = uuid4()
    message = wire.NewMessage(id=id.bytes, payload=b'{"a":1}', json=True, metadata={"v": "1"}, priority=3)
    asked = wire.PushRequest(queue="emails", messages=[message])
    assert caller(f"{PATH}/Push", asked, wire.PushResponse).ids == [id.bytes]
    assert caller(f"{PATH}/Push", asked, wire.PushResponse).seen == [0]
    (found,) = caller(f"{PATH}/Claim", wire.ClaimRequest(queue="emails"), wire.ClaimResponse).messages
    assert (found.id, found.payload, found.json, found.attempt) == (id.bytes, b'{"a":1}', True, 1)
    assert (dict(found.metadata), found.priority) == ({"v": "1"}, 3)
    extending = wire.ExtendRequest(receipts=[found.receipt, "1.no"], lease=Duration(seconds=300))
    kept, unknown = caller(f"{PATH}/Extend", extending, wire.ExtendResponse).results
    assert kept.until.seconds - found.lease_until.seconds > 200
    assert not unknown.HasField("until")
    settling = wire.SettleRequest(
        settlements=[wire.Settlement(receipt=found.receipt), wire.Settlement(receipt="?")]
    )
    results = caller(f"{PATH}/Settle", settling, wire.SettleResponse).results
    assert list(results) == [wire.SETTLED, wire.LOST]
    assert list(caller(f"{PATH}/Settle", settling, wire.SettleResponse).results) == [wire.REPEATED, wire.LOST]


def test_a_claim_waits_for_a_message_and_a_cancelled_one_is_given_back(
    caller: Caller, store: MemoryStore
) -> None:
    store.queues.put("emails")
    asked = wire.ClaimRequest(queue="emails", wait=Duration(seconds=10))
    with pytest.raises(grpc.RpcError) as late:
        caller(f"{PATH}/Claim", asked, wire.ClaimResponse, timeout=0.2)
    assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    pushing = wire.PushRequest(queue="emails", messages=said(b"1"))
    timer = threading.Timer(0.2, lambda: caller(f"{PATH}/Push", pushing, wire.PushResponse))
    timer.start()
    (found,) = caller(f"{PATH}/Claim", asked, wire.ClaimResponse).messages
    timer.join()
    assert (found.payload, found.attempt) == (b"1", 1)


def test_what_is_published_again_under_its_id_counts_once(caller: Caller, store: MemoryStore) -> None:
    store.queues.put("all")
    store.topics.bind("orders", "all")
    for _ in range(2):
        publish(caller, "orders", b"1", id=bytes(range(16)))
    asked = wire.PublishRequest(topic="orders", messages=said(b"2", id=bytes(range(1, 17))))
    caller.poured(f"{PATH}/PublishStream", [asked] * 3, wire.PublishStreamResponse)
    assert store.queues.stats("all").ready == 2


def test_a_stream_of_batches_is_stored_in_order_when_it_is_answered(
    caller: Caller, store: MemoryStore
) -> None:
    store.queues.put("all")
    store.topics.bind("orders", "all")
    batches = [
        wire.PublishRequest(topic="" if n else "orders", messages=said(b"%d" % n)) for n in range(1000)
    ]
    found = caller.poured(f"{PATH}/PublishStream", batches, wire.PublishStreamResponse)
    assert (found.batches, found.messages) == (1000, 1000)
    bodies = [each.body for each in store.history.find("all", limit=1000).records]
    assert bodies == [b"%d" % n for n in range(1000)]


def test_a_stream_of_batches_that_is_refused_tells_how_many_are_stored(
    caller: Caller, store: MemoryStore
) -> None:
    store.queues.put("all", {"max_length": 2})
    store.topics.bind("orders", "all")
    batches = [wire.PublishRequest(topic="orders", messages=said(b"1")) for _ in range(3)]
    with pytest.raises(grpc.RpcError) as full:
        caller.poured(f"{PATH}/PublishStream", batches, wire.PublishStreamResponse)
    assert full.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    trailing: Any = full.value.trailing_metadata()
    assert ("rowmq-stored", "2") in trailing
    assert store.queues.stats("all").ready == 2


def test_a_stream_of_its_own_gets_every_message_and_acks_them_all_at_once(
    caller: Caller, store: MemoryStore
) -> None:
    one, other = Stream(caller, topic="orders"), Stream(caller, topic="orders")
    names = [one.started.resume, other.started.resume]
    assert publish(caller, "orders", *(b"%d" % n for n in range(100))) == 2
    for stream, name in zip((one, other), names, strict=True):
        found = stream.messages(100)
        assert [each.payload for each in found] == [b"%d" % n for n in range(100)]
        assert [each.number for each in found] == list(range(1, 101))
        stream.say(upto=100)
        assert next(stream.call).upto == 100
        assert store.queues.stats(name)[:4] == (0, 0, 0, 100)
        stream.say(end=True)
        assert [each.upto for each in stream.call] == [0]
    assert store.queues.list() == []


def test_a_stream_of_its_own_that_ends_does_not_ask_for_more(
    caller: Caller, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop = store.queues.drop

    def slowly(name: str) -> bool:
        found = drop(name)
        time.sleep(0.3)  # long enough for a claim, which would find no queue
        return found

    monkeypatch.setattr(store.queues, "drop", slowly)
    stream = Stream(caller, topic="orders", credit=10)
    assert stream.started.resume
    publish(caller, "orders", *[b"1"] * 10)
    stream.messages(10)
    stream.say(upto=10, end=True)
    assert [each.upto for each in stream.call] == [10]


def test_those_who_share_a_subscription_share_its_messages(caller: Caller) -> None:
    streams = [Stream(caller, topic="orders", queue="billing", credit=10) for _ in range(2)]
    assert [each.started.queue for each in streams] == ["billing"] * 2
    publish(caller, "orders", *(b"%d" % n for n in range(20)))
    found = [{each.payload for each in stream.messages(10)} for stream in streams]
    assert found[0] | found[1] == {b"%d" % n for n in range(20)}


def test_no_more_is_sent_than_the_credit_until_something_is_settled(
    caller: Caller, store: MemoryStore
) -> None:
    store.queues.put("emails")
    stream = Stream(caller, queue="emails", credit=10)
    caller(f"{PATH}/Push", wire.PushRequest(queue="emails", messages=said(*[b"1"] * 100)), wire.PushResponse)
    assert stream.started.queue == "emails"
    stream.messages(10)
    time.sleep(0.2)  # nothing else to wait for: nothing is to happen
    assert store.queues.stats("emails").leased == 10
    stream.say(upto=10)
    assert next(stream.call).upto == 10
    stream.messages(10)


def test_a_client_that_never_reads_holds_no_more_than_its_credit(caller: Caller, store: MemoryStore) -> None:
    store.queues.put("emails")
    for _ in range(100):
        pushing = wire.PushRequest(queue="emails", messages=said(bytes(2**20)))
        caller(f"{PATH}/Push", pushing, wire.PushResponse)
    stream = Stream(caller, queue="emails", credit=10_000)
    eventually(lambda: store.queues.stats("emails").leased > 16)
    time.sleep(0.3)  # nothing else to wait for: nothing is to happen
    assert store.queues.stats("emails").leased <= 50  # of 1 MiB each, where 10,000 would be allowed
    stream.call.cancel()
    eventually(lambda: store.queues.stats("emails").ready == 100)


def test_messages_of_a_stream_are_settled_one_by_one_too(caller: Caller, store: MemoryStore) -> None:
    store.queues.put("emails")
    stream = Stream(caller, queue="emails")
    assert stream.started.queue == "emails"
    caller(
        f"{PATH}/Push", wire.PushRequest(queue="emails", messages=said(b"1", b"2", b"3")), wire.PushResponse
    )
    first, second, third = stream.messages(3)
    stream.say(
        settlements=[
            wire.Settlement(receipt=first.receipt),
            wire.Settlement(receipt=second.receipt, bury=wire.Bury(error="no")),
            wire.Settlement(receipt=third.receipt, release=wire.Release()),
            wire.Settlement(receipt=third.receipt + "x"),
        ]
    )
    assert list(next(stream.call).results) == [wire.SETTLED] * 3 + [wire.LOST]
    (again,) = stream.messages(1)
    assert (again.payload, again.number, again.attempt) == (b"3", 4, 1)
    assert store.queues.stats("emails")[2:5] == (1, 1, 1)


def test_a_broken_stream_is_resumed_with_no_gap(address: str, store: MemoryStore) -> None:
    with Caller(address) as first:
        stream = Stream(first, topic="orders")
        resume = stream.started.resume
        publish(first, "orders", b"1", b"2", b"3")
        stream.messages(3)
        stream.say(upto=1)
        assert next(stream.call).upto == 1
    with Caller(address) as second:
        publish(second, "orders", b"4")
        again = Stream(second, resume=resume)
        assert again.started.resume == resume
        assert {each.payload for each in again.messages(3)} == {b"2", b"3", b"4"}


def test_what_a_server_that_is_gone_has_sent_comes_again_at_once(caller: Caller, store: MemoryStore) -> None:
    first = Stream(caller, topic="orders")
    resume = first.started.resume
    first.call.cancel()
    publish(caller, "orders", b"1", b"2")
    want = Want(limit=2, lease=timedelta(hours=1))
    held: list[Delivery] = []

    def all_held() -> bool:
        held.extend(store.claim(resume, [want])[0])
        return len(held) == 2

    eventually(all_held)
    again = Stream(caller, resume=resume)
    assert again.started.resume == resume
    assert {each.payload for each in again.messages(2)} == {b"1", b"2"}


def test_the_subscription_of_a_stream_that_does_not_come_back_is_dropped(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "ALIVE", timedelta(seconds=0.3))
    with serving(store, patience=timedelta(seconds=0.6)) as address:
        with Caller(address) as caller:
            assert Stream(caller, topic="orders").started.queue
            assert len(store.queues.list()) == 1
        eventually(lambda: store.queues.list() == [])


def test_a_stream_gets_what_its_conditions_say_and_leaves_the_rest_to_others(
    caller: Caller, store: MemoryStore
) -> None:
    where = [wire.Condition(key="lang", operator="in", values=["en", "de"])]
    own, shared = Stream(caller, topic="t", where=where), Stream(caller, topic="t", queue="q", where=where)
    name = own.started.queue
    assert shared.started.queue == "q"
    for lang in ("fr", "de"):
        publish(caller, "t", lang.encode(), metadata={"lang": lang})
    assert [each.payload for each in own.messages(1) + shared.messages(1)] == [b"de", b"de"]
    assert store.queues.stats("q").ready == 1
    eventually(lambda: store.queues.stats(name).done == 1)


def test_settings_of_a_queue_come_and_go(caller: Caller) -> None:
    changes = wire.Settings(
        max_attempts=3, lease=Duration(seconds=5), fifo=True, tags=wire.Tags(tags={"a": "b"})
    )
    caller(f"{PATH}/PutQueue", wire.PutQueueRequest(name="q", changes=changes), wire.Queue)
    asked = wire.PutQueueRequest(name="q", none=["max_attempts"], changes=wire.Settings(paused=True))
    caller(f"{PATH}/PutQueue", asked, wire.Queue)
    found = caller(f"{PATH}/GetQueue", wire.QueueRequest(name="q"), wire.Queue).settings
    assert not found.HasField("max_attempts")
    assert (found.lease.seconds, found.fifo, found.paused, dict(found.tags.tags)) == (
        5,
        True,
        True,
        {"a": "b"},
    )


@pytest.mark.parametrize(
    ("method", "asked", "code", "sentence"),
    [
        ("Push", wire.PushRequest(queue="none", messages=said(b"1")), "NOT_FOUND", "no queue 'none'"),
        ("Push", wire.PushRequest(queue="q", messages=said(b"{", json=True)), "INVALID_ARGUMENT", "not JSON"),
        ("Push", wire.PushRequest(queue="q", messages=said(b"", id=b"short")), "INVALID_ARGUMENT", "16 byte"),
        ("Push", wire.PushRequest(queue="q", messages=said(b"", priority=10)), "INVALID_ARGUMENT", "0 to 9"),
        ("Claim", wire.ClaimRequest(queue="none"), "NOT_FOUND", "no queue 'none'"),
        ("Claim", wire.ClaimRequest(queue="q", lease=Duration(seconds=-1)), "INVALID_ARGUMENT", "longer"),
        (
            "Claim", wire.ClaimRequest(queue="q", where=[wire.Condition(operator="~")]),
            "INVALID_ARGUMENT", "operator is one of",
        ),
        ("Extend", wire.ExtendRequest(), "INVALID_ARGUMENT", "how long"),
        ("Publish", wire.PublishRequest(), "INVALID_ARGUMENT", "a topic name has 1 to 255"),
        ("Bind", wire.BindRequest(topic="t", queue="none"), "NOT_FOUND", "there is no queue"),
        ("GetQueue", wire.QueueRequest(name="none"), "NOT_FOUND", "there is no queue"),
        ("PutQueue", wire.PutQueueRequest(name="q", none=["lease"]), "INVALID_ARGUMENT", "can be none"),
        ("Nothing", wire.QueueRequest(), "UNIMPLEMENTED", ""),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_the_right_status_and_a_clear_sentence(
    caller: Caller, store: MemoryStore, method: str, asked: Any, code: str, sentence: str
) -> None:
    store.queues.put("q")
    got, why = caller.refused(f"{PATH}/{method}", asked, wire.Queue)
    assert got == code
    assert sentence in why


@pytest.mark.parametrize(
    ("start", "code", "sentence"),
    [
        ({}, "INVALID_ARGUMENT", "a topic, a queue, or both"),
        ({"queue": "none"}, "NOT_FOUND", "there is no queue"),
        ({"queue": "q", "credit": 10_001}, "INVALID_ARGUMENT", "credit is at most 10000"),
        ({"resume": "q"}, "NOT_FOUND", "there is no queue"),
        ({"resume": "q", "queue": "q"}, "INVALID_ARGUMENT", "leave out"),
    ],
)
def test_a_subscription_that_cannot_be_is_refused(
    caller: Caller, store: MemoryStore, start: Any, code: str, sentence: str
) -> None:
    store.queues.put("q")
    with pytest.raises(grpc.RpcError) as refused:
        list(Stream(caller, **start).call)
    assert refused.value.code().name == code
    assert sentence in str(refused.value.details())


def test_a_store_that_is_away_is_unavailable_and_says_nothing_of_itself(
    caller: Caller, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("password of db.example.com is wrong")

    monkeypatch.setattr(store, "claim", away)
    code, sentence = caller.refused(f"{PATH}/Claim", wire.ClaimRequest(queue="q"), wire.ClaimResponse)
    assert code == "UNAVAILABLE"
    assert "db.example.com" not in sentence


def test_health_and_reflection_are_served(caller: Caller) -> None:
    health = health_pb2_grpc.HealthStub(caller.channel)
    for service in ("", "rowmq.v1.RowMQ", "routeguide.RouteGuide"):
        found = health.Check(health_pb2.HealthCheckRequest(service=service))
        assert found.status == health_pb2.HealthCheckResponse.SERVING
    asked = reflection_pb2.ServerReflectionRequest(list_services="")
    (listed,) = reflection_pb2_grpc.ServerReflectionStub(caller.channel).ServerReflectionInfo(iter([asked]))
    names = {each.name for each in listed.list_services_response.service}
    assert {"rowmq.v1.RowMQ", "routeguide.RouteGuide", "grpc.health.v1.Health"} <= names
