"""SendMessage and SendMessageBatch: push."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from rowmq.core.errors import RowMQError
from rowmq.core.message import Batch, Message, Pushed
from rowmq.core.queue import Queue
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.sqs import md5
from rowmq.doors.http.sqs.asked import Asked, Result
from rowmq.doors.http.sqs.errors import Fault, as_fault, invalid, invalid_value, missing
from rowmq.doors.http.sqs.limits import (
    LARGEST_MESSAGE,
    LONGEST_DELAY,
    check_entries,
    check_seconds,
    check_token,
    too_long,
)
from rowmq.doors.http.sqs.md5 import Attribute
from rowmq.doors.http.sqs.message_attributes import as_metadata, read_attributes, size
from rowmq.doors.http.sqs.reserved import DEDUPLICATION, GROUP, PURGED, SCOPE, TRACE, kept
from rowmq.doors.http.sqs.shapes import SendEntry, SendMessage, SendMessageBatch, Sent, Value
from rowmq.doors.http.sqs.text import check_text, stored
from rowmq.stores.fresh import new_id

FIRST_SEQUENCE = 10**19
"""Sequence numbers have twenty digits."""
WRONG_KIND = "The request include parameter that is not valid for this queue type."


@dataclass(frozen=True, slots=True)
class Checked:
    """A message that may be sent, and the digests its sender compares."""

    message: Message
    body: bytes
    attributes: Mapping[str, Attribute]
    system: Mapping[str, Attribute]

    def answer(self, queue: Queue, id: UUID, seq: int) -> Result:
        """What its sender is told."""
        return {
            "MessageId": str(id),
            "MD5OfMessageBody": md5.of_body(self.body),
            "MD5OfMessageAttributes": md5.of_attributes(self.attributes),
            "MD5OfMessageSystemAttributes": md5.of_attributes(self.system),
            "SequenceNumber": sequence_number(seq) if queue.fifo else None,
        }


def sequence_number(seq: int) -> str:
    """A message's place among all, in AWS's length.

    >>> sequence_number(7)
    '10000000000000000007'
    """
    return str(FIRST_SEQUENCE + seq)


async def send_message(asked: Asked, given: SendMessage) -> Result:
    """Push one message."""
    queue = await asked.queue()
    checked = check(queue, given)
    pushed = await asked.call.push(Batch(queue.name, [checked.message]))
    return checked.answer(queue, pushed.ids[0], pushed.seqs[0])


async def send_message_batch(asked: Asked, given: SendMessageBatch) -> Result:
    """Push those of up to ten messages that may be sent, all at once."""
    queue = await asked.queue()
    _check_batch(queue, given.entries)
    good, failed = _sorted_out(queue, given.entries)
    pushed = await _pushed(asked, queue, list(good.values()))
    answers = [one.answer(queue, *place) for one, place in zip(good.values(), _places(pushed), strict=True)]
    successful = [{"Id": id} | answer for id, answer in zip(good, answers, strict=True)]
    return {"Successful": successful, "Failed": failed or None}


def failure(id: str, fault: Fault) -> Result:
    """An entry of a batch that could not be done."""
    return {"Id": id, "SenderFault": fault.senders, "Code": fault.kind.code, "Message": fault.sentence}


def check(queue: Queue, sent: Sent, *, entry: bool = False) -> Checked:
    """The message that was meant. Raises Fault."""
    if not sent.message_body:
        raise missing("MessageBody")
    check_text(sent.message_body)
    body, attributes = sent.message_body.encode(), read_attributes(sent.message_attributes)
    most = int(kept(queue.tags, "MaximumMessageSize") or LARGEST_MESSAGE)
    if len(body) + size(attributes) > most:
        raise too_long(most, entry=entry)
    system = _system(sent.message_system_attributes)
    return Checked(_message(queue, sent, as_metadata(attributes), system), body, attributes, system)


def _message(queue: Queue, sent: Sent, metadata: dict[str, str], system: Mapping[str, Attribute]) -> Message:
    if system:
        metadata[TRACE] = system["AWSTraceHeader"].value
    if queue.fifo:
        return _in_order(queue, sent, metadata)
    if sent.message_deduplication_id is not None:
        raise invalid_value(sent.message_deduplication_id, "MessageDeduplicationId", WRONG_KIND)
    if sent.message_group_id is not None:
        check_token(sent.message_group_id, "MessageGroupId")
        metadata[GROUP] = sent.message_group_id
    check_seconds(sent.delay_seconds, "DelaySeconds", LONGEST_DELAY)
    delay = None if sent.delay_seconds is None else timedelta(seconds=sent.delay_seconds)
    return Message(id=new_id(), body=stored(sent.message_body), metadata=metadata, delay=delay)


def _in_order(queue: Queue, sent: Sent, metadata: dict[str, str]) -> Message:
    if sent.delay_seconds:
        raise invalid_value(sent.delay_seconds, "DelaySeconds", WRONG_KIND)
    if sent.message_group_id is None:
        raise missing("MessageGroupId")
    check_token(sent.message_group_id, "MessageGroupId")
    deduplication = _deduplication(queue, sent)
    return Message(
        id=new_id(),
        body=stored(sent.message_body),
        metadata=metadata | {DEDUPLICATION: deduplication},
        key=_key(queue, deduplication, sent.message_group_id),
        group=sent.message_group_id,
    )


def _deduplication(queue: Queue, sent: Sent) -> str:
    if sent.message_deduplication_id is not None:
        check_token(sent.message_deduplication_id, "MessageDeduplicationId")
        return sent.message_deduplication_id
    if kept(queue.tags, "ContentBasedDeduplication") != "true":
        raise invalid(
            "The queue should either have ContentBasedDeduplication enabled or "
            "MessageDeduplicationId provided explicitly"
        )
    return hashlib.sha256(sent.message_body.encode()).hexdigest()


def _key(queue: Queue, deduplication: str, group: str) -> str:
    """The engine's key: one that a purge, or another group if that is the scope, does not share."""
    scope = group if queue.tags.get(SCOPE) == "messageGroup" else ""
    told_apart = "\0".join((queue.tags.get(PURGED, ""), scope, deduplication))
    return hashlib.sha256(told_apart.encode()).hexdigest()


def _system(given: Mapping[str, Value] | None) -> dict[str, Attribute]:
    for name, value in (given or {}).items():
        if name != "AWSTraceHeader":
            raise invalid(f"Message system attribute name '{name}' is invalid.")
        if value.data_type != "String":
            raise invalid("The type of message system attribute 'AWSTraceHeader' must be String.")
    return read_attributes(given)


def _check_batch(queue: Queue, entries: list[SendEntry]) -> None:
    check_entries(entries, "SendMessageBatchRequestEntry")
    total = sum(len(entry.message_body.encode()) + _size(entry) for entry in entries)
    if total > LARGEST_MESSAGE:
        raise Fault(
            "BatchRequestTooLong",
            f"Batch requests cannot be longer than {LARGEST_MESSAGE} bytes. You have sent {total} bytes.",
        )
    if queue.fifo and any(entry.message_group_id is None for entry in entries):
        raise invalid("The request must contain the parameter MessageGroupId.")


def _size(entry: SendEntry) -> int:
    try:
        return size(read_attributes(entry.message_attributes))
    except Fault:
        return 0  # it will fail alone


def _sorted_out(queue: Queue, entries: list[SendEntry]) -> tuple[dict[str, Checked], list[Result]]:
    good: dict[str, Checked] = {}
    failed = []
    for entry in entries:
        try:
            good[entry.id] = check(queue, entry, entry=True)
        except (Refusal, RowMQError) as error:
            failed.append(failure(entry.id, as_fault(error)))
    return good, failed


async def _pushed(asked: Asked, queue: Queue, good: list[Checked]) -> Pushed:
    if not good:
        return Pushed([], [])
    return await asked.call.push(Batch(queue.name, [one.message for one in good]))


def _places(pushed: Pushed) -> list[tuple[UUID, int]]:
    return list(zip(pushed.ids, pushed.seqs, strict=True))
