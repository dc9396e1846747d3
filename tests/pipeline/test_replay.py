"""Replaying: a slice of the archive goes back into a queue, each message once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

import rowmq
from rowmq.core.errors import InvalidInput, InvalidSetting, QueueNotFound
from rowmq.core.outcome import State
from rowmq.pipeline.lake.archive import archive
from rowmq.pipeline.lake.replay import Again, replay, replayable
from rowmq.pipeline.lake.replaying import message_of
from rowmq.pipeline.lake.upkeep import compact
from tests.pipeline.test_archive import finish, program

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.doors.program import Program

__all__ = ["program"]
JOBS = Again(queue="jobs", to="again")


def replayed(mq: rowmq.Client, queue: str = "again") -> list[str]:
    return sorted(record.metadata["rowmq.replay_of"] for record in mq.find(queue))


def row(**said: Any) -> dict[str, Any]:
    usual = {
        "id": str(uuid4()),
        "payload": "1",
        "binary": False,
        "metadata": [],
        "priority": 0,
        "group": None,
    }
    return usual | said


def test_archived_messages_are_pushed_as_they_were_and_linked_to_what_they_were(
    spark: SparkSession, store_url: str, tmp_path: Path
) -> None:
    lake = str(tmp_path / "lake")
    with rowmq.connect(store_url) as mq:
        mq.queue("again")
        jobs = mq.queue("jobs")
        (one,) = finish(jobs, {"n": [1.0, "é"]}, metadata={"a": "b"}, priority=4, group="g", key="once")
        (raw,) = finish(jobs, b"\x00\xff")
        finish(mq.queue("other"), "not this one")
        archive(spark, store_url, lake)
        found = replay(spark, store_url, lake, JOBS)
        assert (found.pushed, found.seen, found.dropped) == (2, 0, 0)
        records = {record.metadata["rowmq.replay_of"]: record for record in mq.find("again")}
    assert set(records) == {one, raw}
    first = records[one]
    assert (first.payload, first.priority, first.group) == ({"n": [1.0, "é"]}, 4, "g")
    assert (first.metadata["a"], first.metadata["rowmq.replay"]) == ("b", JOBS.id)
    assert (first.state, first.key, str(first.id) != one) == (State.READY, None, True)
    assert records[raw].payload == b"\x00\xff"


def test_the_same_replay_pushes_a_message_once_and_what_is_archived_later_too(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    lake = str(tmp_path / "lake")
    with rowmq.connect(sqlite_url) as mq:
        jobs, again = mq.queue("jobs"), mq.queue("again")
        ids = finish(jobs, 1, 2)
        archive(spark, sqlite_url, lake)
        assert replay(spark, sqlite_url, lake, JOBS).pushed == 2
        again.purge()  # so that the store has forgotten the ids
        ids += finish(jobs, 3)
        archive(spark, sqlite_url, lake)
        compact(spark, sqlite_url, lake)
        found = replay(spark, sqlite_url, lake, JOBS)
        assert (found.pushed, found.seen) == (1, 2)
        assert replayed(mq) == ids[2:]
        other = Again(queue="jobs", to="again", name="another")
        assert replay(spark, sqlite_url, lake, other).pushed == 3
        assert replayed(mq) == sorted([*ids, ids[2]])


def test_a_replay_into_its_own_queue_does_not_replay_itself(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    lake, circle = str(tmp_path / "lake"), Again(queue="jobs", to="jobs")
    with rowmq.connect(sqlite_url) as mq:
        jobs = mq.queue("jobs")
        finish(jobs, 1)
        archive(spark, sqlite_url, lake)
        assert replay(spark, sqlite_url, lake, circle).pushed == 1
        jobs.claim()[0].ack()
        archive(spark, sqlite_url, lake)
        assert replayable(spark, lake, circle) == 2
        assert replay(spark, sqlite_url, lake, circle).pushed == 0


def test_only_what_ended_so_and_then_is_replayed(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    lake = str(tmp_path / "lake")
    with rowmq.connect(sqlite_url) as mq:
        jobs = mq.queue("jobs")
        mq.queue("again")
        finish(jobs, 1, dead=True)
        since = mq.store.now()
        finish(jobs, 2)
        (wanted,) = finish(jobs, 3, dead=True)
        until = mq.store.now()
        finish(jobs, 4, dead=True)
        archive(spark, sqlite_url, lake)
        chosen = Again(queue="jobs", to="again", state=State.DEAD, since=since, until=until)
        assert replayable(spark, lake, chosen) == 1
        assert replay(spark, sqlite_url, lake, chosen).pushed == 1
        assert replayed(mq) == [wanted]


def test_a_message_whose_payload_was_not_kept_is_counted(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    lake = str(tmp_path / "lake")
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("again")
        finish(mq.queue("jobs", retention=0), 1)
        archive(spark, sqlite_url, lake)
        assert replay(spark, sqlite_url, lake, JOBS).dropped == 1
        assert list(mq.find("again")) == []


def test_a_name_belongs_to_one_replay(spark: SparkSession, sqlite_url: str, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("again")
        mq.queue("jobs")
    archive(spark, sqlite_url, lake)
    replay(spark, sqlite_url, lake, Again(queue="jobs", to="again", name="n"))
    with pytest.raises(
        InvalidSetting, match="the replay 'n' goes from and to other queues; choose another name"
    ):
        replay(spark, sqlite_url, lake, Again(queue="jobs", to="jobs", name="n"))


def test_a_replay_to_nowhere_or_from_nothing_is_refused(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("again")
    with pytest.raises(InvalidInput, match="is no archive"):
        replay(spark, sqlite_url, str(tmp_path), JOBS)
    archive(spark, sqlite_url, str(tmp_path / "lake"))
    with pytest.raises(QueueNotFound):
        replay(spark, sqlite_url, str(tmp_path / "lake"), Again(queue="jobs", to="nowhere"))
    with pytest.raises(InvalidSetting, match="done or dead, not ready"):
        Again(queue="jobs", to="again", state=State.READY)


def test_a_replayed_message_is_the_same_each_time_and_another_in_another_replay() -> None:
    given = row(payload="AP8=", binary=True, metadata=[("a", "b")])
    assert message_of(given, "x") == message_of(given, "x")
    assert message_of(given, "x").id != message_of(given, "y").id
    assert message_of(given, "x").body == b"\x00\xff"


def test_rowmq_replay_typed_again_is_the_same_replay(
    spark: SparkSession,
    sqlite_url: str,
    program: Program,
    tmp_path: Path,
) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("again")
        finish(mq.queue("jobs"), 1, 2, dead=True)
    archive(spark, sqlite_url, str(tmp_path / "lake"))
    command = (
        "replay",
        "--from",
        "lake",
        "--queue",
        "jobs",
        "--to",
        "again",
        "--since",
        "1d",
        "--url",
        sqlite_url,
    )
    assert program(*command, "--dry-run", "--json").json["messages"] == 2
    first, second = program(*command, "--json").json, program(*command, "--json").json
    assert (first["pushed"], second["pushed"], second["seen"]) == (2, 0, 2)
    assert first["id"] == second["id"]
    assert "pushed 2 messages to 'again'" in program(*command, "--name", "other").out
