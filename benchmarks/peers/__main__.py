"""RowMQ beside its peers, in one run on the same private servers.

    python -m benchmarks.peers [--quick] [--store postgres] [--only pgqueuer] [--scene held] [--resume]

Each system is installed by its package's name into an environment of its own under benchmarks/.peers, once.
The results go to benchmarks/peers.md and benchmarks/peers/. A run in parts, store by store or scene by
scene, adds to what is there: it measures anew what it is asked for and keeps the rest, or with --resume
measures only the rounds that are missing. --join adds what was kept in other folders; --report writes the
page again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.peers.catalogue import OURS, STORES, SYSTEMS, chosen
from benchmarks.peers.install import HOMES
from benchmarks.peers.plan import SIZES, Plan
from benchmarks.peers.publish import publish
from benchmarks.peers.report import write
from benchmarks.peers.results import Results
from benchmarks.peers.run import FIFO, Options, Run
from benchmarks.peers.scenes import SCENES, Crowd

HERE = Path(__file__).parent


def main() -> None:
    """Read the command line and run."""
    asked = parser().parse_args()
    # A quick run is for whoever looks at it: what is published stays.
    folder = asked.out or (HOMES / "quick" if asked.quick else HERE)
    folder.mkdir(parents=True, exist_ok=True)
    results = Results() if asked.quick and not asked.resume else Results.load(folder)
    if asked.join:
        for other in asked.join:
            results.join(Results.load(other))
    elif not asked.report:
        run(asked, results, partial(keep, folder=folder))
    print(keep(results, folder).read_text())


def run(asked: argparse.Namespace, results: Results, keeping: Callable[[Results], object]) -> None:
    """Measure what is asked for."""
    options = options_of(asked)
    alone = not any(system.name != OURS for system in options.systems)
    if alone:
        sys.exit("nothing to compare with: --only and --store leave no other system")
    Run(options, results, keeping).all()


def keep(results: Results, folder: Path) -> Path:
    """Write the page, charts and results of a folder; ours are published too."""
    page = folder.parent / "peers.md" if folder == HERE else folder / "peers.md"
    write(results, page, folder)
    if folder == HERE:
        publish(results)
    return page


def options_of(asked: argparse.Namespace) -> Options:
    """What a run is to do: a quick one is small, has one size and no crowds."""
    plan = Plan(
        messages=asked.messages or (20_000 if asked.quick else 100_000),
        seconds=asked.seconds or (1.0 if asked.quick else 1.5),
        paced=20 if asked.quick else 60,
    )
    sizes = asked.size or (list(SIZES)[:1] if asked.quick else SIZES)
    return Options(
        systems=chosen(stores=tuple(asked.store or ()), names=tuple(asked.only or ()), quick=asked.quick),
        plan=plan,
        rounds=asked.rounds or (1 if asked.quick else 3),
        sizes=sorted(sizes, key=list(SIZES).index),
        crowd=None if asked.quick or asked.short else crowd_of(asked),
        fifo=asked.fifo,
        peers=asked.matrix_peers,
        resume=asked.resume,
    )


def crowd_of(asked: argparse.Namespace) -> Crowd:
    """The scenes of the long matrix: those asked for, or all that have somebody in them."""
    crowd = Crowd(asked.waiting, asked.finished, asked.held)
    empty = {"waiting": asked.waiting, "finished": asked.finished, "held": asked.held}
    empty["both"] = min(asked.waiting, asked.finished)
    scenes = tuple(each for each in asked.scene or SCENES if empty.get(each, 1))
    return crowd._replace(scenes=scenes)


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
    add("--scene", action="append", choices=SCENES, help="which scenes of the long matrix (all)")
    add("--matrix-peers", type=int, default=2, help="peers of a store in the long matrix, the best (2)")
    add("--messages", type=int, help="messages a step, at most (100000)")
    add("--seconds", type=float, help="about the seconds a step should take (1.5)")
    add(
        "--rounds",
        type=int,
        help="rounds of everything (3; at most 2 at sizes other than 200 B and in the long matrix)",
    )
    add("--waiting", type=int, default=1_000_000, help="messages that wait in the crowded case")
    add("--finished", type=int, default=5_000_000, help="finished messages in the crowded case")
    add("--fifo", type=int, default=FIFO, help="messages that wait in the SQS FIFO queue")
    add("--held", type=float, default=300.0, help="seconds that a transaction is open before it counts")
    add("--resume", action="store_true", help="keep the rounds that are there, measure those missing")
    add("--join", type=Path, nargs="+", metavar="FOLDER", help="add the results in these folders; no run")
    add(
        "--out", type=Path, help="where results go (benchmarks/peers; a quick run's: benchmarks/.peers/quick)"
    )
    add("--report", action="store_true", help="write the page and the charts again, from results.json")
    return made


if __name__ == "__main__":
    main()
