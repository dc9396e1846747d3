"""A driver is killed in the middle of a write; after the next run every row is there once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import rowmq
from rowmq.core.message import decode
from tests.pipeline.dying import POINTS, ROWS, WAYS

ROOT = Path(__file__).parents[2]
QUICK = {("stream", "committed", "sqlite"), ("batch", "committing", "postgres")}
"""What is run every time: each way and each store once."""
CASES = [
    pytest.param(how, point, store, marks=() if (how, point, store) in QUICK else pytest.mark.soak)
    for how in WAYS
    for point in POINTS
    for store in ("sqlite", "postgres")
]


def killed(point: str, how: str, url: str, folder: Path) -> None:
    """Run the driver that dies, and see that it did."""
    command = [sys.executable, "-m", "tests.pipeline.dying", point, how, url, str(folder)]
    with (folder / "log").open("wb") as log:
        ended = subprocess.run(
            command,
            cwd=ROOT,
            stdout=log,
            stderr=log,
            check=False,
            timeout=300,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
    assert ended.returncode == -9, (folder / "log").read_text()[-3000:]


def stored(mq: rowmq.Client) -> list[int]:
    return sorted(decode(record.body or b"", binary=False) for record in mq.find("q", limit=10 * ROWS))


@pytest.mark.parametrize(("how", "point", "store"), CASES)
def test_nothing_is_lost_or_doubled_by_a_driver_that_is_killed(
    spark: SparkSession, how: str, point: str, store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url: str = request.getfixturevalue(f"{store}_url")
    with rowmq.connect(url) as mq:
        mq.queue("q")
        (tmp_path / "in").mkdir()
        lines = "".join(json.dumps({"payload": number}) + "\n" for number in range(ROWS))
        (tmp_path / "in" / "rows.json").write_text(lines)
        killed(point, how, url, tmp_path)
        assert stored(mq) == (list(range(ROWS)) if point == "committed" else [])
        for _ in range(2):
            WAYS[how](spark, "rowmq", url, tmp_path)
            assert stored(mq) == list(range(ROWS))
