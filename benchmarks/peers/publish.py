"""What other pages say of the comparison: a part between two marks, written with the results."""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers.catalogue import BARE, OURS, STORES, TITLES
from benchmarks.peers.figures import Book
from benchmarks.peers.plan import MAIN
from benchmarks.peers.results import Results
from benchmarks.peers.targets import TARGETS
from benchmarks.publish import between

ROOT = Path(__file__).parents[2]
PART = "peers"
README = """[![Messages a second beside other queues](benchmarks/peers/work.svg)](benchmarks/peers.md)

{sentence} [All figures, settings and misses](benchmarks/peers.md)."""
PAGE = """{sentence} [peers.md](peers.md) has all of it: rates, latency, costs, crowds, targets and settings.

![Messages a second](peers/work.svg)"""


def publish(results: Results, root: Path = ROOT) -> None:
    """Say it in the README and on the page of results."""
    said = sentence(results)
    for path, text in ((root / "README.md", README), (root / "benchmarks" / "results.md", PAGE)):
        path.write_text(between(path.read_text(), PART, text.format(sentence=said)))


def sentence(results: Results) -> str:
    """How RowMQ compares with the best peer of each store, and how many targets were missed."""
    said = [found for store in STORES if (found := _beside(store, results.book))]
    verdicts = [target.verdict(results.book) for target in TARGETS]
    known = [each for each in verdicts if each != "not measured"]
    missed = sum("missed" in each for each in known)
    where = results.parts[-1]["machine"].partition(",")[0] if results.parts else "one machine"
    misses = f"{missed} {'was' if missed == 1 else 'were'} missed"
    return (
        f"Messages handled and acked a second, durable, each peer tuned as its own docs say, on {where}:"
        f" {'; '.join(said)}. Of {len(known)} targets that were measured, {misses}."
    )


def _beside(store: str, book: Book) -> str:
    measure = "cycle" if store == "sqs" else "work"
    best = book.best(store, MAIN, measure, 1, {OURS, BARE})
    found = book.ratio(store, MAIN, measure, (OURS, best[0])) if best else None
    if found is None:
        return ""
    tie = " (a tie)" if found.is_tie else ""
    return f"on {TITLES[store]} RowMQ is {found.median:.1f} times {best[0]}, the fastest peer{tie}"
