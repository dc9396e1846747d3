"""kill -9 of a query's JVM and Python processes at each point that matters, and then a restart."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rowmq
from rowmq.core.delivery import Settlement, Want
from rowmq.core.outcome import ACK
from rowmq.pipeline.handlers.work import work
from tests.pipeline.doomed import BATCH, CLAIMED, COMMITTED, HANDLING, HELD, SUNK, stream, working

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from rowmq.core.store import Store

COUNT, TAKEN = 1500, 200
ROOT = Path(__file__).parents[2]
NOISE = ("incubator", "log4j", "loopback", "native-hadoop", "default log level", "WARN")
"""What Spark says when it starts, if it is let."""
pytestmark = pytest.mark.timeout(400)  # a JVM starts, and is killed
TABLE = {
    (CLAIMED, False): 0,
    (HANDLING, False): 0,
    (SUNK, False): 500,
    (COMMITTED, False): 0,
    (HANDLING, True): 0,
    (COMMITTED, True): TAKEN,
}
"""How many messages come twice, by where the query was killed and whether a rival took some meanwhile."""


def killed(url: str, folder: Path, *point: str) -> None:
    """Start a query that dies, and wait until it has; Spark has started quietly."""
    command = [sys.executable, "-m", "tests.pipeline.doomed", url, str(folder), *point]
    with (folder / "log.txt").open("wb") as log:
        ran = subprocess.run(
            command, cwd=ROOT, stdout=log, stderr=log, check=False, timeout=300, start_new_session=True
        )
    said = (folder / "log.txt").read_text()
    assert ran.returncode == -signal.SIGKILL, said[-2000:]
    assert not [word for word in NOISE if word in said], said[:2000]


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def rival(store: Store) -> list[int]:
    """Take some of the first batch as soon as their leases have run out, and finish them."""
    want = Want(limit=TAKEN, upto=store.history.bounds()[0] + BATCH - 1)
    wait_until(lambda: store.queues.stats("jobs").leased == 0)
    (found,) = store.claim("jobs", [want])
    store.settle([Settlement(each.receipt, ACK) for each in found])
    return [each.seq for each in found]


def seqs_of(folder: Path) -> list[int]:
    out = folder / "out.txt"
    return [int(line) for line in out.read_text().splitlines()] if out.exists() else []


def check(spark: SparkSession, url: str, folder: Path, point: str, *modes: str, rivals: bool = False) -> None:
    with rowmq.connect(url) as mq:
        jobs = mq.queue("jobs", max_attempts=10)
        jobs.push_many(range(COUNT))
        killed(url, folder, point, *modes)
        taken = rival(mq.store) if rivals else []
        stream(spark, url, folder, lambda _: None)
        stats = jobs.stats()
        every = [each.seq for each in mq.store.history.scan(*mq.store.history.bounds(), queue="jobs")]
    seen = Counter(seqs_of(folder) + taken)
    assert (stats.done, stats.leased, stats.ready) == (COUNT, 0, 0)
    assert sorted(seen) == every
    assert seen.total() - len(seen) == TABLE[point, rivals]


@pytest.mark.parametrize(
    ("store_url", "point", "mode"),
    [("sqlite", SUNK, "workers"), ("postgres", HANDLING, "microbatch")],
    indirect=["store_url"],
)
def test_a_killed_query_loses_nothing_and_what_work_beside_it_held_comes_back(
    spark: SparkSession, store_url: str, tmp_path: Path, point: str, mode: Any
) -> None:
    load = working(store_url, lambda _: None, "held")
    with load() as mq:
        held = mq.queue("held", max_attempts=10, lease=2)
        held.push_many(range(HELD))
        check(spark, store_url, tmp_path, point, mode)
        assert held.stats().done < HELD
        wait_until(lambda: held.stats().leased == 0)
        work(spark, mq, load, mode=mode, tasks=1, stop_when_empty=True)
        stats = held.stats()
    assert (stats.done, stats.leased, stats.ready, stats.dead) == (HELD, 0, 0, 0)


@pytest.mark.soak
@pytest.mark.parametrize(("point", "rivals"), TABLE)
def test_the_fault_table_holds_at_every_point(
    spark: SparkSession, store_url: str, tmp_path: Path, point: str, rivals: bool
) -> None:
    check(spark, store_url, tmp_path, point, rivals=rivals)


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["workers", "microbatch"])
def test_what_killed_work_held_comes_back_and_is_done(
    spark: SparkSession, store_url: str, tmp_path: Path, mode: Any
) -> None:
    load = working(store_url, lambda _: None)
    with load() as mq:
        jobs = mq.queue("jobs", max_attempts=10, lease=2)
        jobs.push_many(range(COUNT))
        killed(store_url, tmp_path, mode)
        assert jobs.stats().done < COUNT
        wait_until(lambda: jobs.stats().leased == 0)
        work(spark, mq, load, mode=mode, tasks=2, stop_when_empty=True)
        stats = jobs.stats()
    assert (stats.done, stats.leased, stats.ready, stats.dead) == (COUNT, 0, 0, 0)
