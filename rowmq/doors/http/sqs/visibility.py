"""ChangeMessageVisibility and ChangeMessageVisibilityBatch: extend."""

from datetime import timedelta

from rowmq.core.delivery import Receipt, Settlement
from rowmq.core.outcome import Retry, Settled
from rowmq.core.queue import Guarantee, Queue
from rowmq.doors.http.sqs.asked import Asked, Result
from rowmq.doors.http.sqs.deleting import batch_answer, sorted_out
from rowmq.doors.http.sqs.errors import Fault, invalid_value
from rowmq.doors.http.sqs.handles import not_there, opened
from rowmq.doors.http.sqs.limits import LONGEST_TIMEOUT, check_entries
from rowmq.doors.http.sqs.receiving import SHORTEST
from rowmq.doors.http.sqs.shapes import ChangeMessageVisibility, ChangeMessageVisibilityBatch, VisibilityEntry


async def change_message_visibility(asked: Asked, given: ChangeMessageVisibility) -> Result:
    """Let one message be hidden for that long from now; 0 returns it at once, and the receive counts."""
    queue = await asked.queue()
    _check(given.visibility_timeout)
    receipt = opened(asked, given.receipt_handle)
    (held,) = await _changed(asked, queue, [receipt], given.visibility_timeout)
    if not held:
        raise not_there(given.receipt_handle)
    return {}


async def change_message_visibility_batch(asked: Asked, given: ChangeMessageVisibilityBatch) -> Result:
    """The same for up to ten messages."""
    queue = await asked.queue()
    check_entries(given.entries, "ChangeMessageVisibilityBatchRequestEntry")
    handles = {entry.id: entry.receipt_handle for entry in given.entries}
    good, failed = sorted_out(asked, handles)
    failed |= _out_of_range(given.entries)
    timeouts = {entry.id: entry.visibility_timeout or 0 for entry in given.entries}
    for seconds in sorted(set(timeouts.values())):
        ids = [id for id in good if timeouts[id] == seconds and id not in failed]
        held = await _changed(asked, queue, [good[id] for id in ids], seconds) if ids else []
        failed |= {id: not_there(handles[id]) for id, still in zip(ids, held, strict=True) if not still}
    return batch_answer(handles, failed)


def _check(seconds: int) -> None:
    if not 0 <= seconds <= LONGEST_TIMEOUT:
        raise invalid_value(
            seconds,
            "VisibilityTimeout",
            f"VisibilityTimeout must be an integer between 0 and {LONGEST_TIMEOUT}",
        )


def _out_of_range(entries: list[VisibilityEntry]) -> dict[str, Fault]:
    faults = {}
    for entry in entries:
        try:
            _check(entry.visibility_timeout or 0)
        except Fault as fault:
            faults[entry.id] = fault
    return faults


async def _changed(asked: Asked, queue: Queue, receipts: list[Receipt], seconds: int) -> list[bool]:
    """Whether each was still held. A lease that ends now leaves the attempt counted, and the message due."""
    if seconds == 0 and queue.delivery == Guarantee.AT_MOST_ONCE:
        return await _returned(asked, receipts)
    ends = await asked.call.extend(receipts, max(timedelta(seconds=seconds), SHORTEST))
    if seconds == 0:
        asked.call.broker.gather.ring(queue.name, len(receipts))
    return [end is not None for end in ends]


async def _returned(asked: Asked, receipts: list[Receipt]) -> list[bool]:
    """Where a lease that ends means that the message is lost, it is given back in so many words."""
    settled = await asked.call.settle([Settlement(receipt, Retry()) for receipt in receipts])
    return [each is not Settled.LOST for each in settled]
