"""The page of health marks each setting that weakens durability, on every database that has some."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rowmq.core import monitor
from rowmq.core.weak import weak_settings
from rowmq.runtime.client import connect
from rowmq.stores.sqlite import dialect
from tests.doors.http.dashboard.visiting import Visitor
from tests.doors.http.serving import serving

MARKED = re.compile(
    r"<code>([\w-]+)</code></th><td class=\"n\"><span class=\"mark warn\">weakens durability</span>"
)


@contextmanager
def health(url: str) -> Iterator[str]:
    """What the page says of a store."""
    with connect(url) as mq, serving(mq) as at, Visitor(at) as visitor:
        yield visitor.sees("health")


@pytest.mark.parametrize(
    ("settings", "weak"),
    [
        (
            {"fsync": "off", "full_page_writes": "on", "synchronous_commit": "off"},
            ["fsync", "synchronous_commit"],
        ),
        ({"fsync": "on", "full_page_writes": "off", "synchronous_commit": "local"}, ["full_page_writes"]),
        ({"journal_mode": "wal", "synchronous": "2"}, []),
        ({"journal_mode": "off", "synchronous": "0"}, ["journal_mode", "synchronous"]),
        ({"innodb_flush_log_at_trx_commit": "2", "innodb_doublewrite": "OFF"}, None),
        ({"log_bin": "0", "sync_binlog": "0"}, []),
        ({"log_bin": "1", "sync_binlog": "0"}, ["sync_binlog"]),
        ({"appendonly": "no", "appendfsync": "everysec", "maxmemory-policy": "allkeys-lru"}, None),
        ({"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no"}, []),
    ],
)
def test_each_setting_is_judged_for_itself(settings: dict[str, str], weak: list[str] | None) -> None:
    assert weak_settings(settings) == (list(settings) if weak is None else weak)


def test_a_sqlite_store_without_durability_has_its_setting_marked(tmp_path: Path) -> None:
    with health(f"sqlite:///{tmp_path}/jobs.db?durability=off") as page:
        assert MARKED.findall(page) == ["synchronous"]
        assert "durability A" not in page
    with health(f"sqlite:///{tmp_path}/jobs.db") as page:
        assert MARKED.findall(page) == []


def test_on_postgresql_each_of_several_settings_is_marked(postgres_url: str) -> None:
    """A test's server has no fsync, and the URL does without synchronous commits."""
    joint = "&" if "?" in postgres_url else "?"
    with health(f"{postgres_url}{joint}durability=off") as page:
        shown = dict(
            re.findall(r"<code>(fsync|synchronous_commit|full_page_writes)</code>.*?<code>(\w+)</code>", page)
        )
        assert shown["synchronous_commit"] == "off"
        assert MARKED.findall(page) == sorted(name for name, value in shown.items() if value == "off")


def test_on_mysql_what_is_flushed_later_is_marked(mysql_url: str) -> None:
    with health(mysql_url) as page:
        with connect(mysql_url) as mq:
            settings = mq.store.monitor.health().settings  # type: ignore[attr-defined]
        assert MARKED.findall(page) == weak_settings(settings)
        assert set(settings) >= {"innodb_flush_log_at_trx_commit", "sync_binlog"}


def test_on_redis_what_is_not_appended_is_marked(redis_url: str) -> None:
    with health(redis_url) as page:
        with connect(redis_url) as mq:
            settings = mq.store.monitor.health().settings  # type: ignore[attr-defined]
        assert MARKED.findall(page) == weak_settings(settings)
        assert "appendfsync" in settings


def test_a_file_too_large_to_be_measured_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialect, "LARGEST_MEASURED", 1)
    monkeypatch.setattr("rowmq.doors.http.dashboard.health.LARGEST_MEASURED", 1)
    with health(f"sqlite:///{tmp_path}/jobs.db") as page:
        assert "measuring each table would read most of it" in page
    assert monitor.LARGEST_MEASURED > 1
