"""The options of format("rowmq"): read into values, or refused with a sentence that says what to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rowmq.core.errors import InvalidSetting, InvalidURL
from rowmq.core.outcome import State
from rowmq.core.where import Condition
from rowmq.pipeline.opening import absolute, store_at
from rowmq.pipeline.options import Origin, ReadOptions, given


def test_options_are_read_whatever_their_case() -> None:
    options = given(
        ReadOptions,
        {
            "URL": "sqlite:///a.db",
            "Queue": "Jobs",
            "STATE": "Done, dead",
            "firstseq": "5",
            "MAXAGE": "1.5",
            "since": "2026-01-31T12:00:00+02:00",
            "until": "2026-02-01",
            "where": '{"lang": "en", "kind": ["a", "b"]}',
        },
    )
    assert (options.address(), options.source, options.first_seq) == ("sqlite:///a.db", "Jobs", 5)
    assert options.state == {State.DONE, State.DEAD}
    assert options.since == datetime(2026, 1, 31, 10, tzinfo=UTC)
    assert options.until == datetime(2026, 2, 1, tzinfo=UTC)
    assert options.max_age == timedelta(seconds=1.5)
    assert options.where == (Condition("lang", "=", ("en",)), Condition("kind", "in", ("a", "b")))


def test_what_spark_adds_for_itself_is_not_refused() -> None:
    assert given(ReadOptions, {"url": "x", "checkpointLocation": "/tmp/c"}).url == "x"  # noqa: S108 - not used


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"qeue": "a"}, "rowmq has no option qeue here; there are url, urlEnv, queue"),
        ({"state": "finished"}, "option state: a state is one of ready, scheduled, leased, done, dead, not"),
        ({"since": "yesterday"}, "option since: say a moment like 2026-01-31T12:00:00Z, not 'yesterday'"),
        ({"firstSeq": "0"}, "option firstSeq: say a whole number from 1, not '0'"),
        ({"partitions": "-2"}, "option partitions: say a whole number from 1"),
        ({"maxAge": "nan"}, "option maxAge: say a number of seconds"),
        ({"maxAge": "-1"}, "option maxAge: say a number of seconds above 0"),
        ({"where": "lang=en"}, "option where: say a JSON object like"),
        ({"where": '{"lang": 3}'}, "option where: say a JSON object like"),
        ({"where": '{"lang": [3]}'}, "option where: a condition's key and values are strings"),
        ({"table": "queues"}, "option table: say one of messages, failures, ledger, not 'queues'"),
        ({"payload": "json"}, "option payload: say one of text, binary"),
        ({"queue": "a\nb"}, "option queue: a name has no control characters"),
        ({"queue": ""}, "option queue: a name has 1 to 255 characters"),
        ({"topic": "a"}, "topic and subscription go together"),
        ({"queue": "a", "topic": "b", "subscription": "c"}, "either queue, or topic and subscription"),
    ],
)
def test_a_wrong_option_is_refused_with_what_to_do(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        given(ReadOptions, {"url": "sqlite:///a.db", **options})
    assert sentence in str(refused.value)


def test_the_url_may_be_kept_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    place = given(Origin, {"urlEnv": "QUEUE_URL"})
    with pytest.raises(InvalidSetting, match="QUEUE_URL is not set on this machine; set it for the driver"):
        place.address()
    monkeypatch.setenv("QUEUE_URL", "postgresql://user:secret@host/db")
    assert place.address() == "postgresql://user:secret@host/db"
    assert "secret" not in repr(place)


@pytest.mark.parametrize("options", [{}, {"url": "sqlite:///a.db", "urlEnv": "QUEUE_URL"}])
def test_a_store_is_named_once(options: dict[str, str]) -> None:
    with pytest.raises(InvalidSetting, match="say where the store is: either"):
        given(Origin, options).address()


@pytest.mark.parametrize("url", ["memory://", "sqlite://", "sqlite:///:memory:", "sqlite+pysqlite:///?a=b"])
def test_a_store_in_memory_is_refused(url: str) -> None:
    with pytest.raises(InvalidURL, match="seen by its own process alone, and Spark has many"):
        store_at(url)


def test_a_relative_file_is_made_absolute(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    assert absolute("sqlite:///jobs.db?durability=off") == f"sqlite:///{tmp_path}/jobs.db?durability=off"
    assert absolute("postgresql://user:secret@host/db") == "postgresql://user:secret@host/db"
    assert absolute("nonsense") == "nonsense"
