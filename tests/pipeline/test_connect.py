"""The stream and spark-work through Spark Connect, where there is no SparkContext."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rowmq

ROOT = Path(__file__).parents[2]


@pytest.mark.soak
@pytest.mark.xdist_group("spark")
def test_streams_and_workers_run_over_spark_connect(sqlite_url: str, tmp_path: Path) -> None:
    with rowmq.connect(sqlite_url) as mq:
        jobs = mq.queue("jobs")
        jobs.push_many(range(100))
        command = [sys.executable, "-m", "tests.pipeline.over_connect", sqlite_url, str(tmp_path)]
        any_port = {**os.environ, "SPARK_TESTING": "1"}
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=any_port)
        assert ran.returncode == 0, ran.stderr[-3000:]
        stats = jobs.stats()
    assert (stats.done, stats.dead, stats.ready, stats.leased) == (180, 20, 0, 0)
