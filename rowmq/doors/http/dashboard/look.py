"""One look at the store for everybody who watches: what each element of each page shows now."""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from rowmq.core.monitor import Counts, Monitor, Sample
from rowmq.core.queue import Queue
from rowmq.core.store import Store
from rowmq.doors.http.dashboard import words
from rowmq.doors.http.dashboard.figures import Reach, activity, charts
from rowmq.doors.http.dashboard.past import Past, Sums, mark_of, of
from rowmq.doors.http.dashboard.row import Cell, by_queue, doings, standings, summed

Cells = Mapping[str, Cell]
Scope = tuple[Reach, frozenset[str]]
"""What charts are of: how far back, and which queues."""
FRESH = timedelta(seconds=5)
"""For how long samples are believed to be the newest."""


class Watching(Protocol):
    """Somebody who watches some queues."""

    def choose(self, queues: Sequence[Queue]) -> Sequence[Queue]:
        """The queues on his page."""

    def scope(self, queues: Sequence[Queue]) -> Scope:
        """What his charts are of."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen: the queues there are, and by name and by scope the cells of their elements."""

    queues: Sequence[Queue]
    counts: Mapping[str, Counts]
    cells: Mapping[str, Cells]
    charts: Mapping[Scope, Cells]
    mark: str
    """Which samples that is from."""

    def of(self, chosen: Sequence[Queue], scope: Scope) -> dict[str, Cell]:
        """Everything on a page of these queues, by the ids of its elements."""
        names = [each.name for each in chosen if each.name in self.cells]
        found = {
            f"{words.key(name)}-{part}": cell for name in names for part, cell in self.cells[name].items()
        }
        totals = summed([self.counts[name] for name in names])
        return {**found, **{f"total-{part}": cell for part, cell in totals.items()}, **self.charts[scope]}


class Looker:
    """Looks at a store again and again, from any thread.

    What samples say is worked out once, however many look, and again when there are new ones.
    """

    def __init__(self) -> None:
        self._pasts: dict[Reach, Past] = {"hour": Past("hour"), "day": Past("day")}
        self._lock = threading.Lock()
        self._looked: datetime | None = None
        self._mark = ""
        self._doings: dict[str, Cells] = {}
        self._charts: dict[Scope, Cells] = {}
        self._sums: dict[Scope, Sums] = {}

    def look(
        self, store: Store, monitor: Monitor, watching: Iterable[Watching], now: datetime | None = None
    ) -> Sight:
        """What there is to see for all of them; to be run away from the event loop."""
        queues, everybody = store.queues.list(), list(watching)
        chosen = {queue.name: queue for each in everybody for queue in each.choose(queues)}
        scopes = {each.scope(queues) for each in everybody}
        counts = monitor.counts(list(chosen), now=now)
        alive = Counter(each.queue for each in store.consumers.list(now=now))
        moment = now or store.now()
        with self._lock:
            self._keep_up(monitor, scopes, frozenset(chosen), moment)
            past, drawn, mark = dict(self._doings), {each: self._charts[each] for each in scopes}, self._mark
        cells = {
            name: {**standings(chosen[name], counts[name], alive[name]), **past[name]} for name in counts
        }
        return Sight(queues, counts, cells, drawn, mark)

    def _keep_up(self, monitor: Monitor, scopes: set[Scope], names: frozenset[str], now: datetime) -> None:
        """Work out what samples say: once there are new ones, and for what is asked for the first time."""
        self._refresh(monitor, now)
        missing = names - self._doings.keys()
        if missing:
            hour = by_queue(list(missing), self._samples("hour", monitor, now))
            self._doings |= {name: doings(activity("hour", now, each)) for name, each in hour.items()}
        for scope in scopes - self._charts.keys():
            self._charts[scope] = self._drawn(scope, monitor, now)

    def _refresh(self, monitor: Monitor, now: datetime) -> None:
        """Forget what was worked out from older samples than there are; that is looked up now and then."""
        if self._looked is not None and timedelta(0) <= now - self._looked < FRESH:
            return
        mark = mark_of(self._samples("hour", monitor, now), now)
        if mark != self._mark:
            self._sums = {scope: sums for scope, sums in self._sums.items() if scope in self._charts}
            self._doings, self._charts = {}, {}
        self._looked, self._mark = now, mark

    def _drawn(self, scope: Scope, monitor: Monitor, now: datetime) -> Cells:
        reach, names = scope
        sums = self._sums.setdefault(scope, Sums())
        made = charts(reach, activity(reach, now, sums.of(of(self._samples(reach, monitor, now), names))))
        return {id: Cell(drawn, "html") for id, drawn in made.items()}

    def _samples(self, reach: Reach, monitor: Monitor, now: datetime) -> list[Sample]:
        return self._pasts[reach].upto(now, monitor)
