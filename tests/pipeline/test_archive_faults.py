"""Archiving, compacting and replaying are killed; after the next run every message is in its place, once."""

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
from rowmq.pipeline.lake.upkeep import compact
from tests.pipeline.killed import AGAIN, ARCHIVE_POINTS, COMPACT_POINTS, REPLAY_POINTS, TTL
from tests.pipeline.test_archive import finish

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
STORES = ("sqlite", "postgres")
EVERY_TIME = {("pruning", "sqlite"), ("placing", "postgres"), ("pushed", "sqlite"), ("noted", "postgres")}
COMPACTED_EVERY_TIME = {("forgetting", "sqlite")}


def cases(points: tuple[str, ...], every_time: set[tuple[str, str]]) -> list[object]:
    """Few points every time, all of them when asked to soak."""
    return [
        pytest.param(point, store, marks=() if (point, store) in every_time else pytest.mark.soak)
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


def archived_ids(spark: SparkSession, lake: Path) -> Counter[str]:
    """The messages of the batches that count."""
    there = Lake(str(lake))
    return Counter(row.id for row in archived(spark, there, Batches(there).manifests()).collect())


def in_files(spark: SparkSession, lake: Path) -> Counter[str]:
    """The messages of all files that any reader sees."""
    return Counter(row.id for row in spark.read.parquet(str(lake)).select("id").collect())


def ids(mq: rowmq.Client) -> list[str]:
    return [str(record.id) for record in mq.find(limit=10_000)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("point", "store"), cases(ARCHIVE_POINTS, EVERY_TIME))
def test_a_killed_archive_leaves_every_message_in_store_or_archive_and_then_in_one(
    spark: SparkSession, point: str, store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url: str = request.getfixturevalue(f"{store}_url")
    lake = tmp_path / "lake"
    with rowmq.connect(url) as mq:
        finished, waiting = fill(mq)
        killed("archive", point, url, lake)
        assert set(archived_ids(spark, lake)) | set(ids(mq)) == finished | waiting
        archive(spark, url, str(lake), ttl=TTL)
        assert set(ids(mq)) == waiting
        assert in_files(spark, lake) == Counter(finished)
        assert not list(lake.glob("_staging/*")) + list(lake.glob("_batches/*.plan.json"))
        assert audit(spark, url, str(lake)).ok


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("point", "store"), cases(COMPACT_POINTS, COMPACTED_EVERY_TIME))
def test_a_killed_compaction_leaves_every_archived_message_there_once(
    spark: SparkSession, point: str, store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url: str = request.getfixturevalue(f"{store}_url")
    lake = tmp_path / "lake"
    with rowmq.connect(url) as mq:
        finished = Counter[str]()
        for _ in range(3):
            finished.update(finish(mq.queue("jobs"), *range(4)) + finish(mq.queue("mails"), *range(3)))
            archive(spark, url, str(lake), ttl=TTL)
        killed("compact", point, url, lake)
        assert list(lake.glob("_batches/*.plan.json"))
        assert archived_ids(spark, lake) == finished
        archive(spark, url, str(lake), ttl=TTL)
        assert archived_ids(spark, lake) == in_files(spark, lake) == finished
        assert not list(lake.glob("_staging/*")) + list(lake.glob("_batches/*.plan.json"))
        undone = point in ("written", "placing")
        assert len(Batches(Lake(str(lake))).manifests()) == (3 if undone else 1)
        assert compact(spark, url, str(lake), ttl=TTL).batches == (3 if undone else 0)
        assert archived_ids(spark, lake) == in_files(spark, lake) == finished
        assert audit(spark, url, str(lake)).ok


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("point", "store"), cases(REPLAY_POINTS, EVERY_TIME))
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
        left = mq.queue("again").stats().ready
        assert left == 0 if point == "begun" else 0 < left < 300  # in the middle
        found = replay(spark, url, str(lake), AGAIN)
        assert found.pushed + found.seen == 300
        assert found.seen == left
        pushed = [record.metadata["rowmq.replay_of"] for record in mq.find("again", limit=1000)]
        assert len(pushed) == len(set(pushed)) == 300
