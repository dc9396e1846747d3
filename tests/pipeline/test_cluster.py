"""A standalone cluster with PostgreSQL: a worker is killed in the middle, and nothing is lost."""

from __future__ import annotations

import secrets
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from pyarrow.parquet import read_table

import rowmq
from rowmq.core.delivery import Settlement, Want
from rowmq.core.outcome import ACK
from tests.pipeline.cluster import ROOT, Cluster, cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

COUNT = 2000
MANY = 60_000
"""Messages that take a while to be written."""
pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("spark")]


@pytest.fixture(scope="module")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster"), workers=2) as made:
        yield made


class Driver:
    """A job on the cluster, in a process of its own."""

    def __init__(self, job: str, spark_cluster: Cluster, url: str, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.pipeline.on_cluster", job, spark_cluster.url, url]
        self._log = folder / "log.txt"
        with self._log.open("wb") as out:
            self._process = subprocess.Popen([*command, str(folder)], cwd=ROOT, stdout=out, stderr=out)

    def wait_until(self, begun: Callable[[], bool]) -> None:
        end = time.monotonic() + 200
        while not begun():
            assert self._process.poll() is None, self.said()
            assert time.monotonic() < end, self.said()
            time.sleep(0.1)

    def finish(self) -> None:
        try:
            assert self._process.wait(timeout=300) == 0, self.said()
        finally:
            self._process.kill()
            self._process.wait()

    def said(self) -> str:
        return self._log.read_text()[-3000:]


@pytest.mark.parametrize("job", ["stream", "workers", "microbatch"])
def test_a_worker_killed_in_the_middle_of_work_loses_nothing(
    spark_cluster: Cluster, postgres_url: str, tmp_path: Path, job: str
) -> None:
    with rowmq.connect(postgres_url) as mq:
        jobs = mq.queue("jobs", lease=10, max_attempts=10)
        jobs.push_many(range(COUNT))
        driver = Driver(job, spark_cluster, postgres_url, tmp_path)
        driver.wait_until(lambda: jobs.stats().done + jobs.stats().leased >= 300)
        spark_cluster.kill_worker()
        spark_cluster.add_worker()
        driver.finish()
        if job == "workers":  # what a dead worker held comes back when its lease ends
            time.sleep(10)
            Driver(job, spark_cluster, postgres_url, tmp_path).finish()
        stats = jobs.stats()
        every = [each.seq for each in mq.store.history.scan(*mq.store.history.bounds())]
    assert (stats.done, stats.ready, stats.leased, stats.dead) == (COUNT, 0, 0, 0)
    if job == "stream":
        seen = [int(line) for line in (tmp_path / "out.txt").read_text().splitlines()]
        assert sorted(seen) == every


def test_a_worker_killed_in_the_middle_of_archiving_loses_nothing(
    spark_cluster: Cluster, postgres_url: str, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    with rowmq.connect(postgres_url) as mq:
        jobs = mq.queue("jobs")
        ids = jobs.push_many([secrets.token_hex(200) for _ in range(MANY)])
        while held := mq.store.claim("jobs", [Want(limit=10_000)])[0]:
            mq.store.settle([Settlement(each.receipt, ACK) for each in held])
        driver = Driver("archive", spark_cluster, postgres_url, tmp_path)
        driver.wait_until(lambda: any(lake.glob("_staging/*/**/*.parquet")))
        spark_cluster.kill_worker()
        assert [len(list(lake.glob(f"_batches/*{end}.json"))) for end in ("", ".plan")] == [
            1,
            1,
        ]  # a plan alone
        spark_cluster.add_worker()
        driver.finish()
        left = [each.id for each in mq.find("jobs")]
    files = [path for path in lake.rglob("batch=*/*.parquet") if "/_" not in str(path.relative_to(lake))]
    archived = [row for path in files for row in read_table(path, columns=["id"])["id"].to_pylist()]
    assert left == []
    assert sorted(archived) == sorted(map(str, ids))
