"""The charts of a report."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.peers.catalogue import BARE, OURS, STORES, TITLES
from benchmarks.peers.figures import Book
from benchmarks.peers.plan import MAIN
from benchmarks.peers.plots import Bar, Panel, chart

KINDS = {OURS: "ours", BARE: "limit"}


def charts(book: Book) -> Iterator[tuple[str, str]]:
    """Each chart's file name and its text."""
    work = [_panel(store, book, "cycle" if store == "sqs" else "work") for store in STORES]
    yield "work.svg", chart("Messages a second, handled and acked", _full(work))
    idle = [_panel(store, book, "latency idle, p50") for store in STORES]
    yield "latency.svg", chart("From push to handler at idle, median", _full(idle), " ms")
    single = [_panel(store, book, "round trips") for store in STORES]
    yield "roundtrips.svg", chart("One message at a time, a second", _full(single))


def _full(panels: list[Panel]) -> list[Panel]:
    return [each for each in panels if each.bars]


def _panel(store: str, book: Book, measure: str) -> Panel:
    ranked = book.best(store, MAIN, measure, 100, set())
    found = [book.get(store, name, MAIN, measure) for name in ranked]
    bars = [
        Bar(each.system, each.median or 0, min(each.known), max(each.known), KINDS.get(each.system, "bar"))
        for each in found
        if each and each.known
    ]
    return Panel(TITLES[store], bars)
