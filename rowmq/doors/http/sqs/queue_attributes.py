"""GetQueueAttributes and SetQueueAttributes: a queue's settings and counts."""

from collections.abc import Mapping
from typing import Any

from rowmq.core.clock import micros
from rowmq.core.queue import Queue
from rowmq.doors.http.sqs import attributes, redrive_policy
from rowmq.doors.http.sqs.asked import Asked, Result
from rowmq.doors.http.sqs.errors import invalid
from rowmq.doors.http.sqs.reserved import CREATED, MODIFIED
from rowmq.doors.http.sqs.shapes import GetQueueAttributes, SetQueueAttributes
from rowmq.doors.right import Right

COUNTS = {
    "ApproximateNumberOfMessages": "ready",
    "ApproximateNumberOfMessagesNotVisible": "leased",
    "ApproximateNumberOfMessagesDelayed": "scheduled",
}
MICROSECONDS = 1_000_000


async def get_queue_attributes(asked: Asked, given: GetQueueAttributes) -> Result:
    """The attributes asked for, and none if none are."""
    queue = await asked.fresh_queue()
    wanted = frozenset(given.attribute_names or ())
    unknown = wanted - attributes.ALL - {"All"}
    if unknown:
        raise attributes.unknown(min(unknown))
    found = _settings(asked, queue)
    if "All" in wanted or not wanted.isdisjoint(COUNTS):
        found |= await _counts(asked)
    return {"Attributes": _chosen(found, wanted) or None}


async def set_queue_attributes(asked: Asked, given: SetQueueAttributes) -> Result:
    """Change some attributes; an empty RedrivePolicy or Policy removes it."""
    now = await asked.now()
    redrive_policy.check_allowing(given.attributes.get("RedriveAllowPolicy", ""))
    policy = redrive_policy.read_policy(given.attributes.get(redrive_policy.NAME, ""))
    if policy is not None:
        asked.call.demand(Right.PUSH, policy.target)
    seconds = str(micros(now) // MICROSECONDS)
    await asked.change(lambda queue: _changes(asked, queue, given.attributes, seconds))
    return {}


def _changes(asked: Asked, queue: Queue, said: Mapping[str, str], now: str) -> dict[str, Any]:
    attributes.check(said, fifo=queue.fifo)
    if "FifoQueue" in said:
        raise invalid("The attribute FifoQueue cannot be changed.")
    changes = attributes.settings(said, {**queue.tags, MODIFIED: now})
    if redrive_policy.NAME not in said:
        return changes
    text = said[redrive_policy.NAME]
    return changes | redrive_policy.as_settings(asked.store, queue.name, text, fifo=queue.fifo)


def _settings(asked: Asked, queue: Queue) -> dict[str, str]:
    found = attributes.present(queue) | {"QueueArn": asked.arn(queue.name)}
    others = {
        redrive_policy.NAME: redrive_policy.shown(asked.settings, queue),
        "CreatedTimestamp": queue.tags.get(CREATED),
        "LastModifiedTimestamp": queue.tags.get(MODIFIED),
    }
    return found | {name: value for name, value in others.items() if value is not None}


async def _counts(asked: Asked) -> dict[str, str]:
    stats = await asked.call.run(lambda: asked.store.queues.stats(asked.name, now=asked.call.now))
    return {name: str(getattr(stats, state)) for name, state in COUNTS.items()}


def _chosen(found: Mapping[str, str], wanted: frozenset[str]) -> dict[str, str]:
    return {name: value for name, value in found.items() if "All" in wanted or name in wanted}
