"""GOMQ's four calls."""

from collections.abc import Sequence
from functools import partial

from grpc import StatusCode

from rowmq.core.delivery import Delivery
from rowmq.core.message import Message
from rowmq.core.names import check_name
from rowmq.doors.grpc import routeguide_pb2 as wire
from rowmq.doors.grpc.call import Call
from rowmq.doors.grpc.method import Method
from rowmq.doors.grpc.peers import Peers, Unknown
from rowmq.doors.grpc.status import Denied
from rowmq.doors.right import Right
from rowmq.stores.fresh import new_id

NAME = wire.DESCRIPTOR.services_by_name["RouteGuide"].full_name
DONE = wire.Result(code=0)


class RouteGuide:
    """The four calls, for the peers of one server."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    async def publish(self, call: Call, said: wire.PublishRecord) -> wire.Result:
        """Send a message to every peer of every consumer that is subscribed to the key."""
        check_name(said.key, "key")
        await call.publish(said.key, [Message(id=new_id(), body=said.payload, binary=True)])
        return DONE

    async def subscribe(self, call: Call, said: wire.Subscription) -> wire.Result:
        """Let a consumer get what is published to the key, at every peer it observes from."""
        _check(said)
        await self._peers.subscribe(said.consumerID, said.key, call.peer, partial(call.demand, Right.CLAIM))
        return DONE

    async def unsubscribe(self, call: Call, said: wire.Subscription) -> wire.Result:
        """End that, and discard what the consumer has not received of the key."""
        _check(said)
        if not await self._peers.unsubscribe(said.consumerID, said.key, call.peer):
            raise _unknown(f"the consumer {said.consumerID!r} is not subscribed to {said.key!r}")
        return DONE

    async def observe(self, call: Call, said: wire.Identification) -> wire.RecordSet:
        """What has come for this peer of the consumer; what came with its last call is received.

        The keys of a consumer are only known on the way. Who may not claim from all of them is told what
        he is told who has subscribed to nothing.
        """
        check_name(said.consumerID, "consumer id")
        try:
            peer, sent = await self._peers.observe(
                said.consumerID, call.peer, partial(call.demand, Right.CLAIM)
            )
        except (Unknown, Denied):
            raise _unknown(f"no consumer {said.consumerID!r} is subscribed; subscribe first") from None
        call.when_late(lambda: peer.untake(sent))
        return wire.RecordSet(records=[_record(key, each) for key, each in sent])

    def methods(self) -> Sequence[Method]:
        """The table of them."""
        key = lambda said: (said.key,)  # noqa: E731 - a name for three uses
        return (
            Method(
                name="Publish", handle=self.publish, right=Right.PUSH, over=key,
                request=wire.PublishRecord, response=wire.Result,
            ),
            Method(
                name="Subscribe", handle=self.subscribe, right=Right.CLAIM, over=key,
                request=wire.Subscription, response=wire.Result,
            ),
            Method(
                name="Unsubscribe", handle=self.unsubscribe, right=Right.CLAIM, over=key,
                request=wire.Subscription, response=wire.Result,
            ),
            Method(
                name="Observe", handle=self.observe, right=Right.CLAIM,
                request=wire.Identification, response=wire.RecordSet,
            ),
        )  # fmt: skip


def _check(said: wire.Subscription) -> None:
    check_name(said.key, "key")
    check_name(said.consumerID, "consumer id")


def _record(key: str, found: Delivery) -> wire.Record:
    message = wire.Message(id=str(found.id), timestamp=found.created_at.isoformat(), payload=found.body)
    return wire.Record(key=key, value=message)


def _unknown(sentence: str) -> Denied:
    return Denied(StatusCode.NOT_FOUND, sentence)
