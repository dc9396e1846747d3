"""Consumers: who is alive, in which place, and who leads."""

from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.native.answering import done, json, like, list_of
from rowmq.doors.http.refusal import forbidden
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right
from rowmq.stores.remote import reading
from rowmq.stores.remote.queue_shapes import QueueQuery
from rowmq.stores.remote.role_shapes import Beating, ConsumerList, ConsumerShape, Leading, Led, Place
from rowmq.stores.remote.shapes import Done


async def beat(call: Call) -> Answer:
    """Register a consumer, or keep it alive, and tell its place."""
    queue, name, ttl = call.path["queue"], call.path["consumer"], reading.span(call.body.ttl)
    consumers = call.broker.store.consumers
    return json(like(Place, await call.run(lambda: consumers.beat(queue, name, ttl, now=call.now))))


async def retire(call: Call) -> Answer:
    """Forget a consumer at once."""
    queue, name = call.path["queue"], call.path["consumer"]
    return done(changed=await call.run(lambda: call.broker.store.consumers.retire(queue, name)))


async def list_consumers(call: Call) -> Answer:
    """List the consumers alive now, of one queue or of all that you may read."""
    queue, consumers = call.query.queue, call.broker.store.consumers
    if queue is not None:
        call.demand(Right.READ, queue)
    found = await call.run(lambda: consumers.list(queue, now=call.now))
    allowed = [each for each in found if call.principal.may(Right.READ, each.queue)]
    return json(ConsumerList(list_of(ConsumerShape, allowed)))


async def lead(call: Call) -> Answer:
    """Take the lead of a role, or keep it: of any number who ask, one has it. Needs a right everywhere."""
    demand_upkeep(call)
    said: Leading = call.body
    ttl, consumers = reading.span(said.ttl), call.broker.store.consumers
    return json(Led(await call.run(lambda: consumers.lead(said.role, said.consumer, ttl, now=call.now))))


def demand_upkeep(call: Call) -> None:
    """Refuse, unless the caller works for, or manages, all queues: upkeep is done for all of them."""
    if not any(call.principal.may_everywhere(right) for right in (Right.CLAIM, Right.MANAGE)):
        raise forbidden()


CONSUMER = "/v1/queues/{queue}/consumers/{consumer}"
ROUTES = (
    Route("PUT", CONSUMER, beat, Right.CLAIM, over="queue", body=Beating, gives=Place, refuses=(404, 422)),
    Route("DELETE", CONSUMER, retire, Right.CLAIM, over="queue", gives=Done),
    Route(
        "GET", "/v1/consumers", list_consumers, Right.READ, late=True, query=QueueQuery, gives=ConsumerList
    ),
    Route("POST", "/v1/lead", lead, Right.CLAIM, late=True, body=Leading, gives=Led, refuses=(422,)),
)
