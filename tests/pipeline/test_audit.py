"""The audit: whatever is done to a store behind its back, it is found; whatever RowMQ does itself is not."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

import rowmq
from rowmq.core.errors import InvalidInput, InvalidSetting, QueueNotFound
from rowmq.pipeline.auditing.audit import Audit, Finding, audit
from rowmq.pipeline.auditing.census import look
from rowmq.pipeline.auditing.reading import reading
from rowmq.pipeline.auditing.scope import Scope
from rowmq.pipeline.lake.archive import Slice, archive
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


def test_executors_keep_nothing_of_an_audit_that_is_over(spark: SparkSession, sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        busy(mq)
        spark.catalog.clearCache()
        assert audit(spark, sqlite_url).ok
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()


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


def test_a_census_tells_which_messages_are_of_the_queue_and_the_period(any_store_url: str) -> None:
    with rowmq.connect(any_store_url) as mq:
        finish(mq.queue("jobs"), 1)
        mq.queue("jobs").push(2)
        mq.queue("other").push(3)
        times = [record.created_at for record in mq.find()]
        scopes = Scope(queue="jobs"), Scope(since=times[1], until=times[2]), Scope()
        found = [[row[3] for row in look(mq.store, scope, 1, 10)] for scope in scopes]
    assert found == [[True, True, False], [False, True, False], [True, True, True]]


def test_an_audit_of_a_queue_or_a_period_is_about_that_part(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    lake = str(tmp_path / "lake")
    with rowmq.connect(sqlite_url) as mq:
        finish(mq.queue("jobs"), *range(3))
        middle = mq.store.now()
        finish(mq.queue("jobs"), *range(2))
        finish(mq.queue("other"), 1)
        archive(spark, sqlite_url, lake, of=Slice(queue="jobs"))
        mq.queue("jobs").push_many(range(4))
        mq.queue("jobs").purge()
        mq.queue("jobs").push(1)
    of_queue, late = (
        audit(spark, sqlite_url, lake, of=scope)
        for scope in (Scope(queue="jobs"), Scope(queue="jobs", since=middle))
    )
    assert (of_queue.ok, of_queue.owed, of_queue.finished, of_queue.archived) == (True, 1, 0, 5)
    assert (of_queue.deleted, of_queue.not_known) == ({"archive": 5, "purge": 4}, [])
    assert (late.ok, late.owed, late.archived, late.deleted) == (True, 1, 2, {"archive": 2})
    assert late.not_known == [
        "4 messages were deleted (purge 4); whether they were created then is not known"
    ]


def test_what_is_wrong_in_one_queue_is_not_said_of_another(spark: SparkSession, sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("jobs").push_many(range(2))
        mq.queue("other").push(1)
    spoil(sqlite_url, "DELETE FROM rowmq_pending WHERE seq = 2")
    named: list[Finding] = []
    of_jobs, of_other = (
        audit(spark, sqlite_url, of=Scope(queue=name), found=named.append) for name in ("jobs", "other")
    )
    assert (of_jobs.ok, of_jobs.broken, of_other.ok, of_other.broken) == (False, 1, True, 0)
    assert [each.seq for each in named] == [2]


def test_an_audit_of_a_part_does_not_call_right_what_it_cannot_know(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    with rowmq.connect(sqlite_url) as mq:
        finish(mq.queue("jobs"), 1, 2)
        finish(mq.queue("other"), 3)
        archive(spark, sqlite_url, str(lake))
        later = mq.store.now()
    (lost,) = lake.glob("dt=*/queue=jobs/batch=*/*.parquet")
    lost.unlink()
    scopes = Scope(queue="jobs"), Scope(queue="other"), Scope(until=later)
    of_jobs, of_other, early = (audit(spark, sqlite_url, str(lake), of=scope) for scope in scopes)
    assert (of_jobs.ok, of_jobs.missing, len(of_jobs.damaged)) == (False, 2, 1)
    assert (of_other.ok, of_other.missing, of_other.damaged) == (True, 0, [])
    assert (early.ok, early.missing) == (False, None)
    assert early.not_known == [
        "of 2 messages that are missing, 0 are known to be of this part: audit the whole store for that"
    ]


def test_a_message_without_a_trace_may_have_been_any_queue_s(spark: SparkSession, sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("jobs").push_many(range(3))
        mq.queue("other")
    spoil(sqlite_url, *(f"DELETE FROM rowmq_{table} WHERE seq = 2" for table in ("messages", "pending")))
    found = audit(spark, sqlite_url, of=Scope(queue="other"))
    assert (found.ok, found.missing, found.unexplained) == (False, None, None)
    assert found.not_known[0].startswith("1 seqs are nowhere, and whose they were is not known")


def test_a_queue_nobody_has_heard_of_and_a_period_that_is_none_are_refused(sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("gone").push(1)
        mq.queue("gone").delete()
    with pytest.raises(QueueNotFound):
        reading(sqlite_url, of=Scope(queue="nobody"))
    assert reading(sqlite_url, of=Scope(queue="gone")).ledger_entries == 1
    now = datetime.now(UTC)
    with pytest.raises(InvalidSetting, match="ends after it begins"):
        Scope(since=now, until=now)


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
    assert program("audit", "--url", sqlite_url, "--until", "1h", "--json").json["owed"] == 0
    would = program("audit", "--url", sqlite_url, "--queue", "jobs", "--dry-run", "--json").json
    assert (would["first_seq"], would["last_seq"], would["archive_files"]) == (1, 3, 0)
    (line,) = (tmp_path / "wrong").read_text().splitlines()
    assert (json.loads(line)["seq"], json.loads(line)["problem"][:6]) == (2, "broken")
