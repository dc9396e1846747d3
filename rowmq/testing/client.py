"""A client for one test: in memory, gone with it."""

from rowmq.runtime.client import Client
from rowmq.stores.memory import MemoryStore
from rowmq.testing.clock import Clock


def connect(clock: Clock | None = None) -> Client:
    """Return a client on a new store in memory, which goes by this clock if one is given.

    >>> from rowmq import testing
    >>> mq = testing.connect(testing.Clock())
    >>> mq.get(mq.queue("emails").push("hello")).created_at.isoformat()
    '2026-01-01T00:00:00+00:00'
    """
    return Client(MemoryStore(clock.now if clock else None), url="memory://")
