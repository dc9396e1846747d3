"""The queues role."""

import builtins
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from rowmq.core.backoff import Backoff
from rowmq.core.clock import micros, span
from rowmq.core.errors import InvalidSetting, QueueInUse, QueueNotFound
from rowmq.core.history import Stats
from rowmq.core.outcome import State
from rowmq.core.queue import Archive, Guarantee, Queue, Rate, changed
from rowmq.stores.redis.server import Server
from rowmq.stores.redis.values import fields, stamp

CHUNK = 1000
"""How many messages one script deletes, while everybody else waits."""
WAITING = (State.READY, State.SCHEDULED)


class RedisQueues:
    """The queues of a Redis store."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def put(
        self,
        name: str,
        changes: Mapping[str, Any] | None = None,
        *,
        now: datetime | None = None,  # noqa: ARG002 - nothing here has a time
    ) -> Queue:
        """Create the queue, or change the given settings of an existing one, and return it."""
        while True:
            known, version = self._known(name)
            queue = changed(known, changes or {})
            answer = self._server.call("queue_put", name, version, queue.dead_letter or "", *_settings(queue))
            if answer == b"put":
                return queue
            if answer == b"missing":
                raise QueueNotFound(queue.dead_letter or "")
            if answer == b"circle":
                raise InvalidSetting(f"dead letters of queue {name!r} would come back to it")

    def get(self, name: str) -> Queue | None:
        """The queue, or None."""
        found = self._server.call("queues", name)
        return _queue(*found[0][1:]) if found else None

    def drop(self, name: str, *, now: datetime | None = None) -> bool:
        """Delete the queue with everything in it; False if there is none."""
        answer = self._server.call("queue_drop", name, stamp(now))
        if isinstance(answer, list):
            raise QueueInUse(f"queue {name!r} is the dead-letter queue of {answer[0].decode()!r}")
        if answer:
            erase_dropped(self._server, answer, now)
        return bool(answer)

    def purge(
        self,
        name: str,
        *,
        state: State | None = None,
        before: datetime | None = None,
        limit: int | None = None,
        now: datetime | None = None,
    ) -> int:
        """Delete what still waits in the queue, or what is in one state; how many."""
        states = WAITING if state is None else (state,)
        part = state if state in {State.DONE, State.DEAD} else "open"
        given = stamp(now), part, "" if before is None else micros(before)
        count, after = 0, b"0"
        while after and (limit is None or count < limit):
            most = CHUNK if limit is None else min(CHUNK, limit - count)
            answer = self._server.call("purge", name, *given, after, most, *states)
            if answer is None:
                raise QueueNotFound(name)
            count, after = count + answer[0], answer[1]
        return count

    def stats(self, name: str, *, now: datetime | None = None) -> Stats:
        """Count the queue's messages by state."""
        answer = self._server.call("stats", name, stamp(now))
        if answer is None:
            raise QueueNotFound(name)
        ready, scheduled, leased, done, dead, age = answer
        oldest = timedelta(microseconds=int(age)) if age else None
        return Stats(ready, scheduled, leased, done, dead, oldest)

    def list(self) -> builtins.list[Queue]:
        """All queues by name."""
        found = self._server.call("queues")
        return sorted((_queue(*each[1:]) for each in found), key=lambda queue: queue.name)

    def _known(self, name: str) -> tuple[Queue, str]:
        """The queue as it is, or as it would be created, and the version of its settings."""
        found = self._server.call("queues", name) if isinstance(name, str) and _is_text(name) else []
        if found:
            return _queue(*found[0][1:]), fields(found[0][2])["version"]
        return replace(Queue(name=name), retention=self._server.options.retention), ""


def erase_dropped(server: Server, queue: bytes, now: datetime | None) -> None:
    """Delete what is left in a queue that was dropped."""
    while server.call("erase_dropped", queue, stamp(now), CHUNK) == CHUNK:
        pass


def _settings(queue: Queue) -> builtins.list[str | int]:
    """Fields and values of a queue's settings; those that are None are left out."""
    backoff, rate = queue.backoff, queue.rate
    rest = {
        "backoff": [span(backoff.first), backoff.factor, span(backoff.cap), backoff.jitter],
        "tags": dict(queue.tags),
    }
    values: dict[str, str | int | None] = {
        "max_attempts": queue.max_attempts,
        "lease": span(queue.lease),
        "delay": span(queue.delay),
        "final": int(queue.delivery == Guarantee.AT_MOST_ONCE),
        "fifo": int(queue.fifo),
        "retention": None if queue.retention is None else span(queue.retention),
        "max_age": None if queue.max_age is None else span(queue.max_age),
        "paused": int(queue.paused),
        "max_length": queue.max_length,
        "archive": int(queue.archive == Archive.REQUIRED),
        "rate_limit": None if rate is None else rate.limit,
        "rate_period": None if rate is None else span(rate.period),
        "rest": json.dumps(rest),
    }
    return [each for name, value in values.items() if value is not None for each in (name, value)]


def _queue(dead_letter: bytes, flat: Sequence[bytes]) -> Queue:
    found = fields(flat)
    rest = json.loads(found["rest"])
    first, factor, cap, jitter = rest["backoff"]
    return Queue(
        name=found["name"],
        max_attempts=_number(found, "max_attempts"),
        lease=timedelta(microseconds=int(found["lease"])),
        delay=timedelta(microseconds=int(found["delay"])),
        backoff=Backoff(
            first=timedelta(microseconds=first),
            factor=factor,
            cap=timedelta(microseconds=cap),
            jitter=jitter,
        ),
        delivery=Guarantee.AT_MOST_ONCE if found["final"] == "1" else Guarantee.AT_LEAST_ONCE,
        fifo=found["fifo"] == "1",
        retention=_span(found, "retention"),
        max_age=_span(found, "max_age"),
        dead_letter=dead_letter.decode() or None,
        paused=found["paused"] == "1",
        max_length=_number(found, "max_length"),
        archive=Archive.REQUIRED if found["archive"] == "1" else Archive.OPTIONAL,
        tags=rest["tags"],
        rate=_rate(found),
    )


def _rate(found: Mapping[str, str]) -> Rate | None:
    period = _span(found, "rate_period")
    return None if period is None else Rate(int(found["rate_limit"]), period)


def _number(found: Mapping[str, str], name: str) -> int | None:
    return int(found[name]) if name in found else None


def _span(found: Mapping[str, str], name: str) -> timedelta | None:
    return timedelta(microseconds=int(found[name])) if name in found else None


def _is_text(name: str) -> bool:
    """Whether a name can be sent at all; if not, no queue has it and none can."""
    return name.isprintable() or not any("\ud800" <= each <= "\udfff" for each in name)
