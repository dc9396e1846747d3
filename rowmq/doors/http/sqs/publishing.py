"""Publish and PublishBatch: push to every queue that is bound."""

import asyncio
import json
from datetime import datetime
from uuid import UUID

from rowmq.core.errors import RowMQError
from rowmq.core.message import Batch, Message
from rowmq.core.queue import Queue
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.sqs.address import topic_arn
from rowmq.doors.http.sqs.asked import Asked, Result
from rowmq.doors.http.sqs.envelope import envelope
from rowmq.doors.http.sqs.errors import as_fault
from rowmq.doors.http.sqs.limits import check_entries
from rowmq.doors.http.sqs.message_attributes import read_attributes
from rowmq.doors.http.sqs.sending import check, failure, sequence_number
from rowmq.doors.http.sqs.shapes import Publish, PublishBatch, Published, Sent
from rowmq.doors.http.sqs.subscription import invalid_parameter, is_raw
from rowmq.stores.fresh import new_id

LONGEST_SUBJECT = 100


async def publish(asked: Asked, given: Publish) -> Result:
    """Publish one message; to nobody, if nobody has subscribed."""
    return await _published(asked, await _bound(asked), given)


async def publish_batch(asked: Asked, given: PublishBatch) -> Result:
    """Publish up to ten messages, in their order; each of them may fail alone."""
    check_entries(given.entries, "PublishBatchRequestEntry")
    queues = await _bound(asked)
    successful, failed = [], []
    for entry in given.entries:
        try:
            successful.append({"Id": entry.id} | await _published(asked, queues, entry))
        except (Refusal, RowMQError) as error:
            failed.append(failure(entry.id, as_fault(error)))
    return {"Successful": successful, "Failed": failed}


async def _bound(asked: Asked) -> list[Queue]:
    pairs = await asked.call.run(lambda: asked.store.topics.bindings(asked.name))
    found = [asked.shared.known.get(asked.call.broker, queue) for _, queue in pairs]
    queues = await asyncio.gather(*found, return_exceptions=True)
    return [queue for queue in queues if isinstance(queue, Queue)]


async def _published(asked: Asked, queues: list[Queue], said: Published) -> Result:
    _check(said)
    id, now = new_id(), await asked.now()
    batches = [Batch(queue.name, [_copy(asked, queue, said, id, now)]) for queue in queues]
    pushed = await asyncio.gather(*map(asked.call.push, batches))
    in_order = asked.name.endswith(".fifo")
    place = max((each.seqs[0] for each in pushed), default=0)
    return {"MessageId": str(id), "SequenceNumber": sequence_number(place) if in_order else None}


def _check(said: Published) -> None:
    if not said.message:
        raise invalid_parameter("Empty message")
    if said.subject is not None and not 1 <= len(said.subject) <= LONGEST_SUBJECT:
        raise invalid_parameter("Subject")


def _copy(asked: Asked, queue: Queue, said: Published, id: UUID, now: datetime) -> Message:
    text = _text(said)
    attributes = said.message_attributes
    if not is_raw(queue, asked.name):
        arn = topic_arn(asked.settings, asked.name)
        text = envelope(id, arn, text, said.subject, read_attributes(attributes), now)
        attributes = None
    sent = Sent(
        message_body=text,
        message_attributes=attributes,
        message_group_id=said.message_group_id,
        message_deduplication_id=said.message_deduplication_id if queue.fifo else None,
    )
    return check(queue, sent).message


def _text(said: Published) -> str:
    """The message for queues, where a message has one for each protocol."""
    if said.message_structure != "json":
        return said.message
    try:
        each = json.loads(said.message)
        text = each.get("sqs", each["default"])
    except (ValueError, KeyError, AttributeError, RecursionError):
        raise invalid_parameter("Message Structure - No default entry in JSON message body") from None
    if not isinstance(text, str):
        raise invalid_parameter("Message Structure - JSON message body failed to parse")
    return text
