"""The audit: whatever is done to a store behind its back, it is found; whatever RowMQ does itself is not."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import pytest

import rowmq
from rowmq.core.errors import InvalidInput
from rowmq.pipeline.auditing.audit import Audit, Finding, audit
from rowmq.pipeline.lake.archive import archive
from rowmq.pipeline.lake.upkeep import compact, let_go
from tests.pipeline.test_archive import finish, program

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.doors.program import Program

__all__ = ["program"]


def busy(mq: rowmq.Client) -> None:
    """Leave messages in every state, and deletions of every kind."""
    jobs = mq.queue("jobs")
    finish(jobs, *range(10))
    finish(jobs, *range(5), dead=True)
    jobs.push_many(range(7))
    jobs.claim(limit=2)
    jobs.push("later", delay=600)
    mq.queue("gone").push_many(range(4))
    mq.queue("gone").delete()
    mq.queue("purged").push_many(range(3))
    mq.queue("purged").purge()
    mq.amend([jobs.push("never mind")], "drop")
    mq.topic("news").publish("kept for the first to bind")


def spoil(url: str, *statements: str) -> None:
    """Change an SQLite store behind its back."""
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def checked(spark: SparkSession, url: str, lake: str | None = None) -> tuple[Audit, list[Finding]]:
    found: list[Finding] = []
    return audit(spark, url, lake, found=found.append), found


def test_what_rowmq_does_itself_is_accounted_for(
    spark: SparkSession, sql_store_url: str, tmp_path: Path
) -> None:
    lake = str(tmp_path / "lake")
    with rowmq.connect(sql_store_url) as mq:
        busy(mq)
        before, found = checked(spark, sql_store_url)
        assert (before.ok, before.owed, before.finished, found) == (True, 9, 15, [])
        assert before.deleted == {"drop": 4, "purge": 3, "amend": 1}
        archive(spark, sql_store_url, lake)
        after, found = checked(spark, sql_store_url, lake)
    assert (after.ok, after.owed, after.finished, after.archived, found) == (True, 9, 0, 15, [])
    assert (after.deleted["archive"], after.unpruned, after.steady) == (15, 0, True)
    assert after.unexplained == before.unexplained


def test_a_compacted_archive_and_days_let_go_are_accounted_for(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    lake = str(tmp_path / "lake")
    with rowmq.connect(sqlite_url) as mq:
        for number in range(2):
            finish(mq.queue("jobs"), number)
            archive(spark, sqlite_url, lake)
        tomorrow = mq.store.now().date().replace(year=mq.store.now().year + 1)
    assert compact(spark, sqlite_url, lake).batches == 2
    assert audit(spark, sqlite_url, lake).ok
    let_go(sqlite_url, lake, tomorrow)
    found = audit(spark, sqlite_url, lake)
    assert (found.ok, found.archived) == (True, 0)


def test_a_redis_store_is_accounted_for(spark: SparkSession, redis_url: str) -> None:
    with rowmq.connect(redis_url) as mq:
        finish(mq.queue("jobs"), 1, 2)
        mq.queue("jobs").push(3)
    found = audit(spark, redis_url)
    assert (found.ok, found.owed, found.finished, found.missing) == (True, 1, 2, 0)


def test_a_message_that_vanished_from_the_store_is_named(spark: SparkSession, sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("jobs").push_many(range(5))
    tables = ("messages", "pending")
    spoil(sqlite_url, *(f"DELETE FROM rowmq_{table} WHERE seq = 3" for table in tables))
    found, named = checked(spark, sqlite_url)
    assert (found.ok, found.missing) == (False, 1)
    assert named == [Finding(3, None, "missing: in neither store nor archive")]


def test_what_is_owed_and_finished_or_neither_is_named(spark: SparkSession, sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        ids = mq.queue("jobs").push_many(range(4))
    spoil(
        sqlite_url,
        "INSERT INTO rowmq_outcomes (seq, queue, state, finished_at, attempts, receives)"
        " SELECT seq, queue, 'done', 0, 1, 1 FROM rowmq_pending WHERE seq = 1",
        "DELETE FROM rowmq_pending WHERE seq = 2",
        "DELETE FROM rowmq_messages WHERE seq = 3",
    )
    found, named = checked(spark, sqlite_url)
    assert (found.ok, found.double, found.broken) == (False, 1, 2)
    assert {each.seq: each.problem.partition(":")[0] for each in named if each.seq < 3} == {
        1: "double",
        2: "broken",
    }
    assert {each.id for each in named} == {str(ids[0]), str(ids[1]), None}


def test_a_file_that_is_gone_or_changed_and_its_messages_are_named(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    with rowmq.connect(sqlite_url) as mq:
        finish(mq.queue("jobs"), 1, 2)
        finish(mq.queue("other"), 3)
        archive(spark, sqlite_url, str(lake))
    lost, broken = sorted(lake.glob("dt=*/queue=*/batch=*/*.parquet"))
    lost.unlink()
    broken.write_bytes(broken.read_bytes()[:-20])
    found, named = checked(spark, sqlite_url, str(lake))
    assert found.damaged == [str(each.relative_to(lake)) for each in (lost, broken)]
    assert (found.ok, found.missing, {each.seq for each in named}) == (False, 3, {1, 2, 3})


def test_what_is_archived_twice_or_still_in_the_store_is_named(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    with rowmq.connect(sqlite_url) as mq:
        (one,) = finish(mq.queue("jobs"), 1)
        spoil(sqlite_url, *_copies("was_", "rowmq_"))
        archive(spark, sqlite_url, str(lake))
        spoil(sqlite_url, *_restores())
        found, named = checked(spark, sqlite_url, str(lake))
        assert (found.double, named) == (1, [Finding(1, one, "double: in store and archive")])
        archive(spark, sqlite_url, str(lake))
        found, named = checked(spark, sqlite_url, str(lake))
    assert (found.double, named) == (1, [Finding(1, one, "double: archived twice")])


def _copies(to: str, of: str) -> list[str]:
    return [f"CREATE TABLE {to}{table} AS SELECT * FROM {of}{table}" for table in ("messages", "outcomes")]


def _restores() -> list[str]:
    return [f"INSERT INTO rowmq_{table} SELECT * FROM was_{table}" for table in ("messages", "outcomes")]


def test_an_archive_that_is_none_is_refused(spark: SparkSession, sqlite_url: str, tmp_path: Path) -> None:
    rowmq.connect(sqlite_url).close()
    with pytest.raises(InvalidInput, match="is no archive"):
        audit(spark, sqlite_url, str(tmp_path))


def test_rowmq_audit_ends_with_1_and_names_what_is_wrong(
    spark: SparkSession,
    sqlite_url: str,
    program: Program,
    tmp_path: Path,
) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("jobs").push_many(range(3))
    assert program("audit", "--url", sqlite_url, "--json").json["ok"] is True
    spoil(sqlite_url, "DELETE FROM rowmq_pending WHERE seq = 2")
    assert program("audit", "--url", sqlite_url, "--ids", "wrong", "--json", code=1).json["broken"] == 1
    (line,) = (tmp_path / "wrong").read_text().splitlines()
    assert (json.loads(line)["seq"], json.loads(line)["problem"][:6]) == (2, "broken")
