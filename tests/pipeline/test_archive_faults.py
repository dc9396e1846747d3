"""Archiving and replaying are killed; after the next run every message is where it should be, once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rowmq
from rowmq.pipeline.auditing.audit import audit
from rowmq.pipeline.lake.archive import archive
from rowmq.pipeline.lake.folder import Lake
from rowmq.pipeline.lake.frames import archived
from rowmq.pipeline.lake.manifest import Batches
from rowmq.pipeline.lake.replay import replay
from tests.pipeline.killed import AGAIN, ARCHIVE_POINTS, REPLAY_POINTS, TTL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
STORES = ("sqlite", "postgres")
EVERY_TIME = {("pruning", "sqlite"), ("placing", "postgres"), ("pushed", "sqlite"), ("noted", "postgres")}


def cases(points: tuple[str, ...]) -> list[object]:
    """One point of each job on each store every time, all of them when asked to soak."""
    return [
        pytest.param(point, store, marks=() if (point, store) in EVERY_TIME else pytest.mark.soak)
        for point in points
        for store in STORES
    ]


def killed(job: str, point: str, url: str, lake: Path) -> None:
    """Run the driver that dies, and see that it did."""
    command = [sys.executable, "-m", "tests.pipeline.killed", job, point, url, str(lake)]
    log = lake.parent / "log"
    with log.open("wb") as file:
        ended = subprocess.run(
            command,
            cwd=ROOT,
            stdout=file,
            stderr=file,
            check=False,
            timeout=300,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
    assert ended.returncode == -9, log.read_text()[-3000:]


def fill(mq: rowmq.Client) -> tuple[set[str], set[str]]:
    """Leave 500 messages finished in two queues, and 40 waiting; the ids of both kinds."""
    finished = set()
    for name, count in (("jobs", 300), ("mails", 200)):
        queue = mq.queue(name, max_attempts=1)
        finished |= {str(id) for id in queue.push_many([{"n": n} for n in range(count)])}
        for number, message in enumerate(queue.claim(limit=count)):
            message.kill("bad") if number % 50 == 0 else message.ack()
    return finished, {str(id) for id in mq.queue("jobs").push_many(range(40))}


def ids(mq: rowmq.Client) -> list[str]:
    return [str(record.id) for record in mq.find(limit=10_000)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("point", "store"), cases(ARCHIVE_POINTS))
def test_a_killed_archive_leaves_every_message_in_store_or_archive_and_then_in_one(
    spark: SparkSession, point: str, store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url: str = request.getfixturevalue(f"{store}_url")
    lake = tmp_path / "lake"
    with rowmq.connect(url) as mq:
        finished, waiting = fill(mq)
        killed("archive", point, url, lake)
        kept = {
            row.id for row in archived(spark, Lake(str(lake)), Batches(Lake(str(lake))).manifests()).collect()
        }
        assert kept | set(ids(mq)) == finished | waiting
        archive(spark, url, str(lake), ttl=TTL)
        assert set(ids(mq)) == waiting
        rows = Counter(row.id for row in spark.read.parquet(str(lake)).select("id").collect())
        assert rows == Counter(finished)
        assert not list(lake.glob("_staging/*")) + list(lake.glob("_batches/*.plan.json"))
        assert audit(spark, url, str(lake)).ok


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("point", "store"), cases(REPLAY_POINTS))
def test_a_killed_replay_pushes_every_message_once_when_it_is_run_again(
    spark: SparkSession, point: str, store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url: str = request.getfixturevalue(f"{store}_url")
    lake = tmp_path / "lake"
    with rowmq.connect(url) as mq:
        fill(mq)
        archive(spark, url, str(lake), ttl=TTL)
        mq.queue("again")
        killed("replay", point, url, lake)
        found = replay(spark, url, str(lake), AGAIN)
        assert found.pushed + found.seen == 300
        assert (found.seen > 0) == (point != "begun")
        pushed = [record.metadata["rowmq.replay_of"] for record in mq.find("again", limit=1000)]
        assert len(pushed) == len(set(pushed)) == 300
