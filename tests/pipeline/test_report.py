"""The figures of a report, checked against the same ones counted from the tables by other means."""

import json
import math
import os
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import create_engine

from rowmq.core.errors import InvalidInput, InvalidSetting, QueueNotFound
from rowmq.pipeline.lake.archive import archive
from rowmq.pipeline.reporting.page import Figures
from rowmq.pipeline.reporting.report import figures, report
from rowmq.pipeline.reporting.tables import PERCENTILES
from rowmq.stores import open_store
from tests.pipeline.history_sample import START, history

MESSAGES = """
    SELECT m.seq, q.name AS queue, m.created_at, m.scheduled_for, m.metadata, o.state, o.finished_at,
           COALESCE(o.attempts, p.attempts) AS attempts, COALESCE(o.consumer, p.consumer) AS consumer,
           COALESCE(o.started_at, p.claimed_at) AS started_at
    FROM rowmq_messages m
    LEFT JOIN rowmq_outcomes o ON o.seq = m.seq
    LEFT JOIN rowmq_pending p ON p.seq = m.seq
    JOIN rowmq_queues q ON q.id = COALESCE(o.queue, p.queue)
"""
HOUR = 3_600_000_000


class Counted:
    """The same figures, counted with SQL and pandas."""

    def __init__(self, url: str) -> None:
        engine = create_engine(url)
        with engine.connect() as connection:
            self.messages = pd.read_sql_query(MESSAGES, connection)
            self.failures = pd.read_sql_query("SELECT * FROM rowmq_failures", connection)
        engine.dispose()
        first = self.failures.groupby("seq")["started_at"].min()
        begun = pd.concat([self.messages["started_at"], self.messages["seq"].map(first)], axis=1).min(axis=1)
        due = self.messages[["created_at", "scheduled_for"]].max(axis=1)
        self.messages["begun_at"] = begun
        self.messages["wait"] = (begun - due) / 1e6
        self.messages["service"] = (self.messages["finished_at"] - self.messages["started_at"]) / 1e6

    def row(self, since: int = 0, until: int = 2**62, **only: str) -> dict[str, Any]:
        """What a row of any table should say about messages with these values, from one moment to another."""
        of_messages, of_failures = self.messages, self.failures
        for name, value in only.items():
            of_messages = of_messages[of_messages[name] == value]
            of_failures = of_failures[of_failures[name] == value]
        finished = of_messages[of_messages["finished_at"].between(since, until, inclusive="left")]
        begun = of_messages[of_messages["begun_at"].between(since, until, inclusive="left")]
        counts = {
            "pushed": int(of_messages["created_at"].between(since, until, inclusive="left").sum()),
            "done": int((finished["state"] == "done").sum()),
            "dead": int((finished["state"] == "dead").sum()),
            "failures": int(of_failures["ended_at"].between(since, until, inclusive="left").sum()),
            "retries": int((finished["attempts"] - 1).clip(lower=0).sum()),
        }
        return counts | _percentiles("wait", begun["wait"]) | _percentiles("service", finished["service"])

    def depth(self, at: int, queue: str | None = None) -> int:
        """How many messages were unfinished at a moment."""
        those = self.messages if queue is None else self.messages[self.messages["queue"] == queue]
        gone = those["finished_at"] < at
        return int(((those["created_at"] < at) & ~gone).sum())


def _percentiles(what: str, values: "pd.Series[float]") -> dict[str, Any]:
    known = sorted(values.dropna())
    return {
        f"{what}_{name}": pytest.approx(known[math.ceil(share * len(known)) - 1]) if known else None
        for name, share in PERCENTILES.items()
    }


@pytest.fixture
def past(store_url: str) -> str:
    store = open_store(store_url)
    history(store)
    store.close()
    return store_url


@pytest.fixture
def short_past(sqlite_url: str) -> str:
    store = open_store(sqlite_url)
    history(store, hours=3)
    store.close()
    return sqlite_url


def test_the_figures_are_those_that_sql_and_pandas_count(spark: SparkSession, past: str) -> None:
    found, counted = figures(spark, past, by="lang"), Counted(past)
    names = list(counted.row())
    assert {name: found.total[name] for name in names} == counted.row()
    assert found.total["done"] > 200
    assert found.total["failures"] > 100
    for row in found.tables["by_queue"]:
        assert {name: row[name] for name in names} == counted.row(queue=row["queue"])
        assert row["ready"] + row["scheduled"] + row["leased"] == counted.depth(2**62, row["queue"])
    assert found.period.every == timedelta(hours=1)
    for row in (*found.tables["by_time"], *found.tables["by_queue_and_time"]):
        start = int(row["time"].timestamp()) * 1_000_000
        only = {"queue": row["queue"]} if "queue" in row else {}
        assert {name: row[name] for name in names} == counted.row(start, start + HOUR, **only)
        assert row["depth"] == counted.depth(start + HOUR, row.get("queue"))
    assert len(found.tables["by_time"]) == 13
    _check_the_rest(found, counted)


def _check_the_rest(found: Figures, counted: Counted) -> None:
    finished = counted.messages.dropna(subset=["finished_at"])
    done = Counter(zip(finished["queue"], finished["consumer"], strict=True))
    said = {(row["queue"], row["consumer"]): row["done"] + row["dead"] for row in found.tables["by_consumer"]}
    assert {key: count for key, count in said.items() if count} == done
    lang = counted.messages["metadata"].map(lambda text: json.loads(text)["lang"] if text else None)
    pushed = Counter(zip(counted.messages["queue"], lang, strict=True))
    assert {(row["queue"], row["value"]): row["pushed"] for row in found.tables["by_metadata"]} == pushed
    needed = Counter(zip(finished["queue"], finished["attempts"].astype(int), strict=True))
    assert {(row["queue"], row["attempts"]): row["messages"] for row in found.tables["attempts"]} == needed
    slow = finished["service"].dropna().sort_values(ascending=False)[:50]
    assert [row["service"] for row in found.tables["slowest"]] == pytest.approx(list(slow))
    assert {row["payload"] for row in found.tables["slowest"]} == {'{"to": "<i>ada</i>"}'}
    kinds = Counter(zip(counted.failures["queue"], map(_kind, counted.failures["error"]), strict=True))
    grouped = {(row["queue"], _kind(row["example"])): row["failures"] for row in found.tables["errors"]}
    assert grouped == kinds
    assert {row["error"] for row in found.tables["errors"]} == {
        "TimeoutError: no answer from <n> after <n> s",
        "ValueError: order <uuid> is unknown",
        "<script>alert(<n>)</script>",
        "os.Gone: <n> of them",
        "the lease ended without an answer",
    }


def _kind(error: str) -> str:
    return error[:5]


def test_a_period_counts_what_happened_in_it_and_the_depth_from_before(
    spark: SparkSession, short_past: str
) -> None:
    since, until = START + timedelta(hours=1), START + timedelta(hours=2)
    found = figures(spark, short_past, queue="emails", since=since, until=until, every=timedelta(minutes=20))
    counted = Counted(short_past)
    edges = [int(each.timestamp() * 1_000_000) for each in (since, until)]
    expected = counted.row(*edges, queue="emails")
    assert {name: found.total[name] for name in expected} == expected
    assert [row["queue"] for row in found.tables["by_queue"]] == ["emails"]
    assert found.tables["by_time"][-1]["depth"] == counted.depth(edges[1], "emails")
    assert counted.depth(edges[0], "emails") > 0
    assert {row["time"].minute for row in found.tables["by_time"]} <= {0, 20, 40}


def test_a_message_in_store_and_archive_counts_once_and_one_in_the_archive_alone_too(
    spark: SparkSession, short_past: str, tmp_path: Path
) -> None:
    before = figures(spark, short_past, by="lang")
    lake, copied = str(tmp_path / "lake"), _copy(short_past, tmp_path)
    archived = archive(spark, copied, lake)
    after = figures(spark, copied, archive=lake, by="lang")
    both = figures(spark, short_past, archive=lake, by="lang")
    assert archived.pruned == before.total["done"] + before.total["dead"]
    assert after.tables == both.tables == before.tables
    assert lake in after.read


@pytest.mark.soak
def test_a_report_over_spark_connect_says_the_same(spark: SparkSession, short_past: str) -> None:
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", OVER_CONNECT, short_past]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=600)
    assert json.loads(ran.stdout.splitlines()[-1]) == figures(spark, short_past).total


OVER_CONNECT = """
import json, sys
from pyspark.sql import SparkSession
from rowmq.pipeline.reporting.report import figures
spark = SparkSession.builder.remote("local[2]").getOrCreate()
print(json.dumps(figures(spark, sys.argv[1]).total))
"""


def _copy(url: str, folder: Path) -> str:
    (folder / "copy.db").write_bytes(Path(url.removeprefix("sqlite:///")).read_bytes())
    return f"sqlite:///{folder}/copy.db"


def test_a_report_of_nothing_says_zero(spark: SparkSession, sqlite_url: str, tmp_path: Path) -> None:
    open_store(sqlite_url).close()
    made = report(spark, sqlite_url, to=tmp_path / "report")
    assert made.figures.total["pushed"] == 0
    assert made.figures.total["wait_p50"] is None
    assert "There is nothing to show" in made.page.read_text()


def test_what_cannot_be_reported_is_refused_before_anything_is_counted(
    spark: SparkSession, sqlite_url: str, tmp_path: Path
) -> None:
    open_store(sqlite_url).close()
    with pytest.raises(QueueNotFound, match="no queue 'nowhere'"):
        figures(spark, sqlite_url, queue="nowhere")
    with pytest.raises(InvalidInput, match="is no archive"):
        figures(spark, sqlite_url, archive=str(tmp_path / "empty"))
    with pytest.raises(InvalidSetting, match="ends after it begins"):
        figures(spark, sqlite_url, since=datetime.now(UTC), until=datetime(2026, 1, 1, tzinfo=UTC))
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidSetting, match="name another folder"):
        report(spark, sqlite_url, to=tmp_path / "file")
