"""The store behind the server."""

from importlib.metadata import version

from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.native.answering import json, like
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right
from rowmq.stores.remote.history_shapes import DurabilityShape, StoreShape


async def store(call: Call) -> Answer:
    """Tell the store's clock, what its writes survive, and the server's version; for every known caller."""
    now = await call.run(call.broker.store.now)
    durability = await call.run(lambda: call.broker.store.durability)
    return json(StoreShape(now, like(DurabilityShape, durability), version("rowmq")))


ROUTES = (Route("GET", "/v1/store", store, Right.READ, late=True, gives=StoreShape),)
