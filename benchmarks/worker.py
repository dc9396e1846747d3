"""How much of the engine's speed is left to a worker's handlers.

    python -m benchmarks.worker [--store sqlite] [--messages 50000] [--rounds 5] [--json]

A worker with a no-op handler empties a queue of 200-byte messages; beside it, in turn and each time on an
empty database, one loop of claim and settle at the same batch size, in one thread. fsync on, history kept.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import rowmq
from benchmarks.places import places
from rowmq.engine import Ack, Settlement, Want
from rowmq.runtime.terms import Terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.places import Places

PAYLOAD = "x" * 198
PUSHED = 1000
TARGET = 0.6
KINDS = ("sqlite", "postgres")
DEFAULTS = Terms()


class Result(NamedTuple):
    """Messages per second by a worker and by the bare loop, and the rounds' ratios."""

    store: str
    batch: int
    messages: int
    worker: int
    loop: int
    ratio: float
    ratios: Sequence[float]


def filled(url: str, messages: int) -> rowmq.Client:
    """A client whose queue holds that many messages."""
    mq = rowmq.connect(url)
    queue = mq.queue("q", lease=3600)
    for _ in range(messages // PUSHED):
        queue.push_many([PAYLOAD] * PUSHED)
    return mq


def by_worker(spots: Places, messages: int) -> float:
    """Seconds that a worker takes, start and stop included."""
    with spots.url() as url, filled(url, messages) as mq:
        mq.handler("q")(lambda _: None)
        worker = mq.worker(stop_when_empty=True)
        began = time.perf_counter()
        worker.run()
        took = time.perf_counter() - began
        check(mq, messages)
    return took


def by_loop(spots: Places, messages: int) -> float:
    """Seconds that claiming and settling take, with nothing in between."""
    with spots.url() as url, filled(url, messages) as mq:
        store, want = mq.store, Want(limit=DEFAULTS.batch)
        began = time.perf_counter()
        while found := store.claim("q", [want])[0]:
            store.settle([Settlement(each.receipt, Ack()) for each in found])
        took = time.perf_counter() - began
        check(mq, messages)
    return took


def check(mq: rowmq.Client, messages: int) -> None:
    """Make sure that it did what it was timed for."""
    done = mq.queue("q").stats().done
    if done != messages:
        raise RuntimeError(f"{done} of {messages} messages are done")


def compare(spots: Places, messages: int, rounds: int) -> Result:
    """Alternate the two, each going first every other time."""
    times: dict[str, list[float]] = {"worker": [], "loop": []}
    ways = {"worker": by_worker, "loop": by_loop}
    for number in range(rounds):
        for way in sorted(ways, reverse=number % 2 == 0):
            times[way].append(ways[way](spots, messages))
        said = ", ".join(f"{way} {found[-1]:.2f} s" for way, found in times.items())
        print(f"# {spots.kind}, round {number + 1} of {rounds}: {said}", file=sys.stderr)
    ratios = [loop / worker for worker, loop in zip(times["worker"], times["loop"], strict=True)]
    rates = {way: round(messages / statistics.median(found)) for way, found in times.items()}
    middle = round(statistics.median(ratios), 2)
    return Result(
        spots.kind,
        DEFAULTS.batch,
        messages,
        rates["worker"],
        rates["loop"],
        middle,
        [round(each, 2) for each in ratios],
    )


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", choices=KINDS, action="append", help="which stores (all)")
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    results = []
    for kind in options.store or KINDS:
        with places(kind) as spots:
            results.append(compare(spots, options.messages, options.rounds))
    if options.json:
        print(json.dumps([found._asdict() for found in results], indent=1))
        return
    print(f"| store | batch | messages | worker, msgs/s | loop, msgs/s | ratio (target {TARGET}) | rounds |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for found in results:
        rounds = ", ".join(f"{each:.2f}" for each in found.ratios)
        print(
            f"| {found.store} | {found.batch} | {found.messages:,} | {found.worker:,} | {found.loop:,}"
            f" | **{found.ratio:.2f}** | {rounds} |"
        )


if __name__ == "__main__":
    main()
