"""Who may call what: every method of both interfaces, with every right and none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
import pytest

from rowmq.doors.grpc import native
from rowmq.doors.grpc import routeguide_pb2 as guide
from rowmq.doors.grpc.routeguide import RouteGuide
from rowmq.doors.grpc.status import unauthenticated
from rowmq.doors.right import Principal, Right
from rowmq.stores.grpc import rowmq_pb2 as wire
from rowmq.stores.memory import MemoryStore
from tests.doors.grpc.serving import Caller, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.doors.grpc.method import Method

MINE, OTHERS = "mine", "others"


def admit(authorization: str | None, address: str) -> Principal:
    """Whose token names a right has it on what is theirs."""
    assert address == "127.0.0.1"
    token = (authorization or "").removeprefix("Bearer ")
    if token not in list(Right):
        raise unauthenticated()
    return Principal(token, {Right(token): (MINE, "t")})


@pytest.fixture
def store() -> MemoryStore:
    found = MemoryStore()
    for name in (MINE, OTHERS):
        found.queues.put(name)
    return found


@pytest.fixture
def address(store: MemoryStore) -> Iterator[str]:
    with serving(store, admit=admit) as found:
        yield found


def request_of(method: Method, name: str) -> Any:
    """A request of the method that is about this queue or topic."""
    kind = method.request
    fields = {field.name for field in kind.DESCRIPTOR.fields}
    if kind is wire.SubscribeRequest:
        return kind(start=wire.Start(queue=name))
    if kind is wire.WaitRequest:
        return kind(queues=[name])
    said: dict[str, Any] = {each: name for each in ("name", "queue", "topic", "key") if each in fields}
    return kind(**said, **({"consumerID": "c"} if "consumerID" in fields else {}))


def code_of(caller: Caller, service: str, method: Method, asked: Any) -> str:
    make = {
        (False, False): caller.channel.unary_unary,
        (True, False): caller.channel.stream_unary,
        (True, True): caller.channel.stream_stream,
    }[method.streams_in, method.streams_out]
    call: Any = make(
        f"/{service}/{method.name}",
        request_serializer=method.request.SerializeToString,
        response_deserializer=method.response.FromString,
    )
    said = iter([asked]) if method.streams_in else asked
    try:
        found = call(said, metadata=caller.metadata, timeout=20)
        if method.streams_out:
            list(found)
    except grpc.RpcError as error:
        return error.code().name
    return "OK"


OURS = [(native.NAME, each) for each in native.METHODS]
GOMQS = [("routeguide.RouteGuide", each) for each in RouteGuide(None).methods()]  # type: ignore[arg-type]
ALL = [*OURS, *GOMQS]
LATE = {"Extend", "Settle", "GetStore", "ListBindings", "ListQueues", "ListConsumers", "Observe"}
"""What is about no name until receipts are opened, lists are made or keys are known."""


@pytest.mark.parametrize(("service", "method"), ALL, ids=[f"{s}/{m.name}" for s, m in ALL])
def test_every_method_is_closed_to_strangers_and_to_those_without_its_right(
    address: str, service: str, method: Method
) -> None:
    with Caller(address) as stranger, Caller(address, "wrong") as liar:
        for caller in (stranger, liar):
            assert code_of(caller, service, method, request_of(method, MINE)) == "UNAUTHENTICATED"
    if method.name in LATE:
        return
    for right in Right:
        with Caller(address, right) as caller:
            others = code_of(caller, service, method, request_of(method, OTHERS))
            mine = code_of(caller, service, method, request_of(method, MINE))
        allowed = right is method.right or (right is Right.MANAGE and method.right is Right.READ)
        assert others == "PERMISSION_DENIED"
        assert (mine != "PERMISSION_DENIED") == allowed


def test_every_method_of_the_interfaces_is_in_a_table() -> None:
    declared = wire.DESCRIPTOR.services_by_name["RowMQ"].methods_by_name
    assert [each.name for each in native.METHODS] == sorted(
        declared, key=[each.name for each in native.METHODS].index
    )
    assert {each.name for _, each in GOMQS} == set(
        guide.DESCRIPTOR.services_by_name["RouteGuide"].methods_by_name
    )


def test_a_receipt_is_of_no_use_to_who_may_not_claim_from_its_queue(address: str, store: MemoryStore) -> None:
    with Caller(address, "claim") as holder, Caller(address, "push") as other:
        other(
            "/rowmq.v1.RowMQ/Push",
            wire.PushRequest(queue=MINE, messages=[wire.NewMessage()]),
            wire.PushResponse,
        )
        (found,) = holder("/rowmq.v1.RowMQ/Claim", wire.ClaimRequest(queue=MINE), wire.ClaimResponse).messages
        for method, asked in (
            ("Settle", wire.SettleRequest(settlements=[wire.Settlement(receipt=found.receipt)])),
            ("Extend", wire.ExtendRequest(receipts=[found.receipt])),
        ):
            code, _ = other.refused(f"/rowmq.v1.RowMQ/{method}", asked, wire.SettleResponse)
            assert code == "PERMISSION_DENIED"
    assert store.queues.stats(MINE).leased == 1


def test_lists_show_what_the_caller_may_read(address: str, store: MemoryStore) -> None:
    store.topics.bind("t", MINE)
    store.topics.bind("secret", OTHERS)
    with Caller(address, "read") as caller:
        queues = caller(
            "/rowmq.v1.RowMQ/ListQueues", wire.ListQueuesRequest(), wire.ListQueuesResponse
        ).queues
        asked = wire.ListBindingsRequest()
        pairs = caller("/rowmq.v1.RowMQ/ListBindings", asked, wire.ListBindingsResponse).bindings
    assert [each.name for each in queues] == [MINE]
    assert [each.topic for each in pairs] == ["t"]


def test_a_consumer_is_observed_and_joined_only_by_who_may_claim_from_all_its_keys(
    address: str, store: MemoryStore
) -> None:
    observing = guide.Identification(consumerID="c")
    with Caller(address, "claim") as mine:
        mine("/routeguide.RouteGuide/Subscribe", guide.Subscription(key=MINE, consumerID="c"), guide.Result)
        mine("/routeguide.RouteGuide/Observe", observing, guide.RecordSet)
        before = store.queues.list()
        with Caller(address, "push") as other:
            code, said = other.refused("/routeguide.RouteGuide/Observe", observing, guide.RecordSet)
        assert (code, said) == ("NOT_FOUND", "no consumer 'c' is subscribed; subscribe first")
        assert store.queues.list() == before


def test_a_subscription_is_made_only_by_who_manages_topic_and_queue(address: str, store: MemoryStore) -> None:
    asked = wire.SubscribeRequest(start=wire.Start(topic="t", queue=MINE))
    (method,) = (each for each in native.METHODS if each.name == "Subscribe")
    with Caller(address, "claim") as caller:
        assert code_of(caller, native.NAME, method, asked) == "PERMISSION_DENIED"
        store.topics.bind("t", MINE)
        assert code_of(caller, native.NAME, method, asked) == "OK"
