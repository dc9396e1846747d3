"""The engine's values as plain fields, the same for tables and for JSON."""

import base64
import json
import math
from typing import Any

from rowmq.core.history import ConsumerInfo, FailedAttempt, Record, Schedule, Stats
from rowmq.core.queue import Queue
from rowmq.doors.cli.words import receipt_text
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.rule import Rule


def payload_of(body: bytes | None, *, binary: bool) -> tuple[Any, bool]:
    """A payload as JSON can say it, and whether that is base64: bytes are, and a body that is not JSON."""
    if body is None:
        return None, False
    if not binary:
        try:
            return json.loads(body, parse_float=_number), False
        except (ValueError, RecursionError):
            pass
    return base64.b64encode(body).decode(), True


def queue_shape(queue: Queue) -> dict[str, Any]:
    """A queue's settings."""
    shape: dict[str, Any] = {name: getattr(queue, name) for name in Queue.__dataclass_fields__}
    backoff = queue.backoff
    shape["backoff"] = {name: getattr(backoff, name) for name in ("first", "factor", "cap", "jitter")}
    shape["tags"] = dict(queue.tags)
    shape["rate"] = queue.rate and {"limit": queue.rate.limit, "period": queue.rate.period}
    return shape


def stats_shape(name: str, stats: Stats) -> dict[str, Any]:
    """How full a queue is."""
    return {"queue": name, **stats._asdict()}


def claimed_shape(message: ClaimedMessage) -> dict[str, Any]:
    """A claimed message, with the receipt that settles it."""
    payload, binary = payload_of(message.body, binary=message.binary)
    about = ("queue", "attempt", "max_attempts", "priority", "group", "created_at", "deadline", "lease_until")
    return {
        "id": message.id,
        **{name: getattr(message, name) for name in about},
        "source": message.source,
        "metadata": dict(message.metadata),
        "receipt": receipt_text(message.receipt),
        "base64": binary,
        "payload": payload,
    }


def record_shape(record: Record) -> dict[str, Any]:
    """A message in whatever state it is."""
    payload, binary = payload_of(record.body, binary=record.binary)
    result, _ = payload_of(record.result, binary=False)
    shape = record._asdict()
    for name in ("body", "binary", "result"):
        del shape[name]
    return {
        **shape,
        "metadata": dict(record.metadata),
        "result": result,
        "base64": binary,
        "payload": payload,
    }


def failure_shape(failure: FailedAttempt) -> dict[str, Any]:
    """An attempt that went wrong."""
    return failure._asdict()


def consumer_shape(consumer: ConsumerInfo) -> dict[str, Any]:
    """A consumer that is alive."""
    return consumer._asdict()


def schedule_shape(schedule: Schedule) -> dict[str, Any]:
    """A schedule, its rule read."""
    rule = Rule.parse(schedule.spec)
    payload, binary = payload_of(schedule.message.body, binary=schedule.message.binary)
    return {
        "name": schedule.name,
        "queue": schedule.queue,
        "cron": rule.cron,
        "every": rule.every,
        "timezone": rule.timezone,
        "catch_up": rule.catch_up,
        "next_at": schedule.next_at,
        "paused": schedule.paused,
        "base64": binary,
        "payload": payload,
    }


def _number(text: str) -> float | str:
    """A number, or its text where it is beyond what JSON readers can take."""
    value = float(text)
    return value if math.isfinite(value) else text
