"""How soon a handler starts after a push, and what waiting for it costs.

    python -m benchmarks.latency [--store sqlite] [--messages 200] [--json]

One process runs an idle worker; this one pushes a message every now and then. The time is from just before
the push to the first line of the handler, on the machine's monotonic clock, which both processes share.
Then the worker's CPU time is read while nothing is pushed.
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
    from benchmarks.places import Places
    from rowmq import ClaimedMessage

KINDS = ("sqlite", "postgres", "mysql")
IDLE = 10.0
"""Seconds for which the CPU time of an idle worker is measured."""
TARGET, IDLE_TARGET = 5.0, 2.0
TICKS = os.sysconf("SC_CLK_TCK")


class Result(NamedTuple):
    """Milliseconds from push to handler, and what part of a core an idle worker uses, in percent."""

    store: str
    messages: int
    median: float
    p95: float
    largest: float
    idle: float


def work(url: str) -> None:
    """Be the worker: say for each message when it was pushed and when its handler began."""
    mq = rowmq.connect(url)

    @mq.handler("q")
    def handle(message: ClaimedMessage) -> None:
        began = time.monotonic()
        print(f"{began - message.payload:.6f}", flush=True)

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
            found = []
            for _ in range(messages + 5):
                queue.push(time.monotonic())
                found.append(1000 * float(worker.stdout.readline()))
                time.sleep(0.05 + 0.05 * random.random())  # noqa: S311 - so that no rhythm helps
            idle = idle_share(worker.pid)
        finally:
            worker.terminate()
            worker.wait()
    times = sorted(found[5:])  # the first ones pay for starting
    return Result(
        spots.kind,
        messages,
        round(statistics.median(times), 2),
        round(times[int(0.95 * len(times))], 2),
        round(times[-1], 2),
        round(idle, 2),
    )


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
    targets = f"median, ms (target {TARGET}) | p95 | largest | idle, % of a core ({IDLE_TARGET})"
    print(f"| store | messages | {targets} |")
    print("|---|---:|---:|---:|---:|---:|")
    for found in results:
        cells = f"{found.median} | {found.p95} | {found.largest} | {found.idle}"
        print(f"| {found.store} | {found.messages} | {cells} |")


if __name__ == "__main__":
    main()
