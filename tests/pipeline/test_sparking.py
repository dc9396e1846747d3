"""What all commands on Spark share: their session, their bar, and what they say when Spark fails."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click
import pytest

import rowmq
from rowmq.core.errors import QueueNotFound, StoreUnavailable
from rowmq.doors.cli.session import Session
from rowmq.doors.cli.sparking import period, plain_error, spark_job, store_url, watched

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def slow(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        time.sleep(0.5)
        yield batch


def test_what_an_executor_raised_comes_out_as_our_own_error() -> None:
    text = (
        "Job aborted\nTraceback:\n  File x\nrowmq.core.errors.QueueNotFound: there is no queue 'a'; create it"
        " first\n\tat org.apache.spark"
    )
    error = plain_error(RuntimeError(text))
    assert isinstance(error, QueueNotFound)
    assert str(error) == "there is no queue 'a'; create it first"


def test_what_spark_itself_raised_comes_out_as_one_sentence() -> None:
    error = plain_error(RuntimeError("Job aborted\nValueError: not a number\n\tat org.apache.spark"))
    assert isinstance(error, click.ClickException)
    assert str(error) == "Spark could not do it: ValueError: not a number"
    assert (
        str(plain_error(RuntimeError("[NO_TABLE] none\n  plan"))) == "Spark could not do it: [NO_TABLE] none"
    )


def test_an_error_that_is_not_ours_is_not_made_from_its_name() -> None:
    assert isinstance(plain_error(RuntimeError("rowmq.core.errors.__name__: x")), click.ClickException)


def test_the_bar_is_moved_by_sparks_own_tasks(spark: SparkSession) -> None:
    seen: list[tuple[int, int]] = []
    with watched(spark, lambda done, total: seen.append((done, total))):
        spark.range(0, 4, 1, 4).mapInArrow(slow, "id long").collect()
    assert max(total for _, total in seen) == 4
    assert all(done <= total for done, total in seen)


def test_a_session_that_was_there_is_used_and_left(spark: SparkSession) -> None:
    with spark_job(Session(None, as_json=True), "testing", master=None) as found:
        assert found is spark
    assert spark.range(3).count() == 3


def test_an_error_of_sparks_in_a_command_is_a_sentence(spark: SparkSession) -> None:
    with (
        pytest.raises(click.ClickException, match=r"Spark could not do it: .*`nowhere`"),
        spark_job(Session(None, as_json=True), "testing", master=None) as found,
    ):
        found.sql("SELECT * FROM nowhere")


def test_a_span_is_counted_back_from_the_stores_now() -> None:
    assert period(NOW, timedelta(days=1), None) == (NOW - timedelta(days=1), None)
    assert period(NOW, None, NOW) == (None, NOW)


def test_executors_get_the_whole_path_of_a_store_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreUnavailable, match=r"there is no file jobs\.db"):
        store_url(Session("sqlite:///jobs.db", as_json=True))
    rowmq.connect("sqlite:///jobs.db").close()
    assert store_url(Session("sqlite:///jobs.db", as_json=True)) == f"sqlite:///{tmp_path / 'jobs.db'}"
    server = "postgresql://me:secret@host/db"
    assert store_url(Session(server, as_json=True)) == server
