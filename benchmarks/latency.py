"""How soon a handler starts after a push, and what waiting for it costs.

    python -m benchmarks.latency [--store sqlite] [--messages 200] [--json]

One process runs an idle worker; this one pushes a message every now and then. The time is from the push to
the first line of the handler, on the machine's monotonic clock, which both processes share: from the moment
the push has returned (only then is there a message), and from the moment it was called, its own COMMIT
included. Then the worker's CPU time is read while nothing is pushed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import rowmq
from benchmarks.places import places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.places import Places
    from rowmq import ClaimedMessage

KINDS = ("sqlite", "postgres", "mysql")
IDLE = 10.0
"""Seconds for which the CPU time of an idle worker is measured."""
TARGET, IDLE_TARGET = 5.0, 2.0
FIRST = 10
"""Pushes that are not counted: they pay for starting and for plans."""
TICKS = os.sysconf("SC_CLK_TCK")


class Result(NamedTuple):
    """Milliseconds from push to handler, and what part of a core an idle worker uses, in percent."""

    store: str
    messages: int
    median: float
    p95: float
    called: float
    """The median from before the push."""
    called_p95: float
    idle: float


def work(url: str) -> None:
    """Be the worker: say for each message when it was pushed and when its handler began."""
    mq = rowmq.connect(url)

    @mq.handler("q")
    def handle(_: ClaimedMessage) -> None:
        print(f"{time.monotonic():.6f}", flush=True)

    mq.work()


def measure(spots: Places, messages: int) -> Result:
    """Push to an idle worker again and again, and then not at all."""
    with spots.url() as url, rowmq.connect(url) as mq:
        queue = mq.queue("q")
        command = [sys.executable, "-m", "benchmarks.latency", "--work", url]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ourselves
        if worker.stdout is None:
            raise RuntimeError("no output to read")
        try:
            found, called = [], []
            for number in range(messages + FIRST):
                before = time.monotonic()
                queue.push(number)
                after = time.monotonic()
                began = float(worker.stdout.readline())
                found.append(1000 * (began - after))
                called.append(1000 * (began - before))
                time.sleep(0.05 + 0.05 * random.random())  # noqa: S311 - so that no rhythm helps
            idle = idle_share(worker.pid)
        finally:
            worker.terminate()
            worker.wait()
    return Result(spots.kind, messages, *middle(found[FIRST:]), *middle(called[FIRST:]), round(idle, 2))


def middle(times: Sequence[float]) -> tuple[float, float]:
    """The median, and what nineteen of twenty are below."""
    return round(statistics.median(times), 2), round(sorted(times)[int(0.95 * len(times))], 2)


def idle_share(pid: int) -> float:
    """The percentage of a core that a process uses while nothing happens."""
    time.sleep(1)
    before, began = cpu_seconds(pid), time.monotonic()
    time.sleep(IDLE)
    return 100 * (cpu_seconds(pid) - before) / (time.monotonic() - began)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - not a file but a question
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", choices=KINDS, action="append", help="which stores (all)")
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--work", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work)
        return
    results = []
    for kind in options.store or KINDS:
        with places(kind) as spots:
            results.append(measure(spots, options.messages))
    if options.json:
        print(json.dumps([found._asdict() for found in results], indent=1))
        return
    heads = f"median, ms (target {TARGET}) | p95 | from the call: median | p95"
    print(f"| store | messages | {heads} | idle, % of a core ({IDLE_TARGET}) |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for found in results:
        print("| " + " | ".join(map(str, found)) + " |")


if __name__ == "__main__":
    main()
