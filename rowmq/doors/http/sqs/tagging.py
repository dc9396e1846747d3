"""TagQueue, UntagQueue, ListQueueTags: a queue's tags, without those that are ours."""

from collections.abc import Mapping

from rowmq.doors.http.sqs.asked import Asked, Result
from rowmq.doors.http.sqs.errors import Fault, invalid, invalid_value
from rowmq.doors.http.sqs.reserved import PREFIX, visible
from rowmq.doors.http.sqs.shapes import OfQueue, TagQueue, UntagQueue
from rowmq.doors.http.sqs.text import FORBIDDEN

MOST = 50
LONGEST_KEY = 128
LONGEST_VALUE = 256
TAKEN = ("aws:", PREFIX)


async def tag_queue(asked: Asked, given: TagQueue) -> Result:
    """Add tags, or change those of the same key."""
    check_tags(given.tags)
    await asked.change(lambda queue: {"tags": _together(queue.tags, given.tags)})
    return {}


async def untag_queue(asked: Asked, given: UntagQueue) -> Result:
    """Remove tags; one that is not there is no error."""
    gone = {key for key in given.tag_keys if not key.startswith(PREFIX)}
    await asked.change(
        lambda queue: {"tags": {key: value for key, value in queue.tags.items() if key not in gone}}
    )
    return {}


async def list_queue_tags(asked: Asked, given: OfQueue) -> Result:  # noqa: ARG001 - its name is known
    """The callers' tags of a queue."""
    queue = await asked.fresh_queue()
    return {"Tags": visible(queue.tags) or None}


def check_tags(tags: Mapping[str, str]) -> None:
    """Refuse tags that AWS would not take, or whose keys are ours."""
    for key, value in tags.items():
        if key.lower().startswith(TAKEN):
            raise invalid(f"Tag keys can't start with {' or '.join(TAKEN)}")
        if not 1 <= len(key) <= LONGEST_KEY or FORBIDDEN.search(key):
            raise invalid_value(key, "TagKey", f"it has 1 to {LONGEST_KEY} characters that XML can carry.")
        if len(value) > LONGEST_VALUE or FORBIDDEN.search(value):
            raise invalid_value(
                value, "TagValue", f"it has up to {LONGEST_VALUE} characters that XML can carry."
            )
    _check_number(tags)


def _together(present: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    together = {**present, **added}
    _check_number(visible(together))
    return together


def _check_number(tags: Mapping[str, str]) -> None:
    if len(tags) > MOST:
        raise Fault(
            "InvalidParameterValueException", f"Too many tags added for queue: at most {MOST} are allowed."
        )
