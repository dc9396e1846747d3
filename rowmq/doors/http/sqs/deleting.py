"""DeleteMessage and DeleteMessageBatch: ack."""

from rowmq.core.delivery import Receipt, Settlement
from rowmq.core.outcome import ACK, Settled
from rowmq.core.queue import Queue
from rowmq.doors.http.sqs.asked import Asked, Result
from rowmq.doors.http.sqs.errors import Fault
from rowmq.doors.http.sqs.handles import expired, opened
from rowmq.doors.http.sqs.limits import check_entries
from rowmq.doors.http.sqs.sending import failure
from rowmq.doors.http.sqs.shapes import DeleteMessage, DeleteMessageBatch


async def delete_message(asked: Asked, given: DeleteMessage) -> Result:
    """Ack one message. A handle that somebody else's has replaced changes nothing and is no error."""
    queue = await asked.queue()
    receipt = opened(asked, given.receipt_handle)
    (settled,) = await asked.call.settle([Settlement(receipt, ACK)])
    _check(queue, settled, given.receipt_handle)
    return {}


async def delete_message_batch(asked: Asked, given: DeleteMessageBatch) -> Result:
    """Ack up to ten messages at once."""
    queue = await asked.queue()
    check_entries(given.entries, "DeleteMessageBatchRequestEntry")
    handles = {entry.id: entry.receipt_handle for entry in given.entries}
    good, failed = sorted_out(asked, handles)
    answers = await asked.call.settle([Settlement(each, ACK) for each in good.values()]) if good else []
    for id, settled in zip(good, answers, strict=True):
        try:
            _check(queue, settled, handles[id])
        except Fault as fault:
            failed[id] = fault
    return batch_answer(handles, failed)


def sorted_out(asked: Asked, handles: dict[str, str]) -> tuple[dict[str, Receipt], dict[str, Fault]]:
    """The receipts of a batch's handles, and the faults of those that are none."""
    good: dict[str, Receipt] = {}
    failed: dict[str, Fault] = {}
    for id, handle in handles.items():
        try:
            good[id] = opened(asked, handle)
        except Fault as fault:
            failed[id] = fault
    return good, failed


def batch_answer(ids: dict[str, str], failed: dict[str, Fault]) -> Result:
    """The answer to a batch whose entries succeed without saying more."""
    return {
        "Successful": [{"Id": id} for id in ids if id not in failed],
        "Failed": [failure(id, fault) for id, fault in failed.items()] or None,
    }


def _check(queue: Queue, settled: Settled, handle: str) -> None:
    if settled is Settled.LOST and queue.fifo:
        raise expired(handle)
