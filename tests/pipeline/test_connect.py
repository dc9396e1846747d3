"""Everything that moves messages in bulk through Spark Connect, where there is no SparkContext."""

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
def test_everything_runs_over_spark_connect_which_finds_the_format_by_itself(
    sqlite_url: str, tmp_path: Path
) -> None:
    with rowmq.connect(sqlite_url) as mq:
        jobs = mq.queue("jobs")
        jobs.push_many(range(100))
        command = [sys.executable, "-m", "tests.pipeline.over_connect", sqlite_url, str(tmp_path)]
        any_port = {**os.environ, "SPARK_TESTING": "1"}
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=any_port)
        assert ran.returncode == 0, ran.stderr[-3000:]
        copies, more, stats = mq.queue("copies").stats(), mq.queue("more").stats(), jobs.stats()
    assert (copies.ready, more.ready, sum(stats[:5])) == (70, 70, 0)
    assert len(list((tmp_path / "lake").glob("dt=*/queue=jobs/batch=*/*.parquet"))) >= 1
