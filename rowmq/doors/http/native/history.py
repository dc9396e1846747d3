"""Looking messages up, putting them right, and clearing up."""

from uuid import UUID

from rowmq.core.errors import InvalidSetting
from rowmq.core.history import Page, Record
from rowmq.core.outcome import State
from rowmq.core.where import Condition, Where, condition_of
from rowmq.doors.http.answer import NDJSON, Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.native.answering import SLICE, counted, json, like, list_of, streamed
from rowmq.doors.http.native.consumers import demand_upkeep
from rowmq.doors.http.refusal import Refusal, forbidden
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right
from rowmq.stores.remote import reading, writing
from rowmq.stores.remote.history_shapes import (
    Amending,
    Archiving,
    Bounds,
    FailureList,
    FailureShape,
    Finding,
    FindQuery,
    HolderReceipt,
    LedgerList,
    LedgerShape,
    PageShape,
    RecordShape,
    ScanQuery,
    StateQuery,
    Sweeping,
    SweptShape,
)
from rowmq.stores.remote.queue_shapes import QueueQuery
from rowmq.stores.remote.shapes import LARGEST_SEQ, Counted


async def get_message(call: Call) -> Answer:
    """Look up a message in whatever state it is."""
    return json(writing.record(await _readable(call)))


async def failures(call: Call) -> Answer:
    """List the failed attempts of a message, oldest first."""
    found = await _readable(call)
    failed = await call.run(lambda: call.broker.store.history.failures(found.id))
    return json(FailureList(list_of(FailureShape, failed)))


async def holder(call: Call) -> Answer:
    """Look up the receipt of whoever holds a message now; null if nobody does."""
    found = await _readable(call, Right.CLAIM)
    receipt = await call.run(lambda: call.broker.store.history.receipt(found.id, now=call.now))
    return json(HolderReceipt(None if receipt is None else call.broker.seal.text(receipt, found.queue)))


async def find_messages(call: Call) -> Answer:
    """Look for messages, finished ones too, in the order they were pushed, a page at a time."""
    return await _page(call, call.query, tuple(_condition(each) for each in call.query.where))


async def find(call: Call) -> Answer:
    """Look for messages, with conditions in JSON, a page at a time."""
    return await _page(call, call.body, reading.conditions(call.body.where))


async def export(call: Call) -> Answer:
    """Stream a queue's messages, of all states or one, as lines of JSON (NDJSON).

    Where something goes wrong in the middle, the last line is ``{"problem": ...}``.
    """
    queue, state = call.path["queue"], call.query.state
    return streamed(call, lambda after: _slice(call, queue, state, after), 0, LARGEST_SEQ)


async def scan(call: Call) -> Answer:
    """Stream every message with a seq between two, as lines of JSON (NDJSON), for bulk readers."""
    said: ScanQuery = call.query
    _demand_reading(call, said.queue)
    first = max(said.first, 1)
    return streamed(call, lambda after: _slice(call, said.queue, said.state, after), first - 1, said.last)


async def bounds(call: Call) -> Answer:
    """Tell the lowest and the highest seq stored."""
    return json(Bounds(*await call.run(call.broker.store.history.bounds)))


async def amend(call: Call) -> Answer:
    """Retry, kill, move or drop messages without holding them; who holds one loses it."""
    said: Amending = call.body
    if said.to is not None:
        call.demand(Right.MANAGE, said.to)
    if not call.principal.may_everywhere(Right.MANAGE):
        await _demand_managing(call, said.ids)
    history = call.broker.store.history
    return counted(await call.run(lambda: history.amend(said.ids, said.amendment, to=said.to, now=call.now)))


async def archive(call: Call) -> Answer:
    """Mark finished messages as archived, or delete them with a ledger entry."""
    said, history = call.body, call.broker.store.history
    return counted(
        await call.run(lambda: history.archive(said.seqs, prune=said.prune, before=said.before, now=call.now))
    )


async def ledger(call: Call) -> Answer:
    """List what was deleted, oldest first, of one queue or of all that you may read."""
    queue = call.query.queue
    if queue is not None:
        call.demand(Right.READ, queue)
    found = await call.run(lambda: call.broker.store.history.ledger(queue))
    allowed = [each for each in found if call.principal.may(Right.READ, each.queue)]
    return json(LedgerList(list_of(LedgerShape, allowed)))


async def sweep(call: Call) -> Answer:
    """Do what no caller has come to do: bury what is overdue, prune what is past retention."""
    demand_upkeep(call)
    limit, history = call.body.limit, call.broker.store.history
    return json(like(SweptShape, await call.run(lambda: history.sweep(limit=limit, now=call.now))))


async def _page(call: Call, said: Finding | FindQuery, where: Where) -> Answer:
    _demand_reading(call, said.queue)
    since, until = reading.maybe_moment(said.since), reading.maybe_moment(said.until)
    history = call.broker.store.history
    found = await call.run(
        lambda: history.find(
            said.queue,
            state=said.state,
            where=where,
            since=since,
            until=until,
            after=said.after,
            limit=said.limit,
            now=call.now,
        )
    )
    return json(PageShape(writing.records(found.records), found.after))


def _slice(call: Call, queue: str | None, state: State | None, after: int) -> Page:
    history = call.broker.store.history
    return history.find(queue, state=state, after=after, limit=SLICE, now=call.now)


def _demand_reading(call: Call, queue: str | None) -> None:
    """Refuse, unless the caller may read the queue; all of them, if none is named."""
    if queue is None:
        call.demand_everywhere(Right.READ)
    else:
        call.demand(Right.READ, queue)


async def _demand_managing(call: Call, ids: list[UUID]) -> None:
    """Refuse, unless the caller manages the queue of every one of the messages, which must all be there."""
    get = call.broker.store.history.get
    found = await call.run(lambda: [get(each, now=call.now) for each in ids])
    if None in found:
        raise forbidden()
    call.demand(Right.MANAGE, *{each.queue for each in found if each is not None})


async def _readable(call: Call, right: Right = Right.READ) -> Record:
    """The message that the path names; for who may not look at it, there is none."""
    try:
        id = UUID(call.path["id"])
    except ValueError:
        raise InvalidSetting(f"a message id is a UUID, not {call.path['id']!r}") from None
    found = await call.run(lambda: call.broker.store.history.get(id, now=call.now))
    if found is None or not call.principal.may(right, found.queue):
        raise Refusal(404, "there is no such message")
    return found


def _condition(text: str) -> Condition:
    found = condition_of(text)
    if found is None:
        raise InvalidSetting(f"a condition is key=value, key!=value or key, not {text!r}")
    return found


MESSAGE = "/v1/messages/{id}"
ROUTES = (
    Route(
        "GET",
        "/v1/messages",
        find_messages,
        Right.READ,
        late=True,
        query=FindQuery,
        gives=PageShape,
        refuses=(422,),
    ),
    Route("GET", MESSAGE, get_message, Right.READ, late=True, gives=RecordShape, refuses=(404, 422)),
    Route(
        "GET", f"{MESSAGE}/failures", failures, Right.READ, late=True, gives=FailureList, refuses=(404, 422)
    ),
    Route(
        "GET", f"{MESSAGE}/receipt", holder, Right.CLAIM, late=True, gives=HolderReceipt, refuses=(404, 422)
    ),
    Route("POST", "/v1/find", find, Right.READ, late=True, body=Finding, gives=PageShape, refuses=(422,)),
    Route(
        "GET",
        "/v1/queues/{queue}/export",
        export,
        Right.READ,
        over="queue",
        query=StateQuery,
        gives=RecordShape,
        writes=NDJSON,
        lasts=True,
    ),
    Route(
        "GET",
        "/v1/scan",
        scan,
        Right.READ,
        late=True,
        query=ScanQuery,
        gives=RecordShape,
        writes=NDJSON,
        lasts=True,
    ),
    Route("GET", "/v1/bounds", bounds, Right.READ, gives=Bounds),
    Route(
        "POST", "/v1/amend", amend, Right.MANAGE, late=True, body=Amending, gives=Counted, refuses=(404, 422)
    ),
    Route("POST", "/v1/archive", archive, Right.MANAGE, body=Archiving, gives=Counted),
    Route("GET", "/v1/ledger", ledger, Right.READ, late=True, query=QueueQuery, gives=LedgerList),
    Route("POST", "/v1/sweep", sweep, Right.CLAIM, late=True, body=Sweeping, gives=SweptShape),
)
