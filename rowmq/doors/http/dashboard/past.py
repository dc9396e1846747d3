"""Samples that were read once: what is over does not change, so a page reads only what is new."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby

from rowmq.core.monitor import KEPT, Monitor, Sample
from rowmq.doors.http.dashboard.figures import SPANS, Reach, begins, merged

AGAIN = 3
"""How many of the last samples are read again, because some may have come late."""


class Past:
    """The samples of one reach, kept as long as they are shown."""

    def __init__(self, reach: Reach) -> None:
        self._reach: Reach = reach
        self._found: dict[datetime, list[Sample]] = {}
        self._asked: datetime | None = None

    def upto(self, now: datetime, monitor: Monitor) -> list[Sample]:
        """All that are shown now, oldest first; the store is asked only for what may be new."""
        first = begins(self._reach, now) - AGAIN * SPANS[self._reach][0]
        self._read(monitor, max(first, self._since(now)), now)
        self._found = {at: found for at, found in self._found.items() if at >= first}
        return [sample for at in sorted(self._found) for sample in self._found[at]]

    def _since(self, now: datetime) -> datetime:
        """From when on the store is asked: everything at first, and after a clock went back."""
        span = SPANS[self._reach][0]
        if self._asked is None or self._asked > now:
            self._found = {}
            return now - KEPT[span]
        return self._asked - AGAIN * span

    def _read(self, monitor: Monitor, since: datetime, now: datetime) -> None:
        fresh = monitor.samples(SPANS[self._reach][0], since, now=now)
        self._found = {at: found for at, found in self._found.items() if at < since}
        for sample in fresh:
            self._found.setdefault(sample.at, []).append(sample)
        self._asked = now


class Sums:
    """What many queues did together: added up once for each time, because what is over does not change."""

    def __init__(self) -> None:
        self._known: dict[datetime, tuple[int, Sample]] = {}

    def of(self, samples: Iterable[Sample]) -> list[Sample]:
        """One sample for each time, oldest first; only times of which there are more than before are new."""
        known, self._known = self._known, {}
        for at, found in groupby(samples, key=lambda each: each.at):
            here = list(found)
            count, sample = known.get(at, (0, None))
            self._known[at] = (count, sample) if sample and count == len(here) else (len(here), merged(here))
        return [sample for _, sample in self._known.values()]


def of(samples: Iterable[Sample], names: frozenset[str]) -> list[Sample]:
    """Those of these queues."""
    return [sample for sample in samples if sample.queue in names]


def mark_of(samples: Sequence[Sample], now: datetime) -> str:
    """What tells whether a drawing of the last hour, made from these, is still what would be drawn now."""
    newest = samples[-1].at if samples else None
    first = f"{begins('hour', now):%H%M}"
    return first if newest is None else f"{first}-{newest:%H%M}-{len(samples)}"
