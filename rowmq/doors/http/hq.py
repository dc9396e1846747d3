"""The hq API: queues and messages over plain HTTP, as hq's own clients ask and expect to be answered."""

from base64 import b64encode
from typing import Any
from uuid import UUID

import msgspec

from rowmq.core.delivery import Delivery, Receipt, Settlement, Want
from rowmq.core.errors import QueueNotFound
from rowmq.core.message import Batch, Message, check_json
from rowmq.core.outcome import ACK, Bury, Outcome, Reason
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.hq_queue import Asked, Changed, Shown, change_queue, create_queue, settings_of, shown
from rowmq.doors.http.plain import refuse
from rowmq.doors.http.refusal import bad_request
from rowmq.doors.http.route import Family, Route
from rowmq.doors.right import Right
from rowmq.stores.fresh import new_id

LARGEST_MESSAGE = 2 * 2**20
EMPTY = Answer(type="")


class Enqueued(msgspec.Struct):
    """The id of a message that was stored."""

    message_id: UUID


class Received(msgspec.Struct):
    """A message, held from now on for as long as its queue says."""

    id: UUID
    args: Any
    queue: str
    attempts: int
    receipt: str


class Proof(msgspec.Struct):
    """What a holder may show."""

    receipt: str | None = None


async def create(call: Call) -> Answer:
    """Create a queue."""
    asked: Asked = call.query
    call.demand(Right.MANAGE, asked.name)
    settings = settings_of(asked)
    await call.run(lambda: create_queue(call.broker.store, asked.name, settings, call.now))
    return EMPTY


async def listing(call: Call) -> Answer:
    """List the queues by name."""
    queues = await call.run(call.broker.store.queues.list)
    return _json([shown(each) for each in queues if call.principal.may(Right.READ, each.name)])


async def get(call: Call) -> Answer:
    """Show a queue, or null."""
    queue = await call.run(lambda: call.broker.store.queues.get(call.path["name"]))
    return _json(None if queue is None else shown(queue))


async def update(call: Call) -> Answer:
    """Change a queue's settings, also for messages that are held; nothing if it is not there."""
    settings = settings_of(call.query)
    if settings:
        await call.run(lambda: change_queue(call.broker.store, call.path["name"], settings, call.now))
    return EMPTY


async def delete(call: Call) -> Answer:
    """Delete a queue with everything in it, if it is there."""
    await call.run(lambda: call.broker.store.queues.drop(call.path["name"], now=call.now))
    return EMPTY


async def enqueue(call: Call) -> Answer:
    """Push a message: any JSON value."""
    message = Message(id=new_id(), body=check_json(call.body))
    await call.push(Batch(call.path["name"], [message]))
    return _json(Enqueued(message.id))


async def receive(call: Call) -> Answer:
    """Claim a message; null if none is ready."""
    try:
        found = await call.claim(call.path["name"], Want())
    except QueueNotFound:
        found = []
    return _json(_received(call, found[0]) if found else None)


async def complete(call: Call) -> Answer:
    """Have a message done: by its holder, who shows the receipt; without one, by anybody while it is held."""
    return await _settle(call, ACK)


async def fail(call: Call) -> Answer:
    """Have a message dead, once and for all; by the same as may have it done."""
    return await _settle(call, Bury(reason=Reason.KILLED, error="failed by its holder"))


def family() -> Family:
    """The routes of hq."""
    message = {"right": Right.CLAIM, "late": True, "query": Proof, "refuses": (400,)}
    return Family(
        "hq",
        (
            Route(
                "POST", "/queues", create, Right.MANAGE, late=True, query=Asked, refuses=(400, 409, 422)
            ),
            Route("GET", "/queues", listing, Right.READ, late=True, gives=list[Shown]),
            Route("GET", "/queues/{name}", get, Right.READ, "name", gives=Shown | None),
            Route(
                "PUT", "/queues/{name}", update, Right.MANAGE, "name", query=Changed, refuses=(400, 422)
            ),
            Route("DELETE", "/queues/{name}", delete, Right.MANAGE, "name", refuses=(409,)),
            Route(
                "POST", "/queues/{name}/enqueue", enqueue, Right.PUSH, "name",
                body=bytes, gives=Enqueued, limit=LARGEST_MESSAGE, refuses=(400, 404, 413, 429),
            ),
            Route(
                "GET", "/queues/{name}/receive", receive, Right.CLAIM, "name",
                gives=Received | None, consumes=True,
            ),
            Route("PUT", "/messages/{id}/complete", complete, **message),  # type: ignore[arg-type]
            Route("PUT", "/messages/{id}/fail", fail, **message),  # type: ignore[arg-type]
        ),
        refuse,
    )  # fmt: skip


async def _settle(call: Call, outcome: Outcome) -> Answer:
    """Settle what the receipt is of, or else what has the id, and tell in a header whether that counted."""
    id = _id(call.path["id"])
    said: str | None = call.query.receipt
    receipt = _shown_receipt(call, said) if said is not None else await _held(call, id)
    answer = "lost" if receipt is None else (await call.settle([Settlement(receipt, outcome)]))[0]
    return Answer(type="", headers={"rowmq-settled": answer})


def _shown_receipt(call: Call, said: str) -> Receipt:
    opened = call.broker.seal.open(said)
    if opened is None:
        raise bad_request("this receipt is not one of ours; show the one that the message came with")
    call.demand(Right.CLAIM, opened.queue)
    return opened.receipt


async def _held(call: Call, id: UUID) -> Receipt | None:
    """The receipt of whoever holds the message now, if the caller might have been given it."""
    history = call.broker.store.history
    record = await call.run(lambda: history.get(id, now=call.now))
    if record is None:
        call.demand_everywhere(Right.CLAIM)  # like any message that is not for them to see
        return None
    call.demand(Right.CLAIM, record.queue)
    return await call.run(lambda: history.receipt(id, now=call.now))


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise bad_request("a message's id is a UUID") from None


def _received(call: Call, delivery: Delivery) -> Received:
    args = b64encode(delivery.body).decode() if delivery.binary else msgspec.Raw(delivery.body)
    receipt = call.broker.seal.text(delivery.receipt, delivery.queue)
    return Received(delivery.id, args, delivery.queue, delivery.attempt, receipt)


def _json(value: Any) -> Answer:
    return Answer(200, msgspec.json.encode(value))
