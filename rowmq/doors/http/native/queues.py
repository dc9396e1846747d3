"""Queues: made, changed, looked at, emptied, paused and deleted."""

from rowmq.core.errors import QueueNotFound
from rowmq.core.queue import Queue
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.native.answering import counted, done, json
from rowmq.doors.http.refusal import forbidden
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right
from rowmq.stores.remote import reading, writing
from rowmq.stores.remote.queue_shapes import Depth, Purging, QueueChanges, QueueList, QueueShape, Redriving
from rowmq.stores.remote.shapes import Counted, Done


async def list_queues(call: Call) -> Answer:
    """List the queues that you may read, by name."""
    found = await call.run(call.broker.store.queues.list)
    return json(
        QueueList([writing.queue(each) for each in found if call.principal.may(Right.READ, each.name)])
    )


async def put_queue(call: Call) -> Answer:
    """Create a queue, or change some of its settings. Who names a dead-letter queue must manage that too.

    Who may only read the queue, and changes nothing, gets it as it is: so workers may begin with this.
    """
    changes, name = reading.changes(call.body), call.path["queue"]
    if not changes and not call.principal.may(Right.MANAGE, name):
        return json(writing.queue(await _readable(call, name)))
    letters = changes.get("dead_letter")
    call.demand(Right.MANAGE, name, *([letters] if isinstance(letters, str) else ()))
    queues = call.broker.store.queues
    return json(writing.queue(await call.run(lambda: queues.put(name, changes, now=call.now))))


async def _readable(call: Call, name: str) -> Queue:
    """A queue that is there; to make it takes another right."""
    call.demand(Right.READ, name)
    found = await call.run(lambda: call.broker.store.queues.get(name))
    if found is None:
        raise forbidden()
    return found


async def get_queue(call: Call) -> Answer:
    """Look up a queue's settings."""
    name = call.path["queue"]
    found = await call.run(lambda: call.broker.store.queues.get(name))
    if found is None:
        raise QueueNotFound(name)
    return json(writing.queue(found))


async def drop_queue(call: Call) -> Answer:
    """Delete a queue with everything in it; not while it is another queue's dead-letter queue."""
    name, queues = call.path["queue"], call.broker.store.queues
    return done(changed=await call.run(lambda: queues.drop(name, now=call.now)))


async def stats(call: Call) -> Answer:
    """Count a queue's messages by state."""
    name, queues = call.path["queue"], call.broker.store.queues
    found = await call.run(lambda: queues.stats(name, now=call.now))
    return json(Depth(*found[:5], writing.seconds(found.oldest_age)))


async def purge(call: Call) -> Answer:
    """Delete what still waits in a queue, or what is in one state."""
    name, said, queues = call.path["queue"], call.body, call.broker.store.queues
    chosen = {"state": said.state, "before": reading.maybe_moment(said.before), "limit": said.limit}
    return counted(await call.run(lambda: queues.purge(name, **chosen, now=call.now)))


async def pause(call: Call) -> Answer:
    """Let claims find nothing until the queue is resumed; pushes go on."""
    return await _set_paused(call, paused=True)


async def resume(call: Call) -> Answer:
    """Let claims find messages again."""
    return await _set_paused(call, paused=False)


async def _set_paused(call: Call, *, paused: bool) -> Answer:
    """Pause or resume a queue that exists; a misspelt name makes no queue."""
    name, queues = call.path["queue"], call.broker.store.queues
    if await call.run(lambda: queues.get(name)) is None:
        raise QueueNotFound(name)
    return json(writing.queue(await call.run(lambda: queues.put(name, {"paused": paused}, now=call.now))))


async def redrive(call: Call) -> Answer:
    """Give a queue's dead messages, and those dead-lettered into it, another life."""
    name, said, history = call.path["queue"], call.body, call.broker.store.history
    if said.to is not None:
        call.demand(Right.MANAGE, said.to)
    return counted(await call.run(lambda: history.redrive(name, to=said.to, limit=said.limit, now=call.now)))


QUEUE = "/v1/queues/{queue}"
ROUTES = (
    Route("GET", "/v1/queues", list_queues, Right.READ, late=True, gives=QueueList),
    Route(
        "PUT",
        QUEUE,
        put_queue,
        Right.MANAGE,
        late=True,
        body=QueueChanges,
        gives=QueueShape,
        refuses=(404, 422),
    ),
    Route("GET", QUEUE, get_queue, Right.READ, over="queue", gives=QueueShape, refuses=(404,)),
    Route("DELETE", QUEUE, drop_queue, Right.MANAGE, over="queue", gives=Done, refuses=(409,)),
    Route("GET", f"{QUEUE}/stats", stats, Right.READ, over="queue", gives=Depth, refuses=(404,)),
    Route(
        "POST",
        f"{QUEUE}/purge",
        purge,
        Right.MANAGE,
        over="queue",
        body=Purging,
        gives=Counted,
        refuses=(404, 422),
    ),
    Route("POST", f"{QUEUE}/pause", pause, Right.MANAGE, over="queue", gives=QueueShape, refuses=(404,)),
    Route("POST", f"{QUEUE}/resume", resume, Right.MANAGE, over="queue", gives=QueueShape, refuses=(404,)),
    Route(
        "POST",
        f"{QUEUE}/redrive",
        redrive,
        Right.MANAGE,
        over="queue",
        body=Redriving,
        gives=Counted,
        refuses=(404, 409, 422, 429),
    ),
)
