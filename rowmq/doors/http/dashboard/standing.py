"""How a queue stands: what the head of each of its pages says."""

from typing import NamedTuple

from rowmq.core.errors import QueueNotFound, Unsupported
from rowmq.core.monitor import Counts, Monitor
from rowmq.core.queue import Queue
from rowmq.doors.http.call import Call
from rowmq.doors.right import Right

MOST_NAMES = 200
"""How many queues are offered where the name of one is asked for."""


class Standing(NamedTuple):
    """A queue, how many messages it has, and which others there are."""

    queue: Queue
    counts: Counts
    others: list[str]
    """Queues that messages can go to, as far as the visitor may read them."""
    feeders: list[str]
    """Queues whose dead letters come here."""


def monitor_of(call: Call) -> Monitor:
    """What tells how queues stand; a store that is another server's has none. Raises Unsupported."""
    found: Monitor | None = getattr(call.broker.store, "monitor", None)
    if found is None:
        raise Unsupported("this server passes everything on to another; open the dashboard of that one")
    return found


def standing(call: Call, name: str) -> Standing:
    """How the queue of this name stands. Raises QueueNotFound; to be run away from the event loop."""
    store = call.broker.store
    queue = store.queues.get(name)
    counts = monitor_of(call).counts([name], now=call.now).get(name)
    if queue is None or counts is None:
        raise QueueNotFound(name)
    known = _readable(call)
    others = [each.name for each in known if each.name != name][:MOST_NAMES]
    return Standing(queue, counts, others, [each.name for each in known if each.dead_letter == name])


def names_for(call: Call, name: str) -> list[str]:
    """The other queues that a message of this one could go to; to be run away from the event loop."""
    return [each.name for each in _readable(call) if each.name != name][:MOST_NAMES]


def _readable(call: Call) -> list[Queue]:
    return [each for each in call.broker.store.queues.list() if call.principal.may(Right.READ, each.name)]
