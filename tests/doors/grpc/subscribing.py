"""Subscriptions of RowMQ's own interface, and publishing to them."""

from __future__ import annotations

import queue
import time
from typing import TYPE_CHECKING, Any

from rowmq.stores.grpc import rowmq_pb2 as wire

if TYPE_CHECKING:
    from tests.doors.grpc.serving import Caller

PATH = "/rowmq.v1.RowMQ"
SOON = 60.0


class Stream:
    """A subscription, with the client's half in a queue."""

    def __init__(self, caller: Caller, **start: Any) -> None:
        self._requests: queue.Queue[wire.SubscribeRequest | None] = queue.Queue()
        self.say(start=wire.Start(**start))
        requests = iter(self._requests.get, None)
        self.call = caller.streamed(
            f"{PATH}/Subscribe", requests, wire.SubscribeResponse, wire.SubscribeRequest
        )

    def say(self, **said: Any) -> None:
        self._requests.put(wire.SubscribeRequest(**said))

    @property
    def started(self) -> wire.Started:
        return next(self.call).started  # type: ignore[no-any-return]

    def messages(self, count: int) -> list[wire.Delivered]:
        """So many messages, in however many frames they come."""
        found: list[wire.Delivered] = []
        while len(found) < count:
            found += next(self.call).messages
        return found


def said(*payloads: bytes, **options: Any) -> list[wire.NewMessage]:
    return [wire.NewMessage(payload=payload, **options) for payload in payloads]


def publish(caller: Caller, topic: str, *payloads: bytes, **options: Any) -> int:
    asked = wire.PublishRequest(topic=topic, messages=said(*payloads, **options))
    return int(caller(f"{PATH}/Publish", asked, wire.PublishResponse).queues)


def eventually(true: Any) -> None:
    end = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
