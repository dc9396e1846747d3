"""The page of health: durability, schema, sizes, settings, and warnings in words."""

from datetime import timedelta
from pathlib import Path

import pytest

from rowmq.core.history import Durability
from rowmq.core.monitor import Health
from rowmq.doors.http.dashboard.health import Found, warnings
from rowmq.runtime.client import Client, connect
from tests.doors.http.dashboard.visiting import Visitor, known
from tests.doors.http.serving import serving

NOTHING = Health("Database 1.0", "0001", None, {}, {})


def found(grade: str = "A", because: str = "it is", away: float = 0) -> Found:
    return Found(NOTHING, Durability(grade, because), timedelta(seconds=away), timedelta(0))


def test_a_memory_store_is_said_to_survive_nothing(visitor: Visitor) -> None:
    page = visitor.sees("health")
    assert "durability C" in page
    assert "may be lost when the process or the server crashes" in page
    assert "messages are in the memory of this process only" in page


def test_a_sqlite_store_shows_its_version_schema_sizes_and_settings(tmp_path: Path) -> None:
    with connect(f"sqlite:///{tmp_path / 'jobs.db'}") as mq, serving(mq) as url, Visitor(url) as visitor:
        mq.queue("emails").push(1)
        health = mq.store.monitor.health()  # type: ignore[attr-defined]
        page = visitor.sees("health")
    assert "durability A" in page
    assert "survives a power loss" in page
    assert health.schema in page
    for name in (*health.sizes, *health.settings):
        assert f"<code>{name}</code>" in page
    assert "notice warning" in page  # nobody has set up tokens


def test_a_password_in_the_store_s_url_is_not_shown(mq: Client, visitor: Visitor) -> None:
    mq.url = "postgresql://jobs:swordfish@db.example.com/jobs"
    page = visitor.sees("health")
    assert "db.example.com" in page
    assert "swordfish" not in page


@pytest.mark.parametrize("grade", ["B", "C"])
def test_what_weakens_durability_is_said_in_words(grade: str) -> None:
    (said,) = warnings(found(grade, "fsync=off: commits can be lost with the power"), asks=True)
    assert said.endswith("The reason: fsync=off: commits can be lost with the power.")
    assert "acknowledged" in said


def test_a_durable_store_with_tokens_has_no_warnings() -> None:
    assert list(warnings(found(), asks=True)) == []


def test_clocks_that_are_apart_are_told_of() -> None:
    assert "2 min ahead of this machine" in next(warnings(found(away=120), asks=True))
    assert "3 s behind" in next(warnings(found(away=-3), asks=True))
    assert list(warnings(found(away=1.5), asks=True)) == []


def test_a_server_without_tokens_says_who_may_do_what() -> None:
    (said,) = warnings(found(), asks=False)
    assert said.startswith("No tokens are set up")


def test_a_server_with_tokens_links_to_nothing_that_a_session_does_not_open(
    mq: Client, tmp_path: Path
) -> None:
    with serving(mq, **known(tmp_path, ada={"read": ["*"]})) as url, Visitor(url, "ada") as ada:
        assert 'href="/metrics"' not in ada.sees("health")
        assert 'href="/healthz"' in ada.sees("health")
