"""Pushing: one message, a batch, batches for several queues, or a stream of lines."""

import asyncio
from collections.abc import Sequence

from rowmq.core.errors import RowMQError
from rowmq.core.message import Batch, Pushed
from rowmq.doors.http.answer import NDJSON, Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.native.answering import json
from rowmq.doors.http.native.importing import Import
from rowmq.doors.http.problem import problem
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right
from rowmq.stores.remote import reading, writing
from rowmq.stores.remote.history_shapes import Imported
from rowmq.stores.remote.shapes import (
    BatchAnswer,
    BatchAnswers,
    Messages,
    NewBatch,
    NewBatches,
    NewMessage,
    Stored,
)

PUSH_LIMIT = 64 * 2**20
"""How many bytes a push may have: a batch cannot be sent in parts."""


async def push(call: Call) -> Answer:
    """Push a message, or an array of messages, which are stored together or not at all."""
    said: NewMessage | list[NewMessage] = call.body
    given = reading.messages(said if isinstance(said, list) else [said])
    return json(writing.stored(await call.push(Batch(call.path["queue"], given))), 201)


async def push_batches(call: Call) -> Answer:
    """Push batches to several queues; each has its own answer, in order."""
    said: NewBatches = call.body
    call.demand(Right.PUSH, *{each.queue for each in said.batches})
    answers = await _pushed(call, [_batch(each) for each in said.batches])
    return json(BatchAnswers([_answer(each) for each in answers]))


async def import_lines(call: Call) -> Answer:
    """Push a stream of messages, one a line (NDJSON), a thousand at a time; say which lines were wrong.

    A batch that the queue refuses ends it: ``complete`` is false, and the error says from which line on. Give
    the messages ids, and the whole stream may be sent again.
    """
    return json(await Import(call).run())


async def _pushed(call: Call, batches: Sequence[Batch]) -> Sequence[Pushed | BaseException]:
    if call.now is not None:
        return await call.run(lambda: call.broker.store.push(batches, now=call.now))
    return await asyncio.gather(*(call.push(each) for each in batches), return_exceptions=True)


def _batch(shape: NewBatch) -> Batch:
    return Batch(shape.queue, reading.messages(shape.messages))


def _answer(answer: Pushed | BaseException) -> BatchAnswer:
    if isinstance(answer, Pushed):
        return BatchAnswer(stored=writing.stored(answer))
    if isinstance(answer, RowMQError):
        return BatchAnswer(problem=problem(answer))
    raise answer


ROUTES = (
    Route(
        "POST",
        "/v1/queues/{queue}/messages",
        push,
        Right.PUSH,
        over="queue",
        body=NewMessage | Messages,
        gives=Stored,
        status=201,
        refuses=(404, 409, 422, 429),
        limit=PUSH_LIMIT,
    ),
    Route(
        "POST",
        "/v1/queues/{queue}/import",
        import_lines,
        Right.PUSH,
        over="queue",
        reads=NDJSON,
        gives=Imported,
        lasts=True,
        refuses=(422,),
    ),
    Route(
        "POST",
        "/v1/push",
        push_batches,
        Right.PUSH,
        late=True,
        body=NewBatches,
        gives=BatchAnswers,
        refuses=(422,),
        limit=PUSH_LIMIT,
    ),
)
