"""One call of each kind of RowMQ's own interface, on every database there is."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from google.protobuf.duration_pb2 import Duration

from rowmq.stores import open_store
from rowmq.stores.grpc import rowmq_pb2 as wire
from tests.doors.grpc.serving import Caller, serving
from tests.doors.grpc.subscribing import PATH, Stream, publish, said

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NUMBERS = [b"%d" % number for number in range(30)]


@pytest.fixture(params=["sqlite", "postgres", "mysql", "redis"])
def caller(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Caller]:
    kind = request.param
    url = f"sqlite:///{tmp_path / 'q.db'}" if kind == "sqlite" else request.getfixturevalue(f"{kind}_url")
    with closing(open_store(url)) as store, serving(store) as address, Caller(address) as found:
        yield found


def test_messages_are_pushed_claimed_published_and_subscribed_to(caller: Caller) -> None:
    _a_queues_calls(caller)
    _a_stream_of_batches_to_those_who_share(caller)
    _a_subscription_that_breaks(caller)


def _a_queues_calls(caller: Caller) -> None:
    caller(f"{PATH}/PutQueue", wire.PutQueueRequest(name="emails"), wire.Queue)
    pushing = wire.PushRequest(queue="emails", messages=said(*NUMBERS))
    assert len(caller(f"{PATH}/Push", pushing, wire.PushResponse).ids) == 30
    found = caller(f"{PATH}/Claim", wire.ClaimRequest(queue="emails", limit=30), wire.ClaimResponse).messages
    assert [each.payload for each in found] == NUMBERS
    receipts = [each.receipt for each in found]
    extending = wire.ExtendRequest(receipts=receipts, lease=Duration(seconds=300))
    assert all(
        each.HasField("until") for each in caller(f"{PATH}/Extend", extending, wire.ExtendResponse).results
    )
    settling = wire.SettleRequest(settlements=[wire.Settlement(receipt=each) for each in receipts])
    assert set(caller(f"{PATH}/Settle", settling, wire.SettleResponse).results) == {wire.SETTLED}
    assert caller(f"{PATH}/GetStats", wire.QueueRequest(name="emails"), wire.Stats).done == 30


def _a_stream_of_batches_to_those_who_share(caller: Caller) -> None:
    shared = [Stream(caller, topic="orders", queue="billing", credit=15) for _ in range(2)]
    assert [each.started.queue for each in shared] == ["billing"] * 2
    batches = [wire.PublishRequest(topic="orders", messages=said(each)) for each in NUMBERS]
    assert caller.poured(f"{PATH}/PublishStream", batches, wire.PublishStreamResponse).messages == 30
    got = [each.payload for stream in shared for each in stream.messages(15)]
    assert sorted(got) == sorted(NUMBERS)
    for stream in shared:
        stream.say(upto=15, end=True)
        assert [(each.upto, list(each.lost)) for each in stream.call] == [(15, [])]


def _a_subscription_that_breaks(caller: Caller) -> None:
    stream = Stream(caller, topic="news")
    resume = stream.started.resume
    publish(caller, "news", *NUMBERS[:10])
    stream.messages(10)
    stream.say(upto=5)
    assert next(stream.call).upto == 5
    stream.call.cancel()
    publish(caller, "news", *NUMBERS[10:])
    again = Stream(caller, resume=resume)
    assert again.started.resume == resume
    assert {each.payload for each in again.messages(25)} == set(NUMBERS[5:])
    again.say(upto=25, end=True)
    assert [each.upto for each in again.call] == [25]
