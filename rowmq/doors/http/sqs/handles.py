"""Receipt handles: which message of this queue they are for."""

from rowmq.core.delivery import Receipt
from rowmq.doors.http.sqs.asked import Asked
from rowmq.doors.http.sqs.errors import Fault, bad_handle, invalid_value

LONGEST = 2500


def opened(asked: Asked, handle: str) -> Receipt:
    """The receipt of a handle that was given out for the queue asked about. Raises Fault."""
    found = asked.call.broker.seal.open(handle) if len(handle) <= LONGEST else None
    if found is None or found.queue != asked.name:
        raise bad_handle(handle[:LONGEST])
    return found.receipt


def expired(handle: str) -> Fault:
    """A handle whose time is over, where order forbids to let it count."""
    return invalid_value(handle, "ReceiptHandle", "The receipt handle has expired.")


def not_there(handle: str) -> Fault:
    """A handle of a message that nobody holds through it any more."""
    return invalid_value(
        handle,
        "ReceiptHandle",
        "Message does not exist or is not available for visibility timeout change.",
    )
