"""Samples: scripts count what happens, and once a minute that is written down."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from rowmq.core import monitor
from rowmq.core.clock import micros, moment
from rowmq.core.clock import span as length
from rowmq.core.monitor import KEPT, MINUTE, QUARTER, Counts, Sample
from rowmq.core.sampling import Ended, Position, Tally, due, floor, quarters, sampled, unrolled
from rowmq.stores.redis.server import Server
from rowmq.stores.redis.values import fields, stamp

AT_ONCE = 1000
"""How many messages one script reads the times of."""
COUNTS = ("pushed", "done", "dead", "failed", "ready", "scheduled", "leased")


class Sampling:
    """The samples that are due, and what has happened in their minutes."""

    def __init__(self, server: Server, now: datetime | None) -> None:
        self._server = server
        at, self._until, self._happened = server.call("happened", stamp(now))
        self._last = Position(int(self._until), 0, 0) if self._until else None
        self.minutes = due(None if self._last is None else self._last.until, int(at))
        self.queues = [name.decode() for name, _ in self._happened]

    def keep(self, standing: Mapping[str, Counts]) -> int:
        """Write them down, unless somebody has sampled meanwhile; how many."""
        taken = sampled(self.minutes, self._tally().happened, standing)
        first, end = self.minutes[0], self.minutes[-1] + length(MINUTE)
        forgetting = [
            each
            for span, kept in KEPT.items()
            for each in (length(span), end - length(kept), first - length(span) + 1)
        ]
        new = [*taken, *self._quarters(taken, first, end)]
        written = [each for sample in new for each in _written(sample)]
        kept = self._server.call("samples_keep", self._until, end, *forgetting, *written)
        return len(taken) if kept else 0

    def _tally(self) -> Tally:
        tally = Tally(self.minutes, self._last)
        for name, flat in self._happened:
            for field, value in fields(flat).items():
                minute, count = (int(each) for each in value.split())
                at = minute * length(MINUTE)
                if at in self.minutes:
                    tally.add(field.split()[1], name.decode(), at, count)
        for (queue, at), what in list(tally.happened.items()):
            if what.keys() & {"done", "dead"}:
                tally.measure(queue, at, self._ended(queue, at))
        return tally

    def _ended(self, queue: str, minute: int) -> list[Ended]:
        """The times of the newest messages that have ended in a minute."""
        found: list[Ended] = []
        while len(found) < monitor.MOST_MEASURED:
            size = min(AT_ONCE, monitor.MOST_MEASURED - len(found))
            some = self._server.call("ended", queue, minute, minute + length(MINUTE), len(found), size)
            found += [_ended(*each) for each in some]
            if len(some) < size:
                break
        return found

    def _quarters(self, taken: Sequence[Sample], first: int, end: int) -> list[Sample]:
        start, over = unrolled(self._last, first), floor(end, QUARTER)
        if start >= over:
            return []
        before = [each for each in samples(self._server, MINUTE, moment(start)) if micros(each.at) < first]
        made = quarters(each for each in [*before, *taken] if micros(each.at) < over)
        return [each for each in made if micros(each.at) >= end - length(KEPT[QUARTER])]


def samples(server: Server, span: timedelta, since: datetime, queue: str | None = None) -> list[Sample]:
    """Samples of a span that begin at a moment or later, oldest first."""
    found = server.call("samples", length(span), micros(since), queue or "")
    made = [_sample(name.decode(), span, text) for name, texts in found for text in texts]
    return sorted(made, key=lambda each: (each.at, each.queue))


def _written(sample: Sample) -> tuple[str | int, ...]:
    counts = {name: getattr(sample, name) for name in COUNTS if getattr(sample, name)}
    text = json.dumps({"at": micros(sample.at), **counts, "waits": sample.waits, "runs": sample.runs})
    return sample.queue, length(sample.span), micros(sample.at), text


def _sample(queue: str, span: timedelta, text: bytes) -> Sample:
    said: dict[str, Any] = json.loads(text)
    for name in ("waits", "runs"):
        said[name] = {int(bucket): count for bucket, count in said[name].items()}
    return Sample(queue=queue, at=moment(said.pop("at")), span=span, **said)


def _ended(born: bytes, scheduled: bytes, started: bytes, ended: bytes) -> Ended:
    return Ended(
        int(born), int(scheduled) if scheduled else None, int(started) if started else None, int(ended)
    )
