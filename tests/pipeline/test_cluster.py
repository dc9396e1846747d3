"""A standalone cluster with PostgreSQL: a worker is killed in the middle, and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import rowmq
from tests.pipeline.cluster import ROOT, Cluster, cluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rowmq.runtime.handle import QueueHandle

COUNT = 2000
pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("spark")]


@pytest.fixture(scope="module")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster"), workers=3) as made:
        yield made


def wait_for(jobs: QueueHandle, driver: subprocess.Popen[bytes], count: int, log: Path) -> None:
    """Wait until some messages have been begun."""
    end = time.monotonic() + 200
    while (stats := jobs.stats()).done + stats.leased < count:
        assert driver.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < end, log.read_text()[-3000:]
        time.sleep(0.1)


@pytest.mark.parametrize(("job", "victim"), [("stream", 0), ("workers", 1), ("microbatch", None)])
def test_a_worker_killed_in_the_middle_loses_nothing(
    spark_cluster: Cluster, postgres_url: str, tmp_path: Path, job: str, victim: int | None
) -> None:
    command = [sys.executable, "-m", "tests.pipeline.on_cluster", job, spark_cluster.url, postgres_url]
    log = tmp_path / "log.txt"
    with rowmq.connect(postgres_url) as mq, log.open("wb") as out:
        jobs = mq.queue("jobs", lease=10, max_attempts=10)
        jobs.push_many(range(COUNT))
        driver = subprocess.Popen([*command, str(tmp_path)], cwd=ROOT, stdout=out, stderr=out)
        try:
            wait_for(jobs, driver, 300, log)
            if victim is not None:
                spark_cluster.kill_worker(victim)
            assert driver.wait(timeout=300) == 0, log.read_text()[-3000:]
        finally:
            driver.kill()
            driver.wait()
        if job == "workers":  # what a dead worker held comes back when its lease ends
            time.sleep(10)
            again = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, check=False)
            assert again.returncode == 0
        stats = jobs.stats()
        every = [each.seq for each in mq.store.history.scan(*mq.store.history.bounds())]
    assert (stats.done, stats.ready, stats.leased, stats.dead) == (COUNT, 0, 0, 0)
    if job == "stream":
        seen = [int(line) for line in (tmp_path / "out.txt").read_text().splitlines()]
        assert sorted(seen) == every
