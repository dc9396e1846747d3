"""When a schedule ticks. No clock is read here: moments come in as arguments."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Any, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from rowmq.core.clock import EPOCH
from rowmq.core.errors import InvalidSetting
from rowmq.core.queue import LONGEST_SPAN
from rowmq.runtime.answers import Seconds
from rowmq.runtime.options import as_span_or_none

SHORTEST_EVERY = timedelta(seconds=1)
LONGEST_CRON = 255
_MICROSECOND = timedelta(microseconds=1)
_FIELDS = "write five fields, minute hour day month weekday, like '*/5 * * * *'"
_SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


class CatchUp(StrEnum):
    """What becomes of the ticks that passed while nobody was there to fire them."""

    ONE = "one"
    ALL = "all"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The ticks of a schedule: a cron text in a time zone, or every so often since the epoch.

    Ticks counted from the epoch are the same for every worker, whenever it was started.
    """

    cron: str | None = None
    every: timedelta | None = None
    timezone: str = "UTC"
    catch_up: CatchUp = CatchUp.ONE

    def __post_init__(self) -> None:
        if (self.cron is None) == (self.every is None):
            given = "neither was" if self.cron is None else "both were"
            raise InvalidSetting(f"a schedule has either cron or every, and {given} given")
        if self.catch_up not in list(CatchUp):
            raise InvalidSetting(f"catch_up is one of {', '.join(CatchUp)}, not {self.catch_up!r}")
        _zone(self.timezone)
        if self.every is None:
            _check_cron(self.cron)
        else:
            _check_every(self.every, self.timezone)

    @classmethod
    def of(
        cls,
        *,
        cron: str | None = None,
        every: Seconds | None = None,
        timezone: str = "UTC",
        catch_up: str = "one",
    ) -> Self:
        """The rule that a user's arguments mean; ``every`` is seconds or a timedelta."""
        kept = CatchUp(catch_up) if catch_up in list(CatchUp) else catch_up
        return cls(cron=_tidy(cron), every=as_span_or_none(every, "every"), timezone=timezone, catch_up=kept)  # type: ignore[arg-type]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what :meth:`text` wrote, or what a person may write: a bare cron text, or "every 300"."""
        stripped = text.strip()
        if stripped.startswith("{"):
            return cls.of(**_fields(stripped))
        word, _, length = stripped.partition(" ")
        if word == "every":
            return cls.of(every=_number(length))
        return cls.of(cron=stripped)

    def text(self) -> str:
        """The rule as the JSON text that a schedule keeps."""
        when = {"cron": self.cron} if self.every is None else {"every": _seconds(self.every)}
        return json.dumps({**when, "timezone": self.timezone, "catch_up": self.catch_up})

    def first(self, now: datetime) -> datetime:
        """The tick at this moment, or the first one after it."""
        return self.after(now - _MICROSECOND)

    def following(self, tick: datetime) -> datetime:
        """The tick after this one."""
        return self.after(tick)

    def after(self, moment: datetime) -> datetime:
        """The first tick later than a moment, in UTC.

        A local time that a clock change skips ticks when the gap ends, and one that comes twice ticks the
        first time. Rules whose minute or hour begins with ``*`` tick by real time, through both.
        """
        if self.every is not None:
            return EPOCH + ((moment - EPOCH) // self.every + 1) * self.every
        ticks = CronSim(_expanded(self.cron or ""), moment.astimezone(_zone(self.timezone)))
        # In the second pass of a doubled hour, the library's next tick may be one of the first pass.
        return next(tick for each in ticks if (tick := each.astimezone(UTC)) > moment)


def same_ticks(one: Rule, other: Rule) -> bool:
    """Whether two rules tick at the same moments, however they catch up."""
    return (one.cron, one.every, one.timezone) == (other.cron, other.every, other.timezone)


def _zone(name: object) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)  # type: ignore[arg-type]
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError, AttributeError):
        raise InvalidSetting(
            f"there is no time zone {name!r}; give a name like 'Europe/Berlin' or 'UTC'"
        ) from None


def _tidy(cron: Any) -> Any:
    return " ".join(cron.split()) if isinstance(cron, str) else cron


def _expanded(cron: str) -> str:
    return _SHORTHANDS.get(cron.lower(), cron)


def _check_cron(cron: object) -> None:
    if not isinstance(cron, str) or len(cron) > LONGEST_CRON:
        raise InvalidSetting(f"cron is a text of at most {LONGEST_CRON} characters; {_FIELDS}")
    expanded = _expanded(cron)
    if len(expanded.split()) != 5:  # noqa: PLR2004 - the library takes seconds too, with other DST rules
        raise InvalidSetting(f"{cron!r} is not a cron text; {_FIELDS}")
    try:
        next(CronSim(expanded, EPOCH))
    except CronSimError as error:
        raise InvalidSetting(f"{cron!r} is not a cron text ({str(error).lower()}); {_FIELDS}") from None
    except StopIteration:
        raise InvalidSetting(f"cron {cron!r} names a day that never comes; {_FIELDS}") from None


def _check_every(every: timedelta, timezone: str) -> None:
    if not SHORTEST_EVERY <= every <= LONGEST_SPAN:
        raise InvalidSetting(f"every is from 1 second to {LONGEST_SPAN.days} days, not {every}")
    if timezone != "UTC":
        raise InvalidSetting("every is counted from the epoch and has no time zone; use cron for local times")


def _seconds(every: timedelta) -> float:
    seconds = every.total_seconds()
    return int(seconds) if seconds.is_integer() else seconds


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidSetting(f"every is followed by a number of seconds, not {text!r}") from None


def _fields(text: str) -> dict[str, Any]:
    try:
        fields: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidSetting(f"the schedule's rule is not JSON: {error}") from None
    unknown = set(fields) - {"cron", "every", "timezone", "catch_up"}
    if unknown:
        raise InvalidSetting(f"a schedule's rule has no field {', '.join(sorted(unknown))}")
    return fields
