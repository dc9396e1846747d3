"""Pushes what schedules say, when it is time. Any number may run: the store lets each tick fire once."""

import logging
from datetime import datetime, timedelta

from rowmq.core.errors import InvalidSetting, Refused
from rowmq.core.history import Schedule
from rowmq.core.store import Store
from rowmq.runtime.log import event, first_line
from rowmq.runtime.log import logger as default_logger
from rowmq.runtime.rule import CatchUp, Rule

GRACE = timedelta(seconds=60)
"""How late a tick may be and still fire, in a schedule that does not catch up."""
MOST_TICKS = 100
"""How many ticks of one schedule one run fires, so that a long absence does not hold up the others."""


class Scheduler:
    """Fires the schedules that are due by the store's clock.

    A schedule that cannot be read, or whose queue refuses, is logged once and left due; the others go on.
    """

    def __init__(self, store: Store, logger: logging.Logger | None = None) -> None:
        self._store = store
        self._logger = logger or default_logger
        self._complaints: dict[str, str] = {}

    def run_once(self, now: datetime | None = None) -> int:
        """Fire what is due, and tell how many messages were pushed."""
        moment = self._store.now() if now is None else now
        due = self._store.schedules.list(due=moment)
        self._forget_all_but({each.name for each in due})
        return sum(self._serve(each, moment, now) for each in due)

    def _serve(self, schedule: Schedule, moment: datetime, now: datetime | None) -> int:
        fired = 0
        try:
            rule = Rule.parse(schedule.spec)
            tick: datetime | None = schedule.next_at
            while tick is not None and fired < MOST_TICKS:
                tick = self._fire(schedule.name, rule, tick, moment, now)
                fired += tick is not None
        except (InvalidSetting, Refused) as error:
            self._complain(schedule, error)
        else:
            self._complaints.pop(schedule.name, None)
        return fired

    def _fire(
        self, name: str, rule: Rule, tick: datetime, moment: datetime, now: datetime | None
    ) -> datetime | None:
        """Push for the tick and return the one to look at next, or None if this was not for us to push."""
        following = _following(rule, tick, moment)
        if following is None or not self._store.schedules.fire(name, tick, following, now=now):
            return None
        return following

    def _complain(self, schedule: Schedule, error: Exception) -> None:
        reason = first_line(str(error))
        if self._complaints.get(schedule.name) != reason:
            self._complaints[schedule.name] = reason
            event(
                self._logger,
                logging.WARNING,
                "schedule.failed",
                schedule=schedule.name,
                queue=schedule.queue,
                error=type(error).__name__,
                reason=reason,
            )

    def _forget_all_but(self, due: set[str]) -> None:
        self._complaints = {name: said for name, said in self._complaints.items() if name in due}


def _following(rule: Rule, tick: datetime, moment: datetime) -> datetime | None:
    """Where a schedule goes on once its kept tick has fired; None if there is nothing to fire now.

    Without catching up, a kept tick that is too old stands for the first one that is not: it is left where
    it is until there is one, since only firing may move it without undoing what somebody else does.
    """
    if tick > moment:
        return None
    if rule.catch_up == CatchUp.ONE:
        return rule.after(moment)
    if rule.catch_up == CatchUp.ALL:
        return rule.following(tick)
    recent = max(tick, rule.first(moment - GRACE))
    return rule.following(recent) if recent <= moment else None
