"""What RowMQ is to reach, and what it reached."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.peers import scenes
from benchmarks.peers.catalogue import BARE, OURS
from benchmarks.peers.figures import Book, Ratio, Record, ratio

SIZE = "200 B"


class Target(NamedTuple):
    """A bound for a ratio of two figures, or for one figure alone."""

    store: str
    measure: str
    bound: float
    against: str = ""
    """The system it is compared with; another case or store of RowMQ if that is given."""
    case: str = SIZE
    other_case: str = ""
    other_store: str = ""

    @property
    def name(self) -> str:
        """What is to be reached."""
        if not self.against:
            return f"{self.measure}, at most"
        other = self.other_case or self.other_store
        case = "" if self.case == SIZE else f", {self.case}"
        return f"{self.measure}{case}, of {self.against}{f' {other}' if other else ''}"

    def reached(self, book: Book) -> Ratio | float | None:
        """What it is in this run; None if it was not measured."""
        ours = book.get(self.store, OURS, self.case, self.measure)
        if not self.against:
            return ours.median if ours else None
        theirs = self._other(book)
        return ratio(ours, theirs) if ours and theirs else None

    def _other(self, book: Book) -> Record | None:
        store, case = self.other_store or self.store, self.other_case or self.case
        return book.get(store, self.against, case, self.measure)

    def verdict(self, book: Book) -> str:
        """Reached, missed, or neither: a bound that the rounds are on both sides of."""
        found = self.reached(book)
        if found is None:
            return "not measured"
        if not isinstance(found, Ratio):
            return "reached" if found <= self.bound else "**missed**"
        if found.rounds > 1 and found.least < self.bound <= found.most:
            return "reached, within noise" if found.median >= self.bound else "missed, within noise"
        return "reached" if found.median >= self.bound else "**missed**"


WORK = (
    (
        "postgres",
        {"graphile-worker": 1.5, "pgqueuer": 3, "pg-boss": 3, "procrastinate": 20, "pgmq": 0.9, BARE: 0.7},
    ),
    ("sqlite", {"huey": 10, "litequeue": 10, "persist-queue": 10, "persist-queue, batches": 10, BARE: 0.7}),
    ("redis", {"celery": 5, "rq": 5, "dramatiq": 5, "BullMQ": 1}),
)
KEPT = ((scenes.WAITING, 0.9), (scenes.FINISHED, 0.9), (scenes.HELD, 0.8))
TARGETS = (
    *(Target(store, "work", bound, name) for store, bounds in WORK for name, bound in bounds.items()),
    Target("mysql", "work", 0.5, OURS, other_store="postgres"),
    Target("sqs", "cycle", 3, "moto_server"),
    Target("sqs", "cycle, FIFO", 10, "moto_server"),
    *(
        Target(store, "work", bound, OURS, case, scenes.EMPTY)
        for store in ("sqlite", "postgres", "mysql", "redis")
        for case, bound in KEPT
    ),
    *(
        Target(store, "work", 0.9, OURS, scenes.workers(16), scenes.workers(fewer))
        for store in ("sqlite", "postgres", "mysql", "redis")
        for fewer in (1, 4)
    ),
    *(
        Target(store, f"latency idle, {part}", bound)
        for store in ("sqlite", "postgres", "redis")
        for part, bound in (("p50", 3), ("p99", 25))
    ),
)
