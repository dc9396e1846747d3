"""Who observes topics over gRPC, as GOMQ's clients do, told from the queues that they have."""

from collections.abc import Mapping, Sequence
from typing import Any

from rowmq.core.history import ConsumerInfo
from rowmq.core.queue import Queue
from rowmq.doors.grpc.inbox import PATIENCE, Inbox, alive

Inboxes = Mapping[str, Inbox]


def inboxes_by_queue(queues: Sequence[Queue]) -> Inboxes:
    """The queues that are a peer's."""
    found = ((queue.name, Inbox.of(queue)) for queue in queues)
    return {name: inbox for name, inbox in found if inbox is not None}


def topic_shape(topic: str, queues: Sequence[str], inboxes: Inboxes) -> dict[str, Any]:
    """A topic, the queues bound to it, and the consumers whose peers have the others."""
    consumers = sorted({inboxes[queue].consumer for queue in queues if queue in inboxes})
    return {
        "topic": topic,
        "queues": [queue for queue in queues if queue not in inboxes],
        "consumers": consumers,
    }


def observer_shape(found: ConsumerInfo, inbox: Inbox | None) -> dict[str, Any]:
    """What is known of a consumer that is a peer: whose, of which key, and when it was last heard of."""
    if inbox is None:
        return {"consumer": None, "key": None, "last_action": None}
    last = found.alive_until - alive(PATIENCE)
    return {"consumer": inbox.consumer, "key": inbox.key, "last_action": last}
