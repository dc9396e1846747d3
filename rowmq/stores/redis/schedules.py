"""The schedules role."""

import builtins
from datetime import UTC, datetime

from rowmq.core.clock import micros, moment
from rowmq.core.errors import QueueNotFound
from rowmq.core.history import Schedule
from rowmq.core.names import check_name
from rowmq.stores.redis.push import refused
from rowmq.stores.redis.server import Server
from rowmq.stores.redis.values import message, said, stamp


class RedisSchedules:
    """The schedules of a Redis store."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def put(self, schedule: Schedule, *, now: datetime | None = None) -> None:  # noqa: ARG002
        """Create or replace the schedule of this name."""
        check_name(schedule.name, "schedule name")
        answer = self._server.call(
            "schedule_put",
            schedule.name,
            schedule.queue,
            schedule.spec,
            micros(schedule.next_at),
            "1" if schedule.paused else "",
            said(schedule.message),
        )
        if answer == b"missing":
            raise QueueNotFound(schedule.queue)

    def list(self, *, due: datetime | None = None) -> builtins.list[Schedule]:
        """All schedules by name, or only those, not paused, whose next tick is due then."""
        schedules = [
            Schedule(
                name=name.decode(),
                queue=queue.decode(),
                spec=spec.decode(),
                message=message(packed),
                next_at=moment(int(next_at)),
                paused=bool(paused),
            )
            for name, queue, spec, next_at, paused, packed in self._server.call("schedules")
        ]
        chosen = [one for one in schedules if due is None or (not one.paused and one.next_at <= due)]
        return sorted(chosen, key=lambda one: one.name)

    def drop(self, name: str) -> bool:
        """Delete the schedule; False if there is none."""
        return bool(self._server.call("schedule_drop", name))

    def fire(self, name: str, tick: datetime, following: datetime, *, now: datetime | None = None) -> bool:
        """Push the schedule's message for this tick and set the following one, at once and only once."""
        text = tick.astimezone(UTC).isoformat()
        answer = self._server.call("fire", name, micros(tick), micros(following), stamp(now), text)
        if isinstance(answer, list):
            raise refused(answer[-1].decode(), answer)
        return bool(answer)
