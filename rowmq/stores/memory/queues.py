"""The queues and their settings."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from rowmq.core.clock import micros
from rowmq.core.errors import InvalidSetting, QueueInUse
from rowmq.core.history import Stats
from rowmq.core.outcome import State
from rowmq.core.queue import Queue, changed
from rowmq.stores.memory.role import Role, atomic
from rowmq.stores.memory.tables import Tables
from rowmq.stores.memory.topics import unbind

WAITING = frozenset({State.READY, State.SCHEDULED})


class MemoryQueues(Role):
    """The queues of a memory store."""

    @atomic
    def put(
        self,
        name: str,
        changes: Mapping[str, Any] | None = None,
        *,
        now: datetime | None = None,  # noqa: ARG002 - nothing here has a time
    ) -> Queue:
        """Create the queue, or change the given settings of an existing one, and return it."""
        queue = changed(self.tables.queues.get(name) or Queue(name=name), changes or {})
        _check_dead_letter(self.tables, queue)
        self.tables.queues[name] = queue
        self.tables.stir(name)
        return queue

    @atomic
    def get(self, name: str) -> Queue | None:
        """The queue, or None."""
        return self.tables.queues.get(name)

    @atomic
    def drop(self, name: str, *, now: datetime | None = None) -> bool:
        """Delete the queue with everything in it; False if there is none."""
        if name not in self.tables.queues:
            return False
        for queue in self.tables.queues.values():
            if queue.dead_letter == name:
                raise QueueInUse(f"queue {name!r} is the dead-letter queue of {queue.name!r}")
        _drop(self.tables, name, self.tables.clock(now))
        return True

    @atomic
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
        self.tables.queue(name)
        at = self.tables.clock(now)
        states = WAITING if state is None else {state}
        seqs = [seq for seq, current in _states(self.tables, name, at).items() if current in states]
        if before is not None:
            seqs = [seq for seq in seqs if self.tables.messages[seq].created_at < micros(before)]
        return self.tables.erase(seqs[:limit], "purge", at)

    @atomic
    def stats(self, name: str, *, now: datetime | None = None) -> Stats:
        """Count the queue's messages by state."""
        self.tables.queue(name)
        at = self.tables.clock(now)
        counts = Counter(_states(self.tables, name, at).values())
        return Stats(
            ready=counts[State.READY],
            scheduled=counts[State.SCHEDULED],
            leased=counts[State.LEASED],
            done=counts[State.DONE],
            dead=counts[State.DEAD],
            oldest_age=_oldest_age(self.tables, name, at),
        )

    @atomic
    def list(self) -> list[Queue]:
        """All queues by name."""
        return [queue for _, queue in sorted(self.tables.queues.items())]


def _check_dead_letter(tables: Tables, queue: Queue) -> None:
    following = queue.dead_letter
    while following is not None:
        if following == queue.name:
            raise InvalidSetting(f"dead letters of queue {queue.name!r} would come back to it")
        following = tables.queue(following).dead_letter


def _drop(tables: Tables, name: str, now: int) -> None:
    tables.erase(_states(tables, name, now), "drop", now)
    for topic in list(tables.topics):
        unbind(tables, topic, name, now)
    for schedule in [one for one in tables.schedules.values() if one.queue == name]:
        del tables.schedules[schedule.name]
    for consumer in [key for key in tables.consumers if key[0] == name]:
        del tables.consumers[consumer]
    for key in [key for key in tables.dedup if key[0] == name]:
        del tables.dedup[key]
    for claim in [claim for claim, held in tables.claims.items() if held.queue == name]:
        del tables.claims[claim]
    tables.buckets.pop(name, None)
    tables.samples = [sample for sample in tables.samples if sample.queue != name]
    del tables.queues[name]


def _states(tables: Tables, name: str, now: int) -> dict[int, State]:
    """The state of every message in a queue."""
    pending = {row.seq: row.state(now) for row in tables.pending.values() if row.queue == name}
    return pending | {row.seq: row.state for row in tables.finished.values() if row.queue == name}


def _oldest_age(tables: Tables, name: str, now: int) -> timedelta | None:
    times = [row.time for row in tables.pending.values() if row.queue == name and row.time <= now]
    return timedelta(microseconds=now - min(times)) if times else None
