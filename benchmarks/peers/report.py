"""The report of a run, as Markdown and charts: made from results.json alone, and never edited by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers import scenes
from benchmarks.peers.catalogue import BARE, OURS, STORES
from benchmarks.peers.figures import Book, Ratio, Record
from benchmarks.peers.plots import Bar, Panel, chart, number
from benchmarks.peers.targets import SIZE, TARGETS

TITLES = {
    "sqlite": "SQLite",
    "postgres": "PostgreSQL",
    "mysql": "MariaDB",
    "redis": "Redis",
    "sqs": "SQS over HTTP",
}
RATES = (
    "enqueue, single",
    "enqueue, batch",
    "work",
    "round trips",
    "cycle",
    "cycle, FIFO",
    "cycle, FIFO, waiting",
)
COSTS = ("client CPU", "server CPU", "bytes", "dead tuples", "client memory", "server memory")
LATENCIES = tuple(f"latency {load}, {part}" for load in ("idle", "half load") for part in ("p50", "p99"))
CASES = (scenes.EMPTY, scenes.WAITING, scenes.FINISHED, scenes.HELD, *map(scenes.workers, (1, 4, 16)))
SIZES = ("200 B", "2 KB", "20 KB")


def write(results: dict[str, Any], page: Path, charts: Path) -> None:
    """Write the page, the charts and the results themselves."""
    book = Book([Record(**each) for each in results["records"]])
    page.write_text("\n".join(_page(results, book)) + "\n")
    for name, drawn in _charts(book):
        (charts / name).write_text(drawn)
    (charts / "results.json").write_text(json.dumps(results, indent=1) + "\n")


HEAD = """# RowMQ beside its peers

Written by `python -m benchmarks.peers`, which measures all of it in one run; do not edit it.

{machine}; Python {python}; commit {commit}; {when}; load at the start {load}. {rounds} rounds, all systems in
turn in each; up to {messages:,} messages or {seconds:g} s a step. Figures are medians with the range of the
rounds; a ratio is the median of the rounds' own ratios, and a tie where they lie on both sides of 1 or within
5 % of it. The clock of work starts with the first message handled and ends when all are acked.

![Messages a second](peers/work.svg)
"""
LATENCY = """
Milliseconds from the call of a push to its handler in another process, at idle and at half of what one
caller and one worker can do:
"""
COST = """
What a message costs from push to ack in batches: CPU seconds for 10,000, bytes written to the log, and at the
end dead tuples and megabytes:
"""


def _page(results: dict[str, Any], book: Book) -> Iterator[str]:
    yield HEAD.format(**results, **results["plan"])
    yield from _targets(book)
    for store in STORES:
        if book.systems(store, SIZE):
            yield from _store(store, results, book)
    yield from _settings(results)
    yield from _gone(results)


def _targets(book: Book) -> Iterator[str]:
    yield "## Targets\n"
    yield from _head("store", "what", "target", "reached", "verdict")
    for target in TARGETS:
        found = target.reached(book)
        said = _times(found) if isinstance(found, Ratio) else _cell(found)
        bound = f"{target.bound:g} ms" if not target.against else f"{target.bound:g}"
        yield _row(TITLES[target.store], target.name, bound, said, target.verdict(book))
    yield ""


def _store(store: str, results: dict[str, Any], book: Book) -> Iterator[str]:
    yield f"## {TITLES[store]}\n"
    yield f"{results['servers'].get(store, '')}. Messages of 200 bytes, a second:\n"
    yield from _rates(store, book)
    yield LATENCY
    yield from _plain(store, book, LATENCIES)
    yield COST
    yield from _plain(store, book, COSTS)
    yield from _more(store, book, "\nWork/s at other sizes:\n", SIZES)
    yield from _more(store, book, "\nWork/s in a crowd, and with more workers:\n", CASES)
    yield ""


def _rates(store: str, book: Book) -> Iterator[str]:
    """Rates, and how many times a system's work RowMQ's is, and what part of the limit."""
    measures = [
        each for each in RATES if any(book.get(store, name, SIZE, each) for name in book.systems(store, SIZE))
    ]
    main = "cycle" if "cycle" in measures else "work"
    yield from _head("system", *measures, f"RowMQ is, in {main}", "of the bare loop")
    for name in _ranked(store, book, main):
        cells = [_range(book.get(store, name, SIZE, each)) for each in measures]
        ours = _times(book.ratio(store, SIZE, main, (OURS, name))) if name != OURS else ""
        yield _row(name, *cells, ours, _times(book.ratio(store, SIZE, main, (name, BARE)), tie=False))


def _ranked(store: str, book: Book, measure: str) -> list[str]:
    return book.best(store, SIZE, measure, 100, set())


def _plain(store: str, book: Book, measures: Sequence[str]) -> Iterator[str]:
    yield from _head("system", *measures)
    for name in book.systems(store, SIZE):
        if name != BARE:
            yield _row(name, *(_range(book.get(store, name, SIZE, each)) for each in measures))


def _more(store: str, book: Book, text: str, cases: Sequence[str]) -> Iterator[str]:
    """A table of one measure in several cases, if more than one was measured."""
    held = [case for case in cases if book.systems(store, case)]
    names = [name for case in held[-1:] for name in book.systems(store, case)]
    if len(held) > 1:
        yield text
        yield from _head("system", *held)
        for name in names:
            yield _row(name, *(_range(book.get(store, name, case, "work")) for case in held))


def _settings(results: dict[str, Any]) -> Iterator[str]:
    yield "## Versions and settings\n"
    yield from _head("store", "system", "version", "settings, and why")
    for each in results["systems"]:
        yield _row(TITLES[each["store"]], each["system"], each["version"], each["settings"])
    yield ""


def _gone(results: dict[str, Any]) -> Iterator[str]:
    if results["missing"] or results["troubles"]:
        yield "## What could not be measured\n"
    for each in results["missing"]:
        yield f"- {TITLES[each['store']]}, {each['system']}: {_line(each['reason'])}"
    for each in results["troubles"]:
        yield f"- {TITLES[each['store']]}, {each['system']}, {each['case']}: {_line(each['what'])}"


def _charts(book: Book) -> Iterator[tuple[str, str]]:
    work = [_panel(store, book, "cycle" if store == "sqs" else "work") for store in STORES]
    yield "work.svg", chart("Messages a second, handled and acked", [each for each in work if each.bars])
    idle = [_panel(store, book, "latency idle, p50") for store in STORES]
    yield (
        "latency.svg",
        chart("From push to handler at idle, median", [each for each in idle if each.bars], " ms"),
    )
    single = [_panel(store, book, "round trips") for store in STORES]
    yield "roundtrips.svg", chart("One message at a time, a second", [each for each in single if each.bars])


def _panel(store: str, book: Book, measure: str) -> Panel:
    found = [book.get(store, name, SIZE, measure) for name in _ranked(store, book, measure)]
    kinds = {OURS: "ours", BARE: "limit"}
    bars = [
        Bar(each.system, each.median or 0, min(each.known), max(each.known), kinds.get(each.system, "bar"))
        for each in found
        if each and each.known
    ]
    return Panel(TITLES[store], bars)


def _range(record: Record | None) -> str:
    """A median, and in brackets the least and the most."""
    if record is None or record.median is None:
        return "-"
    least, most = min(record.known), max(record.known)
    return (
        number(record.median)
        if least == most
        else f"{number(record.median)} ({number(least)}-{number(most)})"
    )


def _times(found: Ratio | None, *, tie: bool = True) -> str:
    if found is None:
        return "-"
    said = f"{found.median:.2f}" + (f" ({found.least:.2f}-{found.most:.2f})" if found.rounds > 1 else "")
    return f"{said}, a tie" if tie and found.is_tie else said


def _cell(value: float | None) -> str:
    return "-" if value is None else number(value)


def _head(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield "|" + "|".join("---" for _ in names) + "|"


def _row(*cells: object) -> str:
    return "| " + " | ".join(_line(str(cell)) for cell in cells) + " |"


def _line(text: str) -> str:
    """Text that stays on its line and in its cell."""
    return " ".join(text.replace("|", "\\|").split())
