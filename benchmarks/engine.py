"""How much of the database's speed is left to callers of a store.

    python -m benchmarks.engine [--store sqlite] [--messages 100000] [--rounds 5] [--json]

Messages of 200 bytes are pushed, claimed and settled in batches, each batch one call and one transaction,
once through the Store and once through the bare driver with the very same statements and nothing built
around them but the lists that are sent (see recording.py); on Redis beside three small scripts (see
engine_redis.py). The two alternate, each time on an empty database; figures are medians.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import closing, contextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from sqlalchemy import text

from benchmarks.places import KINDS, Places, places
from benchmarks.recording import Bare, Transaction, recording
from rowmq.core.delivery import Settlement, Want
from rowmq.core.message import Batch, Message
from rowmq.core.outcome import ACK
from tests.servers import private_redis

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rowmq.core.delivery import Delivery
    from rowmq.stores.sql.store import SQLStore

PHASES = ("push", "claim", "settle")
BODY = b'{"text":"' + b"x" * 189 + b'"}'
SLOW = 10
"""Batches up to this size wait for the disk and little else: one round of a tenth of the messages says
enough, and takes a minute where all of them would take half an hour."""


class Job(NamedTuple):
    """What one run does: batches made beforehand."""

    batches: Sequence[Batch]
    want: Want

    @property
    def messages(self) -> int:
        """How many messages pass through."""
        return sum(len(batch.messages) for batch in self.batches)


Times = dict[str, float]
"""Seconds by phase."""
Recorded = dict[str, list[Transaction]]
"""Transactions by phase."""
Loop = Callable[[str], None]
"""Does a phase for the next batch."""


def job(messages: int, size: int) -> Job:
    """Make batches of messages whose ids increase with time, as UUIDv7 do."""
    start = time.time_ns() // 1_000_000 << 80 | 7 << 76 | 2 << 62
    made = [Message(id=UUID(int=start + number), body=BODY) for number in range(messages)]
    return Job([Batch("q", made[at : at + size]) for at in range(0, messages, size)], Want(limit=size))


class Calls:
    """The Store's own calls, each for the next batch."""

    def __init__(self, store: SQLStore, work: Job) -> None:
        self._store, self._want, self._batches = store, work.want, iter(work.batches)
        self._held: Sequence[Delivery] = ()

    def __call__(self, phase: str) -> None:
        """Do one phase."""
        getattr(self, phase)()

    def push(self) -> None:
        """Store a batch."""
        self._store.push([next(self._batches)])

    def claim(self) -> None:
        """Lease as many."""
        (self._held,) = self._store.claim("q", [self._want])

    def settle(self) -> None:
        """Ack what is held."""
        self._store.settle([Settlement(each.receipt, ACK) for each in self._held])


class Replay:
    """The bare loop: what was recorded, sent again through the driver on an empty store."""

    def __init__(self, store: SQLStore, recorded: Recorded) -> None:
        self._bare = Bare(store)
        self._steps = {phase: iter([*map(self._bare.prepared, each)]) for phase, each in recorded.items()}

    def __call__(self, phase: str) -> None:
        """Send a phase's next transaction."""
        self._bare.replay(next(self._steps[phase]))

    def close(self) -> None:
        """Give the connection back."""
        self._bare.close()


def timed(loop: Loop, order: Sequence[str]) -> Clock:
    """Pass a job through a loop, with everything made beforehand out of the garbage collector's way."""
    clock = Clock()
    gc.collect()
    gc.freeze()
    try:
        for phase in order:
            with clock(phase):
                loop(phase)
    finally:
        gc.unfreeze()
    return clock


def record(spots: Places, work: Job, order: Sequence[str]) -> Recorded:
    """What the Store sends for this job."""
    with spots.store() as store, recording() as transactions:
        prepare(store)
        transactions.clear()
        timed(Calls(store, work), order)
    if len(transactions) != len(order):
        raise RuntimeError(f"{len(transactions)} transactions for {len(work.batches)} batches")
    return {
        phase: [each for name, each in zip(order, transactions, strict=True) if name == phase]
        for phase in PHASES
    }


def in_bulk(work: Job) -> list[str]:
    """All is pushed, then claimed and settled batch by batch."""
    return ["push"] * len(work.batches) + ["claim", "settle"] * len(work.batches)


def in_turn(work: Job) -> list[str]:
    """Each batch is pushed, claimed and settled before the next."""
    return [*PHASES] * len(work.batches)


class Clock:
    """Adds up the seconds spent in each phase, and this process's CPU time in all of them."""

    def __init__(self) -> None:
        self.times: Times = dict.fromkeys(PHASES, 0.0)
        self.cpu = 0.0

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        """Time what is done inside."""
        started, used = time.perf_counter(), time.process_time()
        yield
        self.times[phase] += time.perf_counter() - started
        self.cpu += time.process_time() - used


def prepare(store: SQLStore) -> None:
    """Make the queue, with leases longer than the run."""
    store.queues.put("q", {"lease": timedelta(hours=6)})


def check(store: SQLStore, work: Job) -> None:
    """Make sure that a run did what it was timed for."""
    with store.database.engine.connect() as connection:
        finished = connection.execute(text("SELECT COUNT(*) FROM rowmq_outcomes")).scalar_one()
    if finished != work.messages:
        raise RuntimeError(f"{finished} of {work.messages} messages were finished")


class Result(NamedTuple):
    """Messages per second by phase, and all three together, through the Store and bare."""

    store: str
    batch: int
    messages: int
    rates: dict[str, dict[str, int]]
    ratios: dict[str, float]


def compare(spots: Places, messages: int, size: int, rounds: int) -> Result:
    """Alternate the two ways, each going first every other time."""
    work = job(messages, size)
    order = in_bulk(work)
    recorded = record(spots, work, order)

    def ours(store: SQLStore) -> Times:
        return timed(Calls(store, work), order).times

    def bare(store: SQLStore) -> Times:
        with closing(Replay(store, recorded)) as loop:
            return timed(loop, order).times

    ways: dict[str, Callable[[SQLStore], Times]] = {"store": ours, "bare": bare}
    times: dict[str, list[Times]] = {way: [] for way in ways}
    for number in range(rounds):
        for way in sorted(ways, reverse=number % 2 == 0):
            with spots.store() as store:
                prepare(store)
                times[way].append(ways[way](store))
                check(store, work)
        said = ", ".join(f"{way} {sum(found[-1].values()):.2f} s" for way, found in times.items())
        print(f"# {spots.kind}, batches of {size}, round {number + 1} of {rounds}: {said}", file=sys.stderr)
    return summary(spots.kind, work, size, times)


def summary(kind: str, work: Job, size: int, times: dict[str, list[Times]]) -> Result:
    """Medians over the rounds. A ratio is the median of the rounds' own, each two neighbours in time."""
    every = {way: [each | {"overall": sum(each.values())} for each in found] for way, found in times.items()}
    columns = (*PHASES, "overall")
    rates = {
        way: {
            phase: round(work.messages / statistics.median(each[phase] for each in found))
            for phase in columns
        }
        for way, found in every.items()
    }
    pairs = list(zip(every["store"], every["bare"], strict=True))
    ratios = {
        phase: round(statistics.median(bare[phase] / store[phase] for store, bare in pairs), 3)
        for phase in columns
    }
    return Result(kind, size, work.messages, rates, ratios)


def show(results: Sequence[Result]) -> None:
    """Print a table."""
    print("| store | batch | messages | phase | Store, msgs/s | bare, msgs/s | ratio |")
    print("|---|---:|---:|---|---:|---:|---:|")
    for found in results:
        for phase, ratio in found.ratios.items():
            rates = f"{found.rates['store'][phase]:,} | {found.rates['bare'][phase]:,}"
            print(f"| {found.store} | {found.batch} | {found.messages:,} | {phase} | {rates} | {ratio:.2f} |")


@contextmanager
def comparing(kind: str) -> Iterator[Callable[[int, int, int], Result]]:
    """How stores of a kind are compared, with a private server where they need one."""
    if kind == "redis":
        from benchmarks import engine_redis  # noqa: PLC0415 - it takes the job from here

        with private_redis() as server:
            yield partial(engine_redis.compare, server)
        return
    with places(kind) as spots:
        yield partial(compare, spots)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = (*KINDS, "redis")
    parser.add_argument("--store", choices=kinds, action="append", help="which stores (all)")
    parser.add_argument(
        "--messages",
        type=int,
        help=f"messages a run (100000, or 10000 in batches up to {SLOW})",
    )
    parser.add_argument("--batch", type=int, action="append", help="sizes of batches (1000, 100 and 1)")
    parser.add_argument("--rounds", type=int, help=f"of each size (5, or 1 for batches up to {SLOW})")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    results = []
    for kind in options.store or kinds:
        with comparing(kind) as beside:
            for size in options.batch or (1000, 100, 1):
                messages, rounds = (10_000, 1) if size <= SLOW else (100_000, 5)
                results.append(beside(options.messages or messages, size, options.rounds or rounds))
    if options.json:
        print(json.dumps([found._asdict() for found in results], indent=1))
    else:
        show(results)


if __name__ == "__main__":
    main()
