"""What RowMQ is to reach, and what it reached."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.peers import scenes
from benchmarks.peers.catalogue import BARE, OURS
from benchmarks.peers.figures import ALONE, Book, Ratio, Record, ratio
from benchmarks.peers.plan import MAIN
from benchmarks.peers.tables import NONE, spread, times

UNMEASURED = "not measured"


class Target(NamedTuple):
    """A bound for a ratio of two figures from below, or for one figure alone from above."""

    store: str
    measure: str
    bound: float
    against: str = ""
    """The system it is compared with; another case, store or measure of RowMQ if that is given."""
    case: str = MAIN
    other_case: str = ""
    other_store: str = ""
    other_measure: str = ""

    @property
    def name(self) -> str:
        """What is to be reached."""
        if not self.against:
            return f"{self.measure}, at most"
        other = self.other_case or self.other_store or self.other_measure
        case = "" if self.case == MAIN else f", {self.case}"
        return f"{self.measure}{case}, of {self.against}{f' {other}' if other else ''}"

    @property
    def asked(self) -> str:
        """The bound."""
        return f"{self.bound:g}" if self.against else f"{self.bound:g} ms"

    def reached(self, book: Book) -> Ratio | Record | None:
        """What it is in this run; None if it was not measured."""
        ours = book.get(self.store, OURS, self.case, self.measure)
        if not self.against:
            return ours if ours and ours.known else None
        theirs = self._other(book)
        return ratio(ours, theirs) if ours and theirs else None

    def _other(self, book: Book) -> Record | None:
        store, case = self.other_store or self.store, self.other_case or self.case
        return book.get(store, self.against, case, self.other_measure or self.measure)

    def said(self, book: Book) -> str:
        """What was reached, with its range; a ratio says nothing of ties here, its verdict does."""
        found = self.reached(book)
        if found is None:
            return NONE
        return times(found, tie=False) if isinstance(found, Ratio) else spread(found)

    def verdict(self, book: Book) -> str:
        """Reached, missed, or neither: a bound that the rounds are on both sides of."""
        found = self.reached(book)
        if found is None:
            return UNMEASURED
        if isinstance(found, Record):
            found = Ratio(found.median or 0.0, min(found.known), max(found.known), len(found.known))
        said = "reached" if self._reaches(found.median) else "missed"
        if self._is_near(found):
            return f"{said}, within noise"
        return said if said == "reached" else f"**{said}**"

    def _reaches(self, value: float) -> bool:
        return value >= self.bound if self.against else value <= self.bound

    def _is_near(self, found: Ratio) -> bool:
        """Whether the rounds cannot tell on which side of the bound it is."""
        if found.rounds == 1:
            return abs(found.median / self.bound - 1) < ALONE
        return self._reaches(found.least) != self._reaches(found.most)


OWN = ("sqlite", "postgres", "mysql", "redis")
WORK = (
    (
        "postgres",
        {
            "graphile-worker": 1.5,
            "graphile-worker, two processes": 1.5,
            "pgqueuer": 3,
            "pg-boss": 3,
            "procrastinate": 20,
            "pgmq": 0.9,
            BARE: 0.7,
        },
    ),
    ("sqlite", {"huey": 10, "litequeue": 10, "persist-queue": 10, "persist-queue, batches": 10, BARE: 0.7}),
    ("redis", {"celery": 5, "rq": 5, "dramatiq": 5, "BullMQ": 1}),
)
KEPT = ((scenes.WAITING, 0.9), (scenes.FINISHED, 0.9), (scenes.BOTH, 0.9), (scenes.HELD, 0.8))
TARGETS = (
    *(Target(store, "work", bound, name) for store, bounds in WORK for name, bound in bounds.items()),
    Target("mysql", "work", 0.5, OURS, other_store="postgres"),
    Target("sqs", "cycle", 3, "moto_server"),
    Target("sqs", "cycle, FIFO", 10, "moto_server"),
    *(
        Target(store, "work", bound, OURS, case, other_measure=scenes.EMPTY)
        for store in OWN
        for case, bound in KEPT
        if (store, case) != ("redis", scenes.HELD)
    ),
    *(
        Target(store, "work", 0.9, OURS, scenes.workers(16), scenes.workers(fewer))
        for store in OWN
        for fewer in (1, 4)
    ),
    *(
        Target(store, f"latency idle, {part}", bound)
        for store in ("sqlite", "postgres", "redis")
        for part, bound in (("p50", 3), ("p99", 25))
    ),
)
