"""The book of schedules: what is pushed by the clock, as users put it, pause it and drop it."""

import builtins
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from rowmq.core.errors import InvalidSetting, ScheduleNotFound
from rowmq.core.history import Schedule
from rowmq.core.message import Message, derived_id
from rowmq.core.store import Store
from rowmq.runtime.rule import CatchUp, Rule, same_ticks

_BOOK = UUID("5f0c6c1e-2f5b-5d0e-9b43-7d4a1f0a2c11")
_NOBODY = UUID(int=0)


class ScheduleBook:
    """Puts, lists, pauses, resumes and drops the schedules of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(
        self, name: str, *, queue: str, message: Message, rule: Rule, now: datetime | None = None
    ) -> Schedule:
        """Create the schedule of this name, or change it. Raises QueueNotFound.

        Every process may put its schedules whenever it starts: what is the same is left alone, so missed
        ticks are still caught up with, a pause lasts, and the next tick moves only if the rule's ticks do.
        """
        known = self._known(name)
        wanted = Schedule(
            name=name,
            queue=queue,
            spec=rule.text(),
            message=replace(message, id=_message_id(name, queue, message)),
            next_at=self._next_at(known, rule, now),
            paused=known is not None and known.paused,
        )
        if wanted != known:
            self._store.schedules.put(wanted, now=now)
        return wanted

    def list(self) -> builtins.list[Schedule]:
        """All schedules by name."""
        return self._store.schedules.list()

    def pause(self, name: str, *, now: datetime | None = None) -> Schedule:
        """Let the schedule fire no more until it is resumed. Raises ScheduleNotFound."""
        known = self._named(name)
        return known if known.paused else self._put(replace(known, paused=True), now)

    def resume(self, name: str, *, now: datetime | None = None) -> Schedule:
        """Let a paused schedule fire again, from now on. Raises ScheduleNotFound.

        What would have fired during the pause does so only if the schedule catches up with all.
        """
        known = self._named(name)
        if not known.paused:
            return known
        rule = Rule.parse(known.spec)
        next_at = known.next_at if rule.catch_up == CatchUp.ALL else rule.first(self._moment(now))
        return self._put(replace(known, paused=False, next_at=next_at), now)

    def drop(self, name: str) -> bool:
        """Delete the schedule; False if there is none. What it has pushed stays."""
        return self._store.schedules.drop(name)

    def _put(self, schedule: Schedule, now: datetime | None) -> Schedule:
        self._store.schedules.put(schedule, now=now)
        return schedule

    def _known(self, name: str) -> Schedule | None:
        return next((each for each in self._store.schedules.list() if each.name == name), None)

    def _named(self, name: str) -> Schedule:
        known = self._known(name)
        if known is None:
            raise ScheduleNotFound(name)
        return known

    def _next_at(self, known: Schedule | None, rule: Rule, now: datetime | None) -> datetime:
        if known is not None and _ticks_alike(known.spec, rule):
            return known.next_at
        return rule.first(self._moment(now))

    def _moment(self, now: datetime | None) -> datetime:
        return self._store.now() if now is None else now


def _message_id(name: str, queue: str, message: Message) -> UUID:
    """The same for the same schedule, so that two processes putting it at a tick push it once."""
    return derived_id(_BOOK, repr((name, queue, replace(message, id=_NOBODY))))


def _ticks_alike(spec: str, rule: Rule) -> bool:
    try:
        return same_ticks(Rule.parse(spec), rule)
    except InvalidSetting:
        return False
