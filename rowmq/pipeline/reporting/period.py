"""The time a report covers, cut into steps of equal length."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from rowmq.core.errors import InvalidSetting

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
FINE = tuple(timedelta(seconds=each) for each in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800))
"""Steps for less than a few hours; beyond, a report goes by hours, then by days."""
FINE_STEPS, HOURS, MOST_STEPS = 60, 24 * 15, 5000


@dataclass(frozen=True, slots=True)
class Period:
    """From one moment to another, in steps that begin where the clock's own do.

    >>> noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    >>> [each.hour for each in Period(noon, noon + timedelta(hours=2), HOUR).times]
    [12, 13]
    """

    since: datetime
    until: datetime
    every: timedelta

    def __post_init__(self) -> None:
        if self.every <= timedelta(0):
            raise InvalidSetting(f"a report's step is longer than 0, not {self.every}")
        if self.since >= self.until:
            raise InvalidSetting(f"a report ends after it begins, but {self.until} is not after {self.since}")
        if self.steps > MOST_STEPS:
            raise InvalidSetting(
                f"{self.until - self.since} in steps of {self.every} makes {self.steps} steps, and a report"
                f" has at most {MOST_STEPS}: choose a longer step"
            )

    @property
    def first(self) -> int:
        """The number of the first step, counted from 1970."""
        return (self.since - EPOCH) // self.every

    @property
    def steps(self) -> int:
        """How many steps there are; the first and the last may be cut short."""
        return (self.until - timedelta(microseconds=1) - EPOCH) // self.every - self.first + 1

    @property
    def times(self) -> list[datetime]:
        """When each step begins."""
        return [self.time(self.first + step) for step in range(self.steps)]

    def time(self, number: int) -> datetime:
        """When the step of a number begins."""
        return EPOCH + number * self.every


def step_for(length: timedelta) -> timedelta:
    """The step that suits so long a time: seconds or minutes for a morning, hours for a week, then days.

    >>> [str(step_for(timedelta(minutes=minutes))) for minutes in (2, 10_000, 100_000)]
    ['0:00:02', '1:00:00', '1 day, 0:00:00']
    """
    fine = next((each for each in FINE if length <= each * FINE_STEPS), None)
    if fine is not None and length < FINE[-1] * 12:
        return fine
    if length <= HOUR * HOURS:
        return HOUR
    return DAY * (1 + length // (DAY * MOST_STEPS))
