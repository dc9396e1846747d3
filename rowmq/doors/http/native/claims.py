"""Claiming, and what becomes of what was claimed."""

import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import cache

from rowmq.core.delivery import Claim, Delivery, Receipt, Settlement
from rowmq.core.errors import InvalidSetting
from rowmq.core.outcome import Settled
from rowmq.core.store import BACKLOG
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.native.answering import json
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right
from rowmq.stores.remote import reading, writing
from rowmq.stores.remote.claim_shapes import (
    AdoptedClaim,
    Adopting,
    Claimed,
    ClaimedLists,
    ClaimedMessages,
    Extended,
    Extending,
    Held,
    NamedClaim,
    SettledAll,
    Settling,
    Waiting,
    WaitQuery,
    Wanted,
    Wants,
    Woken,
)
from rowmq.stores.remote.shapes import LARGEST_SEQ

SEQ = re.compile("[0-9]{1,19}")
Opened = tuple[Receipt | Claim, str]


async def claim(call: Call) -> Answer:
    """Claim messages under a lease, waiting up to 20 seconds for the first of them.

    A claim with a ``name`` is remembered: the same name gets what is left of it, whichever queue is asked.
    """
    said: Wanted = call.body
    if said.name is not None and said.wait:
        raise InvalidSetting("a claim with a name does not wait: if it finds nothing, that is remembered")
    found = await call.claim(call.path["queue"], reading.want(said), wait=timedelta(seconds=said.wait))
    return json(ClaimedMessages(_sealed(call, found)))


async def claim_many(call: Call) -> Answer:
    """Claim for several wants at once, first wants first; none of them waits."""
    queue, wants = call.path["queue"], [reading.want(each) for each in call.body.wants]
    found = await call.run(lambda: call.broker.store.claim(queue, wants, now=call.now))
    return json(ClaimedLists([_sealed(call, each) for each in found]))


async def extend(call: Call) -> Answer:
    """Let leases end that long from now; null where the message went on without its holder."""
    said: Extending = call.body
    opened = _opened(call, said.receipts)
    receipts = [each[0] for each in opened if each is not None]
    ends = iter(await call.extend(receipts, reading.span(said.lease)) if receipts else ())
    return json(Extended([None if each is None else next(ends) for each in opened]))


async def settle(call: Call) -> Answer:
    """Say what became of claimed messages: ack, retry, release or bury; an answer for each."""
    said: Settling = call.body
    opened = _opened(call, [each.receipt for each in said.settlements])
    settlements = [
        Settlement(held[0], reading.outcome(shape))
        for held, shape in zip(opened, said.settlements, strict=True)
        if held is not None
    ]
    answers = iter(await call.settle(settlements) if settlements else ())
    return json(SettledAll([Settled.LOST if each is None else next(answers) for each in opened]))


async def adopt(call: Call) -> Answer:
    """Take over a named claim, so that the run which had it is fenced off.

    The right to claim is needed everywhere, because a name does not tell whose queue it is about.
    """
    said: Adopting = call.body
    lease = reading.maybe_span(said.lease)
    found = await call.run(lambda: call.broker.store.adopt(said.name, lease=lease, now=call.now))
    if found is None:
        raise Refusal(404, "no claim has this name, or it was forgotten")
    messages = _sealed(call, found.deliveries)
    queue = found.deliveries[0].queue if found.deliveries else BACKLOG
    token = call.broker.seal.token(found.claim.token, queue)
    return json(AdoptedClaim(NamedClaim(name=said.name, token=token), found.runs, messages))


async def wait(call: Call) -> Answer:
    """Wait until something may have been pushed to one of the queues: a hint, so claim to find out."""
    return await _wait(call, call.query)


async def wait_for_many(call: Call) -> Answer:
    """Wait for more queues than a query can hold."""
    return await _wait(call, call.body)


async def _wait(call: Call, said: WaitQuery | Waiting) -> Answer:
    queues = list(dict.fromkeys(said.queue))
    call.demand(Right.CLAIM, *queues)
    return json(Woken(await call.wait(queues, timedelta(seconds=said.timeout))))


def _sealed(call: Call, deliveries: Sequence[Delivery]) -> list[Claimed]:
    """Deliveries with their receipts; a named claim may be another queue's, and then needs that right."""
    tokens: dict[tuple[bytes, str], str] = {}
    for each in deliveries:
        if (each.token, each.queue) not in tokens:
            call.demand(Right.CLAIM, each.queue)
            tokens[each.token, each.queue] = call.broker.seal.token(each.token, each.queue)
    return [writing.claimed(each, f"{each.seq}.{tokens[each.token, each.queue]}") for each in deliveries]


def _opened(call: Call, held: Sequence[Held]) -> list[Opened | None]:
    """Receipts with their queues, None for what we never wrote. Whoever shows one needs the right there."""
    token = cache(call.broker.seal.open_token)  # the messages of one claim share theirs
    opened = [_open(token, each) for each in held]
    call.demand(Right.CLAIM, *{each[1] for each in opened if each is not None})
    return opened


def _open(token: Callable[[str], tuple[bytes, str] | None], held: Held) -> Opened | None:
    seq, _, sealed = held.partition(".") if isinstance(held, str) else ("0", "", held.token)
    found = token(sealed)
    if found is None or not SEQ.fullmatch(seq) or int(seq) > LARGEST_SEQ:
        return None
    proof = Receipt(int(seq), found[0]) if isinstance(held, str) else Claim(held.name, found[0])
    return proof, found[1]


ROUTES = (
    Route(
        "POST",
        "/v1/queues/{queue}/claim",
        claim,
        Right.CLAIM,
        over="queue",
        body=Wanted,
        gives=ClaimedMessages,
        refuses=(404, 422),
        lasts=True,
    ),
    Route(
        "POST",
        "/v1/queues/{queue}/claims",
        claim_many,
        Right.CLAIM,
        over="queue",
        body=Wants,
        gives=ClaimedLists,
        refuses=(404, 422),
    ),
    Route("POST", "/v1/extend", extend, Right.CLAIM, late=True, body=Extending, gives=Extended),
    Route(
        "POST",
        "/v1/settle",
        settle,
        Right.CLAIM,
        late=True,
        body=Settling,
        gives=SettledAll,
        refuses=(404, 422),
        limit=64 * 2**20,
    ),
    Route("POST", "/v1/adopt", adopt, Right.CLAIM, body=Adopting, gives=AdoptedClaim, refuses=(404, 422)),
    Route("POST", "/v1/wait", wait_for_many, Right.CLAIM, late=True, body=Waiting, gives=Woken, lasts=True),
    Route("GET", "/v1/wait", wait, Right.CLAIM, late=True, query=WaitQuery, gives=Woken, lasts=True),
)
