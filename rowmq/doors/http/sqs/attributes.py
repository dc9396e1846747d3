"""Queue attributes: which there are, what they may be, and which setting of ours each one is."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from rowmq.core.queue import Queue
from rowmq.doors.http.sqs.errors import Fault
from rowmq.doors.http.sqs.limits import LARGEST_MESSAGE, LONGEST_DELAY, LONGEST_TIMEOUT, LONGEST_WAIT
from rowmq.doors.http.sqs.reserved import PREFIX
from rowmq.doors.http.sqs.text import FORBIDDEN

SHORTEST_RETENTION, LONGEST_RETENTION = 60, 1_209_600
RETENTION = 345_600
LONGEST_NUMBER, LONGEST_TEXT = 12, 2048
SHORTEST_LEASE = timedelta(milliseconds=1)
"""The shortest lease a queue can have; AWS's 0."""
Check = Callable[[str, str], None]


def bad_value(name: str) -> Fault:
    """A value that the attribute cannot have."""
    return Fault("InvalidAttributeValue", f"Invalid value for the parameter {name}.")


def unknown(name: str) -> Fault:
    """A name that no attribute has."""
    return Fault("InvalidAttributeName", f"Unknown Attribute {name}.")


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within a range."""

    least: int
    most: int

    def __call__(self, name: str, value: str) -> None:
        """Refuse anything else."""
        whole = value.isascii() and value.isdigit() and len(value) <= LONGEST_NUMBER
        if not whole or not self.least <= int(value) <= self.most:
            raise bad_value(name)


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few words."""

    words: tuple[str, ...]

    def __call__(self, name: str, value: str) -> None:
        """Refuse anything else."""
        if value not in self.words:
            raise bad_value(name)


def json_object(name: str, value: str) -> None:
    """A JSON object, or nothing at all, which removes it."""
    if value and not isinstance(as_object(name, value), dict):
        raise bad_value(name)


def anything(name: str, value: str) -> None:
    """Any text of a bearable length that XML can carry."""
    if len(value) > LONGEST_TEXT or FORBIDDEN.search(value):
        raise bad_value(name)


YES_OR_NO = OneOf(("true", "false"))

CHECKS: Mapping[str, Check] = {
    "VisibilityTimeout": Whole(0, LONGEST_TIMEOUT),
    "DelaySeconds": Whole(0, LONGEST_DELAY),
    "MessageRetentionPeriod": Whole(SHORTEST_RETENTION, LONGEST_RETENTION),
    "MaximumMessageSize": Whole(1024, LARGEST_MESSAGE),
    "ReceiveMessageWaitTimeSeconds": Whole(0, LONGEST_WAIT),
    "FifoQueue": YES_OR_NO,
    "ContentBasedDeduplication": YES_OR_NO,
    "DeduplicationScope": OneOf(("queue", "messageGroup")),
    "FifoThroughputLimit": OneOf(("perQueue", "perMessageGroupId")),
    "SqsManagedSseEnabled": YES_OR_NO,
    "KmsMasterKeyId": anything,
    "KmsDataKeyReusePeriodSeconds": Whole(60, 86_400),
    "Policy": json_object,
    "RedrivePolicy": json_object,
    "RedriveAllowPolicy": json_object,
}
"""The attributes that can be set."""
SPANS = {"VisibilityTimeout": "lease", "DelaySeconds": "delay", "MessageRetentionPeriod": "max_age"}
"""Those that are settings of the engine, too."""
KEPT = {
    "MaximumMessageSize": str(LARGEST_MESSAGE),
    "ReceiveMessageWaitTimeSeconds": "0",
    "SqsManagedSseEnabled": "true",
    "Policy": "",
    "RedriveAllowPolicy": "",
    "KmsMasterKeyId": "",
    "KmsDataKeyReusePeriodSeconds": "",
}
"""Those that only this door knows, with what they are unless somebody has said otherwise."""
KEPT_IN_ORDER = {
    "ContentBasedDeduplication": "false",
    "DeduplicationScope": "queue",
    "FifoThroughputLimit": "perQueue",
}
"""The same, of FIFO queues alone."""
OTHERS = (
    "QueueArn",
    "CreatedTimestamp",
    "LastModifiedTimestamp",
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
ALL = frozenset(CHECKS) | frozenset(OTHERS)


def check(given: Mapping[str, str], *, fifo: bool) -> None:
    """Refuse attributes that cannot be set, or not to that, or not for that kind of queue."""
    for name, value in given.items():
        if name not in CHECKS:
            raise unknown(name)
        if name in KEPT_IN_ORDER and not fifo:
            raise _in_order_only(name)
        CHECKS[name](name, value)
    if given.get("FifoThroughputLimit") == "perMessageGroupId" and given.get("DeduplicationScope") == "queue":
        raise bad_value("FifoThroughputLimit")


def settings(given: Mapping[str, str], tags: Mapping[str, str]) -> dict[str, Any]:
    """The settings that checked attributes mean, except for where dead letters go."""
    changes: dict[str, Any] = {
        setting: timedelta(seconds=int(given[name])) for name, setting in SPANS.items() if name in given
    }
    if "lease" in changes:
        changes["lease"] = max(changes["lease"], SHORTEST_LEASE)
    own = {PREFIX + name: value for name, value in given.items() if name in KEPT | KEPT_IN_ORDER}
    together = {**tags, **own}
    return changes | {"tags": {key: value for key, value in together.items() if value or key not in own}}


def present(queue: Queue) -> dict[str, str]:
    """The attributes that can be read off a queue's settings, except for where its dead letters go."""
    defaults = KEPT | KEPT_IN_ORDER if queue.fifo else KEPT
    found = {name: queue.tags.get(PREFIX + name, default) for name, default in defaults.items()}
    found |= {name: str(_seconds(getattr(queue, setting))) for name, setting in SPANS.items()}
    if queue.fifo:
        found["FifoQueue"] = "true"
    return {name: value for name, value in found.items() if value}


def as_object(name: str, value: str) -> Any:
    """A JSON text's value. Raises Fault."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise bad_value(name) from None


def _seconds(span: timedelta | None) -> int:
    return LONGEST_RETENTION if span is None else span // timedelta(seconds=1)


def _in_order_only(name: str) -> Fault:
    if name == "ContentBasedDeduplication":
        return unknown(name)
    return Fault("InvalidAttributeName", f"You can specify the {name} only when FifoQueue is set to true.")
