"""How long a failed message waits before its next attempt."""

from dataclasses import dataclass
from datetime import timedelta

from rowmq.core.errors import InvalidSetting

LARGEST_FACTOR = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """``min(first * factor ** (attempt - 1), cap)``, longer or shorter by at most ``jitter`` of itself.

    >>> backoff = Backoff(first=timedelta(seconds=2), cap=timedelta(seconds=30), jitter=0)
    >>> [int(backoff.delay(attempt, 0.5).total_seconds()) for attempt in (1, 2, 3, 4, 5)]
    [2, 4, 8, 16, 30]
    """

    first: timedelta = timedelta(seconds=1)
    factor: float = 2.0
    cap: timedelta = timedelta(hours=1)
    jitter: float = 0.1

    def __post_init__(self) -> None:
        if self.first < timedelta(0) or self.cap < self.first:
            raise InvalidSetting(f"a backoff needs 0 <= first <= cap, not {self.first} and {self.cap}")
        if not 1 <= self.factor <= LARGEST_FACTOR:
            raise InvalidSetting(f"a backoff factor is between 1 and {LARGEST_FACTOR}, not {self.factor}")
        if not 0 <= self.jitter <= 1:
            raise InvalidSetting(f"a backoff jitter is between 0 and 1, not {self.jitter}")

    def delay(self, attempt: int, draw: float) -> timedelta:
        """The wait after this failed attempt (from 1); ``draw`` in [0, 1] picks the jitter, 0.5 is none."""
        longest = self.cap.total_seconds()
        try:
            seconds = min(self.first.total_seconds() * self.factor ** (attempt - 1), longest)
        except OverflowError:
            seconds = longest
        return timedelta(seconds=seconds * (1 + self.jitter * (2 * draw - 1)))
