"""What a claim and its ack cost in a crowded store, in time and in counted work.

    python -m benchmarks.claim_cost [--store sqlite] [--scale 10] [--json]
    python -m benchmarks.claim_cost --held [--messages 200000]

The first compares stores crowded with up to 1,000,000 messages with nearly empty ones. The second shows
what a transaction that somebody holds open, so that vacuum can remove nothing, does to PostgreSQL.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple, cast
from urllib.parse import urlsplit, urlunsplit

from benchmarks.engine import job
from benchmarks.places import KINDS, places
from rowmq.core.delivery import Settlement
from rowmq.core.outcome import ACK
from rowmq.stores import open_store
from rowmq.testing.build import T0
from tests.servers import connect_postgres, private_postgres
from tests.stores.crowds import Scene, claim_and_ack, fill, measure, push_due, scenes
from tests.stores.work import meter_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.engine import Job
    from rowmq.stores.sql.store import SQLStore

TIMED = 15
HELD_BATCH = 500
SEGMENTS = 20
PASSED = 0.8
"""How much of its speed a store must keep while a transaction is held open."""


class Cost(NamedTuple):
    """One scene on one store: milliseconds and work, in a crowd and nearly alone."""

    store: str
    scene: str
    messages: int
    crowded_ms: float
    small_ms: float
    crowded_work: int
    small_work: int
    unit: str


def say(text: str) -> None:
    """Print progress."""
    print(f"# {text}", file=sys.stderr, flush=True)


def costs(kind: str, scale: int) -> list[Cost]:
    """Measure every scene on one kind of store."""
    with places(kind) as spots, spots.store() as crowded, spots.store() as small:
        found = scenes(scale)
        for scene in found:
            say(f"{kind}: filling {scene.name}, {sum(scene.crowd) - scene.crowd.groups:,} messages")
            fill(crowded, scene.name, scene.crowd)
            fill(small, scene.name, scene.small)
        return [cost(kind, scene, crowded, small, number) for number, scene in enumerate(found)]


def cost(kind: str, scene: Scene, crowded: SQLStore, small: SQLStore, number: int) -> Cost:
    """Time first, for counting takes time, the two stores in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for round_ in range(TIMED):
        for store, found in zip((crowded, small), times, strict=True):
            found.append(timed(store, scene, number, round_))
    works = [measure(store, scene, number, start=T0 + timedelta(hours=1)) for store in (crowded, small)]
    ours, theirs = (round(statistics.median(found) * 1000, 2) for found in times)
    unit = meter_of(small).unit
    say(f"{kind}: {scene.name}: {ours} and {theirs} ms, {works[0].work:,} and {works[1].work:,} {unit}")
    return Cost(kind, scene.name, works[0].messages, ours, theirs, works[0].work, works[1].work, unit)


def timed(store: SQLStore, scene: Scene, salt: int, number: int) -> float:
    """Seconds of one claim and its ack."""
    now = T0 + timedelta(seconds=number)
    push_due(store, scene.name, scene.due, now, salt)
    started = time.perf_counter()
    claim_and_ack(store, scene.name, scene.limit, now)
    return time.perf_counter() - started


def show(found: Sequence[Cost]) -> None:
    """Print a table."""
    print(
        "| store | crowd | messages | ms, crowded | ms, nearly empty | work, crowded | work, nearly empty |"
    )
    print("|---|---|---:|---:|---:|---:|---:|")
    for each in found:
        times = f"{each.crowded_ms:.2f} | {each.small_ms:.2f}"
        work = f"{each.crowded_work:,} {each.unit} | {each.small_work:,} {each.unit}"
        print(f"| {each.store} | {each.scene} | {each.messages} | {times} | {work} |")


class Held(NamedTuple):
    """Messages per second, over all and over the last quarter, free and with a transaction held open."""

    messages: int
    free: int
    held: int
    ratio: float
    last_free: int
    last_held: int
    last_ratio: float


def held(messages: int) -> Held:
    """Let messages pass through two databases of one server in turn, one of them with a transaction held."""
    with private_postgres() as url, ExitStack() as stack:
        stores = [stack.enter_context(own_database(url, name)) for name in ("free", "held")]
        stack.enter_context(holding(stores[1].database.url.render_as_string(hide_password=False)))
        times: tuple[list[float], list[float]] = ([], [])
        for number in range(SEGMENTS):
            work = job(messages // SEGMENTS, HELD_BATCH)
            for store, found in zip(stores, times, strict=True):
                found.append(passing(store, work))
            rates = [round(work.messages / found[-1]) for found in times]
            say(f"segment {number + 1} of {SEGMENTS}: free {rates[0]:,}/s, held {rates[1]:,}/s")
    return summary(messages, *times)


def summary(messages: int, free: Sequence[float], held: Sequence[float]) -> Held:
    """Rates from the seconds of each segment."""
    each, last = messages // SEGMENTS, SEGMENTS // 4
    all_free, all_held = (round(messages / sum(times)) for times in (free, held))
    late_free, late_held = (round(each * last / sum(times[-last:])) for times in (free, held))
    ratios = round(all_held / all_free, 3), round(late_held / late_free, 3)
    return Held(messages, all_free, all_held, ratios[0], late_free, late_held, ratios[1])


def passing(store: SQLStore, work: Job) -> float:
    """Seconds that messages take from push to ack, batch by batch."""
    started = time.perf_counter()
    for batch in work.batches:
        store.push([batch])
        (found,) = store.claim("q", [work.want])
        store.settle([Settlement(each.receipt, ACK) for each in found])
    return time.perf_counter() - started


@contextmanager
def own_database(server: str, name: str) -> Iterator[SQLStore]:
    """Open a store in a database of its own: a held transaction keeps vacuum from its own database only."""
    with connect_postgres(server) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    store = cast("SQLStore", open_store(urlunsplit(urlsplit(server)._replace(path=f"/{name}"))))
    try:
        store.queues.put("q", {"lease": timedelta(hours=6)})
        yield store
    finally:
        store.close()


@contextmanager
def holding(url: str) -> Iterator[None]:
    """Hold a transaction open that still needs to see everything as it was."""
    with connect_postgres(url) as connection:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT COUNT(*) FROM rowmq_pending")
        yield
        connection.execute("ROLLBACK")


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", choices=KINDS, action="append", help="which stores (all)")
    parser.add_argument("--scale", type=int, default=10, help="10 is the full size, 1 a tenth of it")
    parser.add_argument("--held", action="store_true", help="PostgreSQL with a transaction held open")
    parser.add_argument("--messages", type=int, default=200_000, help="how many pass by, with --held")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    if options.held:
        show_held(held(options.messages), as_json=options.json)
        return
    found = [each for kind in options.store or KINDS for each in costs(kind, options.scale)]
    if options.json:
        print(json.dumps([each._asdict() for each in found], indent=1))
    else:
        show(found)


def show_held(found: Held, *, as_json: bool) -> None:
    """Print what a held transaction costs."""
    if as_json:
        print(json.dumps(found._asdict(), indent=1))
        return
    print(f"| of {found.messages:,} messages | free, msgs/s | held, msgs/s | ratio (target {PASSED}) |")
    print("|---|---:|---:|---:|")
    print(f"| all | {found.free:,} | {found.held:,} | **{found.ratio:.2f}** |")
    print(f"| the last quarter | {found.last_free:,} | {found.last_held:,} | {found.last_ratio:.2f} |")


if __name__ == "__main__":
    main()
