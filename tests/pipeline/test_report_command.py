"""`rowmq report`, typed."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from rowmq.doors.http.dashboard.reports import newest
from rowmq.runtime.config import load
from rowmq.stores import open_store
from tests.doors.program import Program
from tests.pipeline.history_sample import history


@pytest.fixture
def rowmq(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """Run commands in a new directory, with nothing of ours in the environment."""
    for name in [name for name in os.environ if name.startswith("ROWMQ_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return Program(tmp_path, capsys)


@pytest.fixture
def url(sqlite_url: str) -> str:
    store = open_store(sqlite_url)
    history(store, hours=2)
    store.close()
    return sqlite_url


def test_a_report_says_where_it_is_and_what_it_counted(
    spark: SparkSession, rowmq: Program, url: str, tmp_path: Path
) -> None:
    found = rowmq("report", "--url", url, "--to", "out", "--by", "lang", "--every", "5m", "--json").json
    with_store = open_store(url)
    done = sum(with_store.queues.stats(queue.name).done for queue in with_store.queues.list())
    with_store.close()
    assert found["done"] == done > 0
    assert found["every"] == 300
    text = (tmp_path / found["report"]).read_text()
    assert text.count("<svg") > 10
    assert "&lt;b&gt;bold&lt;/b&gt;" in text
    assert "<script" not in text
    tables = tmp_path / found["tables"]
    stored = pq.read_table(tables / "by_metadata.parquet").to_pylist()
    assert stored == json.loads((tables / "by_metadata.json").read_text())
    assert sum(row["done"] for row in stored) == done


def test_a_dry_run_counts_and_writes_nothing(
    spark: SparkSession, rowmq: Program, url: str, tmp_path: Path
) -> None:
    said = rowmq("report", "--url", url, "--queue", "emails", "--to", "out", "--dry-run")
    assert said.out.startswith("Would report on ")
    assert not (tmp_path / "out").exists()


def test_a_report_goes_where_the_dashboard_looks_unless_one_says_otherwise(
    spark: SparkSession, rowmq: Program, url: str, tmp_path: Path
) -> None:
    rowmq("report", "--url", url, "--queue", "emails")
    (made,) = newest(str(tmp_path / load({}).server.reports))
    assert made.name == f"{datetime.now(UTC):%Y-%m-%d}-{made.name[-6:]}"


def test_what_cannot_be_is_one_sentence(
    spark: SparkSession, rowmq: Program, url: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for arguments, code, words in (
        (("--to", "out", "--queue", "nowhere"), 1, "there is no queue 'nowhere'"),
        (("--to", "out", "--from", "nowhere"), 2, "is no archive"),
        (("--to", "file/out"), 2, "name another folder"),
        (("--to", "out", "--since", "1h", "--until", "2h"), 2, "ends after it begins"),
    ):
        said = rowmq("report", "--url", url, *arguments, code=code)
        assert words in said.err
        assert len(said.err.splitlines()) == 1
