"""Archiving: what is finished becomes files and leaves the store, and nothing else does."""

from __future__ import annotations

import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow.parquet import ParquetFile

import rowmq
from rowmq.core.errors import QueueNotFound, Refused, StoreError
from rowmq.pipeline.lake import archive as archiving
from rowmq.pipeline.lake.archive import Slice, archivable, archive
from rowmq.pipeline.lake.batch import place
from rowmq.pipeline.lake.folder import Lake
from rowmq.pipeline.lake.frames import archived
from rowmq.pipeline.lake.leading import leading
from rowmq.pipeline.lake.manifest import Batches
from rowmq.pipeline.lake.upkeep import compact, let_go
from tests.doors.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOON = timedelta(seconds=0.5)


def finish(queue: rowmq.QueueHandle, *payloads: Any, dead: bool = False, **options: Any) -> list[str]:
    """Push messages and finish them; their ids."""
    ids = [str(queue.push(payload, **options)) for payload in payloads]
    for message in queue.claim(limit=len(payloads)):
        message.kill("bad") if dead else message.ack()
    return ids


def kept(spark: SparkSession, lake: Path) -> dict[str, Any]:
    """The messages of the archive by id."""
    rows = archived(spark, Lake(str(lake)), Batches(Lake(str(lake))).manifests()).collect()
    assert len(rows) == len({row.id for row in rows})
    return {row.id: row for row in rows}


def test_finished_messages_move_to_the_archive_as_they_were_and_others_stay(
    spark: SparkSession, store_url: str, tmp_path: Path
) -> None:
    with rowmq.connect(store_url) as mq:
        jobs = mq.queue("jobs", max_attempts=2, backoff=rowmq.Backoff(first=timedelta(0)))
        done = finish(
            jobs, {"n": 1.50, "é": None}, metadata={"b": "2", "a": "1"}, priority=3, group="g", key="k"
        )
        (raw,) = finish(jobs, b"\x00\xff", dead=True)
        tried = jobs.push("twice")
        jobs.claim()[0].retry(error="first")
        jobs.claim()[0].retry(error="second")
        waiting = jobs.push("later", delay=3600)
        before = {str(record.id): record for record in mq.find()}
        found = archive(spark, store_url, str(tmp_path / "lake"))
        assert (found.batches, found.rows, found.pruned) == (1, 3, 3)
        assert [record.id for record in mq.find()] == [waiting]
        assert [(entry.action, entry.count) for entry in mq.store.history.ledger()] == [("archive", 3)]
    rows = kept(spark, tmp_path / "lake")
    assert set(rows) == {*done, raw, str(tried)}
    one, other = rows[done[0]], before[done[0]]
    assert (one.payload, one.metadata, one.priority) == ('{"n":1.5,"é":null}', {"b": "2", "a": "1"}, 3)
    assert (one.group, one.key, one.state, one.seq) == ("g", "k", "done", other.seq)
    assert one.finished_at.astimezone(UTC) == other.finished_at
    assert (rows[raw].payload, rows[raw].binary, rows[raw].reason) == ("AP8=", True, "killed")
    assert [(each.attempt, each.error) for each in rows[str(tried)].failures] == [(1, "first"), (2, "second")]
    assert one.failures == []
    files = list((tmp_path / "lake").glob("dt=*/queue=*/batch=*/*.parquet"))
    groups = [ParquetFile(path).metadata.row_group(0) for path in files]
    assert {each.column(n).compression for each in groups for n in range(each.num_columns)} == {"ZSTD"}


@pytest.mark.parametrize("store", ["mysql", "redis"])
def test_messages_of_other_stores_move_to_the_archive(
    spark: SparkSession, store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url: str = request.getfixturevalue(f"{store}_url")
    with rowmq.connect(url) as mq:
        ids = finish(mq.queue("jobs"), *range(30))
        waiting = mq.queue("jobs").push("later")
        assert archive(spark, url, str(tmp_path / "lake")).pruned == 30
        assert [record.id for record in mq.find()] == [waiting]
    assert set(kept(spark, tmp_path / "lake")) == set(ids)


def test_files_are_where_any_reader_finds_their_day_and_queue(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    names = ["mails", "a/b", "123", "2026-01-01", "Zoë {*}", "__HIVE_DEFAULT_PARTITION__", "x" * 255]
    with rowmq.connect(sqlite_url) as mq:
        ids = {name: finish(mq.queue(name), 1)[0] for name in names}
        today = mq.store.now().date()
    archive(spark, sqlite_url, str(tmp_path / "lake"))
    assert {row.queue: row.id for row in kept(spark, tmp_path / "lake").values()} == ids
    plain = spark.read.option("basePath", str(tmp_path / "lake")).parquet(str(tmp_path / "lake"))
    read = {row.id: (row.queue, row.dt) for row in plain.collect()}
    ordinary = ["mails", "a/b", "123", "2026-01-01", "Zoë {*}"]
    assert {ids[name]: (name, today) for name in ordinary}.items() <= read.items()


def test_only_what_was_finished_in_the_time_and_of_the_queue_is_archived(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    with rowmq.connect(sqlite_url) as mq:
        finish(mq.queue("jobs"), 1)
        since = mq.store.now()
        (wanted,) = finish(mq.queue("jobs"), 2)
        finish(mq.queue("other"), 3)
        until = mq.store.now()
        finish(mq.queue("jobs"), 4)
    chosen = Slice(queue="jobs", since=since, until=until)
    assert [row.rows for row in archivable(spark, sqlite_url, chosen).collect()] == [1]
    assert archive(spark, sqlite_url, str(tmp_path / "lake"), of=chosen).pruned == 1
    assert set(kept(spark, tmp_path / "lake")) == {wanted}
    with pytest.raises(QueueNotFound, match="there is no queue 'nowhere'"):
        archive(spark, sqlite_url, str(tmp_path / "lake"), of=Slice(queue="nowhere"))


def test_many_seqs_are_archived_in_several_batches(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    with rowmq.connect(sqlite_url) as mq:
        ids = finish(mq.queue("jobs"), *range(25))
    assert archive(spark, sqlite_url, str(tmp_path / "lake"), largest=10).batches == 3
    assert set(kept(spark, tmp_path / "lake")) == set(ids)


def test_nothing_is_deleted_unless_the_files_hold_what_was_written(
    spark: SparkSession, sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damage(lake: Lake, batch: str) -> Any:
        """A disk that loses a file."""
        files = place(lake, batch)
        os.remove(tmp_path / "lake" / files[0].path)  # noqa: PTH107 - what a disk does
        return files[1:]

    with rowmq.connect(sqlite_url) as mq:
        finish(mq.queue("jobs"), 1)
        finish(mq.queue("other"), 2)
        with monkeypatch.context() as patch:
            patch.setattr(archiving, "place", damage)
            with pytest.raises(StoreError, match="1 rows were read back of 2"):
                archive(spark, sqlite_url, str(tmp_path / "lake"))
        assert len(list(mq.find())) == 2
        assert archive(spark, sqlite_url, str(tmp_path / "lake")).undone == 1
        assert list(mq.find()) == []
    assert len(kept(spark, tmp_path / "lake")) == 2


def test_a_message_that_lives_again_before_it_is_deleted_counts_in_the_store(
    spark: SparkSession, sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prune = archiving._Job.prune
    with rowmq.connect(sqlite_url) as mq:
        jobs = mq.queue("jobs")
        (done,), (first, second) = finish(jobs, 1), finish(jobs, 2, 3, dead=True)

        def redriven(job: Any, manifest: Any) -> int:
            """An operator is quicker than the archive, and one of the two is even done again."""
            jobs.redrive()
            jobs.claim()[0].ack()
            return prune(job, manifest)

        with monkeypatch.context() as patch:
            patch.setattr(archiving._Job, "prune", redriven)
            assert archive(spark, sqlite_url, str(tmp_path / "lake")).pruned == 1
        assert {str(record.id) for record in mq.find()} == {first, second}
        assert set(kept(spark, tmp_path / "lake")) == {done}
        jobs.claim()[0].ack()
        archive(spark, sqlite_url, str(tmp_path / "lake"))
    assert {id: row.state for id, row in kept(spark, tmp_path / "lake").items()} == {
        done: "done", first: "done", second: "done"
    }  # fmt: skip


def test_two_archives_of_one_store_do_not_run_at_once(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    with rowmq.connect(sqlite_url) as mq:
        finish(mq.queue("jobs"), 1)
        with (
            leading(mq.store, archiving.ROLE),
            pytest.raises(Refused, match="another archive job is running"),
        ):
            archive(spark, sqlite_url, str(tmp_path / "lake"), ttl=SOON)
        assert archive(spark, sqlite_url, str(tmp_path / "lake"), ttl=SOON).pruned == 1


def test_small_files_are_gathered_and_nothing_is_lost_or_doubled(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    with rowmq.connect(sqlite_url) as mq:
        ids = []
        for number in range(3):
            ids += finish(mq.queue("jobs"), number) + finish(mq.queue("other"), number, dead=True)
            archive(spark, sqlite_url, str(lake))
    found = compact(spark, sqlite_url, str(lake))
    assert (found.batches, found.files_before, found.files_after) == (3, 6, 2)
    assert Counter(row.id for row in spark.read.parquet(str(lake)).collect()) == Counter(ids)
    assert set(kept(spark, lake)) == set(ids)
    assert len(list(lake.glob("_batches/*"))) == 1
    assert compact(spark, sqlite_url, str(lake)).batches == 0


def test_old_days_are_let_go_and_counted(spark: SparkSession, sqlite_url: str, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    with rowmq.connect(sqlite_url) as mq:
        finish(mq.queue("jobs"), 1, 2)
        archive(spark, sqlite_url, str(lake))
        today = mq.store.now().date()
    assert let_go(sqlite_url, str(lake), today).rows == 0
    assert len(kept(spark, lake)) == 2
    assert let_go(sqlite_url, str(lake), today + timedelta(days=1)).rows == 2
    assert (kept(spark, lake), list(lake.glob("dt=*"))) == ({}, [])
    (manifest,) = Batches(Lake(str(lake))).manifests()
    assert sum(each.count for each in manifest.expired) == 2


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    for name in [name for name in os.environ if name.startswith("ROWMQ_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return Program(tmp_path, capsys)


def test_rowmq_archive_says_what_it_would_do_and_what_it_did(
    spark: SparkSession, sqlite_url: str, program: Program, tmp_path: Path
) -> None:
    with rowmq.connect(sqlite_url) as mq:
        finish(mq.queue("jobs"), 1, 2)
    command = ("archive", "--to", "lake", "--url", sqlite_url)
    day = datetime.now(UTC).date().isoformat()
    assert program(*command, "--dry-run", "--json").json == [{"day": day, "queue": "jobs", "rows": 2}]
    assert not (tmp_path / "lake").exists()
    assert "archived 2 messages to lake" in program(*command).out
    again = program(*command, "--compact", "--keep-for", "1d", "--json").json
    assert (again["rows"], again["compacted"]["batches"], again["let_go"]["rows"]) == (0, 0, 0)
    assert program(*command, "--dry-run").out == "there is nothing to archive\n"


def test_rowmq_archive_says_in_a_sentence_why_it_cannot(
    spark: SparkSession, sqlite_url: str, program: Program, tmp_path: Path
) -> None:
    rowmq.connect(sqlite_url).close()
    (tmp_path / "file").write_text("")
    refused = program("archive", "--to", "file/lake", "--url", sqlite_url, code=2)
    assert "choose a folder that you may write" in refused.err
    missing = program("archive", "--to", "lake", "--queue", "nowhere", "--url", sqlite_url, code=1)
    assert missing.err == "rowmq: there is no queue 'nowhere'; create it first\n"
