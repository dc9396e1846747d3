"""RowMQ beside its peers, in one run on the same private servers.

    python -m benchmarks.peers [--quick] [--store postgres] [--only pgqueuer] [--messages 100000] [--rounds 3]

Each system is installed by its package's name into an environment of its own under benchmarks/.peers, once.
The results go to benchmarks/peers.md and benchmarks/peers/, from where --report writes the page again.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers.catalogue import OURS, STORES, SYSTEMS, chosen
from benchmarks.peers.install import HOMES
from benchmarks.peers.report import write
from benchmarks.peers.run import FIFO, SIZES, Options, Run
from benchmarks.peers.scenes import Crowd
from benchmarks.peers.session import Plan

HERE = Path(__file__).parent
KEPT = HERE / "results.json"


def main() -> None:
    """Read the command line and run."""
    asked = parser().parse_args()
    # A quick run is for whoever looks at it: what is published stays.
    folder = asked.out or (HOMES / "quick" if asked.quick else HERE)
    folder.mkdir(parents=True, exist_ok=True)
    page = folder.parent / "peers.md" if folder == HERE else folder / "peers.md"

    def keep(results: dict[str, Any]) -> None:
        write(results, page, folder)

    if asked.report:
        keep(json.loads((folder / KEPT.name).read_text()))
        return
    options = options_of(asked)
    if not any(system.name != OURS for system in options.systems):
        sys.exit("nothing to compare with: --only and --store leave no other system")
    Run(options, keep).all()
    print(page.read_text())


def options_of(asked: argparse.Namespace) -> Options:
    """What a run is to do: a quick one is small, has one size and no crowds."""
    plan = Plan(
        messages=asked.messages or (20_000 if asked.quick else 100_000),
        seconds=asked.seconds or (2.0 if asked.quick else 5.0),
        paced=20 if asked.quick else 100,
    )
    crowd = Crowd(asked.waiting, asked.finished, asked.held, (1, 4, 16))
    return Options(
        systems=chosen(stores=tuple(asked.store or ()), names=tuple(asked.only or ()), quick=asked.quick),
        plan=plan,
        rounds=asked.rounds or (1 if asked.quick else 3),
        sizes=asked.size or (["200 B"] if asked.quick else list(SIZES)),
        crowd=None if asked.quick or asked.short else crowd,
        fifo=min(FIFO, asked.waiting),
    )


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    names = sorted({system.name for system in SYSTEMS})
    add("--quick", action="store_true", help="RowMQ and four peers, one size, one round: minutes")
    add("--short", action="store_true", help="everything but the long matrix")
    add("--only", action="append", choices=names, help="which peers, beside RowMQ and the bare loop (all)")
    add("--store", action="append", choices=STORES, help="which stores (all)")
    add("--size", action="append", choices=list(SIZES), help="which sizes (all)")
    add("--messages", type=int, help="messages a step, at most (100000)")
    add("--seconds", type=float, help="seconds a step, at most (5)")
    add("--rounds", type=int, help="rounds of everything (3)")
    add("--waiting", type=int, default=1_000_000, help="messages that wait in the crowded case")
    add("--finished", type=int, default=5_000_000, help="finished messages in the crowded case")
    add("--held", type=float, default=300.0, help="seconds that a transaction is open before it counts")
    add(
        "--out", type=Path, help="where results go (benchmarks/peers; a quick run's: benchmarks/.peers/quick)"
    )
    add("--report", action="store_true", help="write the page and the charts again, from results.json")
    return made


if __name__ == "__main__":
    main()
