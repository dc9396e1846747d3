"""ReceiveMessage: claim."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from rowmq.core.clock import micros
from rowmq.core.delivery import Delivery, Want
from rowmq.core.queue import Queue
from rowmq.doors.http.sqs import md5
from rowmq.doors.http.sqs.asked import Asked, Result
from rowmq.doors.http.sqs.errors import Fault
from rowmq.doors.http.sqs.limits import (
    LARGEST_BATCH,
    LONGEST_TIMEOUT,
    LONGEST_WAIT,
    check_count,
    check_seconds,
    check_token,
)
from rowmq.doors.http.sqs.message_attributes import chosen, of_metadata, shown
from rowmq.doors.http.sqs.reserved import DEDUPLICATION, GROUP, TRACE, kept
from rowmq.doors.http.sqs.sending import sequence_number
from rowmq.doors.http.sqs.shapes import ReceiveMessage
from rowmq.doors.http.sqs.text import said

SHORTEST = timedelta(microseconds=1)
"""A lease that has ended when its holder hears of it: AWS's visibility timeout 0."""
FIRST_RECEIVE = "ApproximateFirstReceiveTimestamp"
SYSTEM = (
    "SenderId",
    "SentTimestamp",
    "ApproximateReceiveCount",
    FIRST_RECEIVE,
    "SequenceNumber",
    "MessageDeduplicationId",
    "MessageGroupId",
    "AWSTraceHeader",
    "DeadLetterQueueSourceArn",
)
EVERYTHING = frozenset({"All", "ALL"})
"""All of them, in AWS's spelling and in kombu's."""
IGNORED = frozenset({"Policy", "VisibilityTimeout", "RedrivePolicy", "QueueArn"})
"""Names of queue attributes that old clients ask for here and AWS takes without a word."""


async def receive_message(asked: Asked, given: ReceiveMessage) -> Result:
    """Claim up to ten messages, waiting for the first of them if asked to."""
    queue = await asked.queue()
    _check(given)
    wanted = _wanted(given)
    deliveries = await _deliveries(asked, queue, given)
    messages = [await _message(asked, queue, given, each, wanted) for each in deliveries]
    return {"Messages": messages or None}


def lease_of(seconds: int | None) -> timedelta | None:
    """A visibility timeout as a lease; None is the queue's."""
    return None if seconds is None else max(timedelta(seconds=seconds), SHORTEST)


def _check(given: ReceiveMessage) -> None:
    check_count(given.max_number_of_messages, "MaxNumberOfMessages", 1, LARGEST_BATCH)
    check_seconds(given.wait_time_seconds, "WaitTimeSeconds", LONGEST_WAIT)
    check_seconds(given.visibility_timeout, "VisibilityTimeout", LONGEST_TIMEOUT)
    if given.receive_request_attempt_id is not None:
        check_token(given.receive_request_attempt_id, "ReceiveRequestAttemptId")


def _wanted(given: ReceiveMessage) -> frozenset[str]:
    names = {*(given.attribute_names or ()), *(given.message_system_attribute_names or ())}
    if not EVERYTHING.isdisjoint(names):
        return frozenset(SYSTEM)
    unknown = names.difference(SYSTEM, IGNORED)
    if unknown:
        raise Fault("InvalidAttributeName", f"Unknown Attribute {min(unknown)}.")
    return frozenset(names)


async def _deliveries(asked: Asked, queue: Queue, given: ReceiveMessage) -> Sequence[Delivery]:
    attempt = given.receive_request_attempt_id if queue.fifo else None
    if attempt is None:
        return await _claimed(asked, queue, given)
    again = await _again(asked, queue, given, asked.shared.attempts.find(queue.name, attempt))
    found = again or await _claimed(asked, queue, given)
    asked.shared.attempts.keep(queue.name, attempt, found)
    return found


async def _again(
    asked: Asked, queue: Queue, given: ReceiveMessage, former: Sequence[Delivery]
) -> Sequence[Delivery]:
    """What an attempt got before, its leases begun anew; nothing if any of it has changed hands."""
    if not former:
        return ()
    lease = lease_of(given.visibility_timeout) or queue.lease
    ends = await asked.call.extend([each.receipt for each in former], lease)
    return former if None not in ends else ()


async def _claimed(asked: Asked, queue: Queue, given: ReceiveMessage) -> Sequence[Delivery]:
    limit = given.max_number_of_messages or 1
    want = Want(
        limit=limit, lease=lease_of(given.visibility_timeout), per_group=LARGEST_BATCH if queue.fifo else 1
    )
    seconds = given.wait_time_seconds
    if seconds is None:
        seconds = int(kept(queue.tags, "ReceiveMessageWaitTimeSeconds") or 0)
    return await asked.call.claim(queue.name, want, wait=timedelta(seconds=seconds))


async def _message(
    asked: Asked, queue: Queue, given: ReceiveMessage, delivery: Delivery, wanted: frozenset[str]
) -> Result:
    text = said(delivery)
    attributes = chosen(of_metadata(delivery.metadata), given.message_attribute_names)
    return {
        "MessageId": str(delivery.id),
        "ReceiptHandle": asked.call.broker.seal.text(delivery.receipt, queue.name),
        "MD5OfBody": md5.of_body(text.encode(errors="replace")),
        "Body": text,
        "Attributes": await _system(asked, queue, delivery, wanted, lease_of(given.visibility_timeout))
        or None,
        "MD5OfMessageAttributes": md5.of_attributes(attributes),
        "MessageAttributes": {name: shown(each) for name, each in attributes.items()} or None,
    }


async def _system(
    asked: Asked, queue: Queue, delivery: Delivery, wanted: frozenset[str], lease: timedelta | None
) -> dict[str, str]:
    if not wanted:
        return {}
    found = _told(asked, queue, delivery)
    if FIRST_RECEIVE in wanted:
        found[FIRST_RECEIVE] = await _first_receive(asked, queue, lease, delivery)
    return {name: text for name, text in found.items() if name in wanted and text is not None}


def _told(asked: Asked, queue: Queue, delivery: Delivery) -> dict[str, str | None]:
    metadata = delivery.metadata
    return {
        "SenderId": asked.settings.account,
        "SentTimestamp": milliseconds(delivery.created_at),
        "ApproximateReceiveCount": str(receive_count(delivery)),
        "SequenceNumber": sequence_number(delivery.seq) if queue.fifo else None,
        "MessageDeduplicationId": metadata.get(DEDUPLICATION),
        "MessageGroupId": delivery.group or metadata.get(GROUP),
        "AWSTraceHeader": metadata.get(TRACE),
        "DeadLetterQueueSourceArn": None if delivery.source is None else asked.arn(delivery.source),
    }


def receive_count(delivery: Delivery) -> int:
    """How often it was received: going on in a dead-letter queue, from the beginning after a redrive."""
    return delivery.attempt if delivery.source is None else delivery.receives


def milliseconds(moment: datetime) -> str:
    """A moment as AWS writes it."""
    return str(micros(moment) // 1000)


async def _first_receive(asked: Asked, queue: Queue, lease: timedelta | None, delivery: Delivery) -> str:
    """When it was first received: each earlier receive that came to nothing is among its failures."""
    if delivery.receives > 1:
        failures = await asked.call.run(lambda: asked.store.history.failures(delivery.id))
        starts = _starts(failure.started_at for failure in failures)
        if starts:
            return milliseconds(min(starts))
    return milliseconds(delivery.lease_until - (lease or queue.lease))


def _starts(moments: Iterable[datetime | None]) -> list[datetime]:
    return [moment for moment in moments if moment is not None]
