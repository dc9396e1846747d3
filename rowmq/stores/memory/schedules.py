"""Messages pushed by the clock."""

from dataclasses import replace
from datetime import UTC, datetime

from rowmq.core.history import Schedule
from rowmq.core.message import Batch, derived_id
from rowmq.core.names import check_name
from rowmq.stores.memory.push import perform, plan
from rowmq.stores.memory.role import Role, atomic


class MemorySchedules(Role):
    """The schedules of a memory store."""

    @atomic
    def put(self, schedule: Schedule, *, now: datetime | None = None) -> None:  # noqa: ARG002
        """Create or replace the schedule of this name."""
        check_name(schedule.name, "schedule name")
        self.tables.queue(schedule.queue)
        self.tables.schedules[schedule.name] = schedule

    @atomic
    def drop(self, name: str) -> bool:
        """Delete the schedule; False if there is none."""
        return self.tables.schedules.pop(name, None) is not None

    @atomic
    def fire(self, name: str, tick: datetime, following: datetime, *, now: datetime | None = None) -> bool:
        """Push the schedule's message for this tick and set the following one, at once and only once."""
        schedule = self.tables.schedules.get(name)
        if schedule is None or schedule.paused or schedule.next_at != tick:
            return False
        at = self.tables.clock(now)
        copy_id = derived_id(schedule.message.id, tick.astimezone(UTC).isoformat())
        batch = Batch(schedule.queue, [replace(schedule.message, id=copy_id)])
        perform(self.tables, plan(self.tables, batch, at), at)
        self.tables.schedules[name] = replace(schedule, next_at=following)
        return True

    @atomic
    def list(self, *, due: datetime | None = None) -> list[Schedule]:
        """All schedules by name, or only those, not paused, whose next tick is due then."""
        schedules = (schedule for _, schedule in sorted(self.tables.schedules.items()))
        return [one for one in schedules if due is None or (not one.paused and one.next_at <= due)]
