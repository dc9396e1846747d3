"""The report of a run, as Markdown: made from results.json alone, and never edited by hand."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.peers import scenes
from benchmarks.peers.catalogue import BARE, OURS, STORES, TITLES
from benchmarks.peers.charts import charts
from benchmarks.peers.figures import Book, Record, ratio
from benchmarks.peers.plan import MAIN, SIZES
from benchmarks.peers.results import Results
from benchmarks.peers.tables import NONE, count, head, line, row, spread, times
from benchmarks.peers.targets import TARGETS

RATES = ("enqueue, single", "enqueue, batch", "work", "round trips", "cycle", "cycle, FIFO")
RATED = {each: each for each in RATES[:4]}
COSTS = {
    each: each
    for each in ("client CPU", "server CPU", "bytes", "dead tuples", "client memory", "server memory", "stop")
}
LATENCIES = {
    f"{load}, from {start}, {part}": f"latency {load}{' from return' if start == 'return' else ''}, {part}"
    for load in ("idle", "half load")
    for start in ("call", "return")
    for part in ("p50", "p99")
}
SIZED = {
    **{each: each for each in ("enqueue, single", "enqueue, batch", "round trips")},
    **{name.replace(" from call,", ""): each for name, each in LATENCIES.items() if "call" in name},
    **{each: each for each in ("client CPU", "server CPU", "bytes", "client memory", "server memory")},
}
CASES = (
    scenes.WAITING,
    scenes.FINISHED,
    scenes.BOTH,
    scenes.HELD,
    *map(scenes.workers, scenes.Crowd().workers),
)


def write(results: Results, page: Path, folder: Path) -> None:
    """Write the page, the charts and the results themselves."""
    results.save(folder)
    for name, drawn in charts(results.book):
        (folder / name).write_text(drawn)
    page.write_text("\n".join(_page(results, os.path.relpath(folder, page.parent))) + "\n")


HEAD = """# RowMQ beside its peers

Written by `python -m benchmarks.peers`, which measures all of it on the same private servers; do not edit
it. All systems of a store run in turn in each round. Figures are medians with the range of the rounds; a
ratio is the median of the rounds' own ratios, and a tie where they lie on both sides of 1 or within 5 % of
it (15 % where there was one round). A step has as many messages as a system handles in about the seconds
given, up to the number given, and handles all of them. Before a step PostgreSQL analyzes its tables, as
autovacuum would within a minute: without that some take a plan made for an empty table, and are slow or
stand still. Each step in a crowd, or with more workers, begins after a checkpoint of
PostgreSQL's. Transactions are held open beside all systems of a store for the same minutes, in which all of
them work on at once; then one after the other is measured, an empty place before all that.

The clock of work starts when a tenth of the messages has been handled, so that nobody's start counts (with
the start, where more than a quarter was handled by then: batches too large to tell more), and ends when as
many are acked as were to be handled: with the last handler if that is so a moment later (50 ms), else when
it is. Then the worker is stopped (the seconds are told), and it is checked that nothing is left. The bare
loop sends the store's own statements through the driver, in one connection, with nothing around them: the
limit. On Redis it is three small scripts that know leases and tokens and keep no history. It pushes and
claims in one process and wakes nobody: its latency ends when the claim has returned.

![Messages a second]({folder}/work.svg)
"""
LATENCY = """
Milliseconds to the handler in another process, from the call of a push and from its return, at idle and at
half of what one caller and one worker can do ("load", messages a second):
"""
COST = """
What a message costs from push to ack in batches: CPU seconds for 10,000, bytes written to the log; and at the
end dead tuples, megabytes (what processes share counted once), and the seconds of the worker's stop:
"""
SIZE = """
Messages of {size}: a second one by one, in batches and there and back; milliseconds from the call of a push
to the handler; costs as above:
"""
CROWD = """
Work/s in a crowd, while a transaction is held open, and with more workers; how much that is of an empty place
with one worker in the same round; and of the bare loop, which has an empty place (medians by medians):
"""
WAITED = "\nMessages that waited in the FIFO queue, as many as were taken in a minute: {}."


def _page(results: Results, folder: str) -> Iterator[str]:
    book = results.book
    yield HEAD.format(folder=folder)
    yield from _parts(results)
    yield from _targets(book)
    for store in STORES:
        if book.systems(store, *SIZES, *CASES):
            yield from _store(store, results, folder)
    yield from _settings(results)
    yield from _gone(results)


def _parts(results: Results) -> Iterator[str]:
    yield from head(
        "store", "when", "commit", "load before", "rounds", "a step", "sizes", "scenes", "machine"
    )
    for each in results.parts:
        step = f"{each['messages']:,} messages, {each['seconds']:g} s"
        lists = (", ".join(each[name]) for name in ("sizes", "scenes"))
        where = f"{each['machine']}; Python {each['python']}"
        known = (TITLES[each["store"]], each["when"], each["commit"], each["load"], each["rounds"])
        yield row(*known, step, *lists, where)
    yield ""


def _targets(book: Book) -> Iterator[str]:
    yield "## Targets\n"
    yield from head("store", "what", "target", "reached", "verdict")
    for target in TARGETS:
        yield row(TITLES[target.store], target.name, target.asked, target.said(book), target.verdict(book))
    yield ""


def _store(store: str, results: Results, folder: str) -> Iterator[str]:
    book = results.book
    yield f"## {TITLES[store]}\n"
    yield f"{results.servers.get(store, '')}. Messages of 200 bytes, a second:\n"
    yield from _rates(store, book)
    yield from _waited(store, book)
    yield from _fractions(store, book, RATED)
    yield LATENCY
    yield from _plain(store, book, {"load": "half load"} | LATENCIES)
    yield from _fractions(store, book, LATENCIES)
    yield f"\n![From push to handler]({folder}/latency.svg)" if store == STORES[0] else ""
    yield COST
    yield from _plain(store, book, COSTS)
    yield from _fractions(store, book, COSTS)
    yield from _sizes(store, book)
    yield from _crowd(store, book)
    yield ""


def _rates(store: str, book: Book) -> Iterator[str]:
    """Rates, and how many times a system's work RowMQ's is."""
    names = book.systems(store, MAIN)
    measures = [each for each in RATES if any(book.get(store, name, MAIN, each) for name in names)]
    main = "cycle" if "cycle" in measures else "work"
    yield from head("system", *measures, f"RowMQ is, in {main}")
    ranked = book.best(store, MAIN, main, len(names), set())
    for name in [*ranked, *(each for each in names if each not in ranked)]:
        cells = [spread(book.get(store, name, MAIN, each)) for each in measures]
        ours = times(book.ratio(store, MAIN, main, (OURS, name))) if name != OURS else ""
        yield row(name, *cells, ours)


def _waited(store: str, book: Book) -> Iterator[str]:
    """How many messages the FIFO queues had in fact: a server may not have taken all in time."""
    known = {name: book.get(store, name, MAIN, "waiting in FIFO") for name in book.systems(store, MAIN)}
    said = [f"{name} {count(found)}" for name, found in known.items() if found]
    if said:
        yield WAITED.format(", ".join(said))


def _fractions(store: str, book: Book, measures: dict[str, str], size: str = MAIN) -> Iterator[str]:
    """What the bare loop has too, as a part of it."""
    columns = {name: each for name, each in measures.items() if _known(book.get(store, BARE, size, each))}
    names = [each for each in book.systems(store, size) if each != BARE]
    if columns and names:
        yield "\nAs a part of the bare loop:\n"
        yield from head("system", *columns)
    for name in names if columns else ():
        parts = [book.ratio(store, size, each, (name, BARE)) for each in columns.values()]
        yield row(name, *(times(each, tie=False) for each in parts))


def _known(found: Record | None) -> bool:
    """Whether something can be compared with it."""
    return bool(found and any(found.known))


def _plain(store: str, book: Book, measures: dict[str, str], size: str = MAIN) -> Iterator[str]:
    yield from head("system", *measures)
    for name in book.systems(store, size):
        found = [book.get(store, name, size, each) for each in measures.values()]
        if name != BARE or any(map(_known, found)):
            yield row(name, *map(spread, found))


def _sizes(store: str, book: Book) -> Iterator[str]:
    held = [size for size in SIZES if book.systems(store, size)]
    if len(held) > 1:
        yield "\nWork/s at other sizes:\n"
        yield from head("system", *held)
        for name in book.systems(store, *held):
            yield row(name, *(spread(book.get(store, name, size, "work")) for size in held))
        for size in held[1:]:
            yield from _sized(store, book, size)


def _sized(store: str, book: Book, size: str) -> Iterator[str]:
    """What else is known at another size."""
    yield SIZE.format(size=size)
    yield from _plain(store, book, SIZED, size)
    yield from _fractions(store, book, {"work": "work"} | SIZED, size)


def _crowd(store: str, book: Book) -> Iterator[str]:
    held = [case for case in CASES if book.systems(store, case)]
    if held:
        yield CROWD
        yield from head("system", *held)
        for name in book.systems(store, *held):
            yield row(name, *(_beside(store, book, name, case) for case in held))
        yield from _full(store, book, held)


def _beside(store: str, book: Book, name: str, case: str) -> str:
    found, empty = (book.get(store, name, case, each) for each in ("work", scenes.EMPTY))
    if found is None or found.median is None or empty is None:
        return NONE
    bare = book.get(store, BARE, MAIN, "work")
    limit = f"; {found.median / bare.median:.2f} of bare" if bare and bare.median else ""
    return f"{spread(found)}; {times(ratio(found, empty), tie=False)} of empty{limit}"


def _full(store: str, book: Book, cases: Sequence[str]) -> Iterator[str]:
    """What the places were full of, in fact."""
    said = [
        f"{name}, {case}: {count(found)} {what}"
        for case in cases
        for name in book.systems(store, case)
        for what in ("waiting", "finished", "dead tuples")
        if (found := book.get(store, name, case, what)) and found.known
    ]
    yield f"\nThere were: {'; '.join(said)}." if said else ""


def _settings(results: Results) -> Iterator[str]:
    yield "## Versions and settings\n"
    yield from head("store", "system", "version", "runs on", "settings, and why")
    for each in sorted(results.systems, key=lambda it: STORES.index(it["store"])):
        known = (each["version"], each.get("runs on", ""), each["settings"])
        yield row(TITLES[each["store"]], each["system"], *known)
    yield ""


def _gone(results: Results) -> Iterator[str]:
    if results.missing or results.troubles:
        yield "## What could not be measured\n"
    for each in results.missing:
        yield f"- {TITLES[each['store']]}, {each['system']}: {line(each['reason'])}"
    for each in results.troubles:
        yield f"- {TITLES[each['store']]}, {each['system']}, {each['case']}: {line(each['what'])}"
