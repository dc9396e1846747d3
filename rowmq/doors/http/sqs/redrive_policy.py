"""RedrivePolicy: where a queue's dead letters go, and RedriveAllowPolicy: which queues may send theirs."""

import json
from typing import Any, NamedTuple

from rowmq.core.queue import Queue
from rowmq.core.store import Store
from rowmq.doors.http.sqs.address import named_by_arn, queue_arn
from rowmq.doors.http.sqs.attributes import as_object, bad_value
from rowmq.doors.http.sqs.errors import Fault, invalid_value
from rowmq.doors.http.sqs.reserved import kept
from rowmq.doors.http.sqs.settings import Settings

NAME = "RedrivePolicy"
MOST_RECEIVES = 1000
MOST_SOURCES = 10
PERMISSIONS = ("allowAll", "denyAll", "byQueue")


class Policy(NamedTuple):
    """The queue that a queue's dead letters go to, after so many receives."""

    target: str
    receives: int


NOWHERE: dict[str, Any] = {"dead_letter": None, "max_attempts": None}


def read_policy(text: str) -> Policy | None:
    """The policy of an attribute's value; None if it is to be removed. Raises Fault."""
    if not text:
        return None
    said = as_object(NAME, text)
    if not isinstance(said, dict):
        raise bad_value(NAME)
    if not {"deadLetterTargetArn", "maxReceiveCount"} <= said.keys():
        raise _invalid(text, "Redrive policy must contain deadLetterTargetArn and maxReceiveCount.")
    receives = str(said["maxReceiveCount"])
    if not receives.isascii() or not receives.isdigit() or not 1 <= int(receives[:9]) <= MOST_RECEIVES:
        raise _invalid(
            text,
            f"Invalid value for maxReceiveCount: {receives[:40]}, "
            f"valid values are from 1 to {MOST_RECEIVES} both inclusive.",
        )
    return Policy(named_by_arn(str(said["deadLetterTargetArn"]), NAME), int(receives))


def as_settings(store: Store, queue: str, text: str, *, fifo: bool) -> dict[str, Any]:
    """The settings that a policy means. Raises Fault if the dead-letter queue will not do."""
    policy = read_policy(text)
    if policy is None:
        return NOWHERE
    target = store.queues.get(policy.target)
    if target is None:
        raise _invalid(text, "Dead letter target does not exist.")
    if target.fifo != fifo:
        raise _invalid(text, "Dead-letter queue must be same type of queue as the source.")
    if not allows(target, queue):
        raise _invalid(text, "Dead-letter queue does not allow this source in its RedriveAllowPolicy.")
    return {"dead_letter": policy.target, "max_attempts": policy.receives}


def shown(settings: Settings, queue: Queue) -> str | None:
    """A queue's policy; None if its dead letters go nowhere."""
    if queue.dead_letter is None or queue.max_attempts is None:
        return None
    arn = queue_arn(settings, queue.dead_letter)
    return json.dumps(
        {"deadLetterTargetArn": arn, "maxReceiveCount": queue.max_attempts}, separators=(",", ":")
    )


def check_allowing(text: str) -> None:
    """Refuse a RedriveAllowPolicy that says nothing."""
    said = as_object("RedriveAllowPolicy", text) if text else {"redrivePermission": "allowAll"}
    sources = said.get("sourceQueueArns", []) if isinstance(said, dict) else None
    if not isinstance(sources, list) or len(sources) > MOST_SOURCES:
        raise bad_value("RedriveAllowPolicy")
    permission = said.get("redrivePermission")
    if permission not in PERMISSIONS or bool(sources) != (permission == "byQueue"):
        raise bad_value("RedriveAllowPolicy")


def allows(target: Queue, source: str) -> bool:
    """Whether a queue takes another one's dead letters."""
    text = kept(target.tags, "RedriveAllowPolicy")
    said = json.loads(text) if text else {"redrivePermission": "allowAll"}
    if said["redrivePermission"] == "byQueue":
        return any(str(arn).endswith(f":{source}") for arn in said["sourceQueueArns"])
    return bool(said["redrivePermission"] == "allowAll")


def _invalid(text: str, reason: str) -> Fault:
    return invalid_value(text, NAME, reason)
