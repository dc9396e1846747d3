"""Queues on the command line."""

import json
import tomllib
from pathlib import Path

import pytest

from rowmq.core.queue import Queue
from rowmq.doors.cli.init import file_text
from rowmq.runtime.config import Config, load, options
from tests.doors.program import Program

EVERY_SETTING = {
    "--max-attempts": ("3", "max_attempts", 3),
    "--lease": ("1m", "lease", 60.0),
    "--delay": ("1h30m", "delay", 5400.0),
    "--delivery": ("at_most_once", "delivery", "at_most_once"),
    "--retention": ("none", "retention", None),
    "--max-age": ("2w", "max_age", 1209600.0),
    "--dead-letter": ("failed", "dead_letter", "failed"),
    "--max-length": ("10", "max_length", 10),
    "--archive": ("required", "archive", "required"),
    "--rate": ("100/5s", "rate", {"limit": 100, "period": 5.0}),
    "--tag": ("team=mail", "tags", {"team": "mail"}),
    "--fifo": (None, "fifo", True),
    "--paused": (None, "paused", True),
}


def test_init_makes_the_store_the_queues_and_a_file_that_says_the_defaults(rowmq: Program) -> None:
    said = rowmq("init", "--queue", "emails", "--queue", "images").out
    assert "rowmq.db is ready, with queues emails, images" in said
    assert [queue["name"] for queue in rowmq("queues", "--json").json] == ["emails", "images"]
    assert load(folder=rowmq.folder, environment={}) == Config(url=f"sqlite:///{rowmq.folder}/rowmq.db")


def test_init_leaves_a_file_that_is_there_alone(rowmq: Program) -> None:
    (rowmq.folder / "rowmq.toml").write_text("worker.batch = 7\n")
    assert rowmq("init", "--json").json == {"url": "sqlite:///rowmq.db", "queues": [], "config": None}
    assert (rowmq.folder / "rowmq.toml").read_text() == "worker.batch = 7\n"


def test_the_file_that_init_writes_has_every_option(tmp_path: Path) -> None:
    text = file_text(Config())
    live = "\n".join(line.removeprefix("# ") if " = " in line else line for line in text.splitlines())
    (tmp_path / "rowmq.toml").write_text(live.replace("...", "7"))
    assert {each.name for each in options()} == set(_names(tomllib.loads(live.replace("...", "7"))))
    assert load(folder=tmp_path, environment={}).worker.lease == 7


def _names(table: dict[str, object], before: str = "") -> list[str]:
    names: list[str] = []
    for key, value in table.items():
        names += _names(value, f"{key}.") if isinstance(value, dict) else [before + key]
    return names


def test_the_file_that_init_writes_has_no_password() -> None:
    text = file_text(Config(url="postgresql://ada:geheim@db/jobs"))
    assert "geheim" not in text
    assert "ROWMQ_URL" in text


def test_every_setting_of_a_queue_has_an_option(rowmq: Program) -> None:
    rowmq("queues", "create", "failed")
    arguments = [part for option, (value, *_) in EVERY_SETTING.items() for part in (option, value) if part]
    made = rowmq("queues", "create", "emails", *arguments, "--backoff-first", "5s", "--json").json
    assert {name: made[name] for _, name, _ in EVERY_SETTING.values()} == {
        name: value for _, name, value in EVERY_SETTING.values()
    }
    assert made["backoff"] == {"first": 5.0, "factor": 2.0, "cap": 3600.0, "jitter": 0.1}
    assert {name for _, name, _ in EVERY_SETTING.values()} | {"name", "backoff"} == set(
        Queue.__dataclass_fields__
    )


def test_set_changes_what_is_said_and_leaves_the_rest(rowmq: Program) -> None:
    rowmq(
        "queues", "create", "emails", "--backoff-first", "5s", "--tag", "a=1", "--tag", "b=2", "--rate", "9/m"
    )
    said = rowmq("queues", "set", "emails", "--backoff-cap", "1m", "--untag", "a", "--rate", "none").out
    assert said == "queue 'emails' is changed: backoff, rate, tags\n"
    shown = rowmq("queues", "show", "emails", "--json").json
    assert shown["backoff"] == {"first": 5.0, "factor": 2.0, "cap": 60.0, "jitter": 0.1}
    assert (shown["tags"], shown["rate"], shown["ready"]) == ({"b": "2"}, None, 0)


def test_a_paused_queue_gives_nothing_until_it_is_resumed(rowmq: Program) -> None:
    rowmq("push", "emails", "1", "--create")
    rowmq("queues", "pause", "emails")
    assert rowmq("claim", "emails", code=3).out == "there is nothing to claim\n"
    rowmq("queues", "resume", "emails")
    rowmq("claim", "emails")


def test_dropping_a_queue_needs_a_yes_and_says_how_much_went(rowmq: Program) -> None:
    rowmq("push", "emails", "1", "--create")
    assert "say --yes" in rowmq("queues", "drop", "emails", code=2).err
    assert rowmq("queues", "drop", "emails", "--yes", "--json").json == {"dropped": "emails", "messages": 1}
    assert rowmq("queues", "--json").json == []
    assert rowmq("queues").out.startswith("there are no queues")


@pytest.mark.parametrize(
    "arguments",
    [
        ["queues", "set", "nobody", "--lease", "5"],
        ["queues", "show", "nobody"],
        ["queues", "drop", "nobody", "--yes"],
        ["queues", "pause", "nobody"],
        ["stats", "nobody"],
        ["push", "nobody", "1"],
        ["push", "nobody", "--from", "lines"],
        ["claim", "nobody"],
        ["find", "nobody"],
        ["redrive", "nobody"],
        ["purge", "nobody", "--yes"],
        ["schedules", "add", "x", "--queue", "nobody", "--every", "5m"],
    ],
)
def test_a_queue_that_is_not_there_is_one_sentence_and_exit_code_1(
    arguments: list[str], rowmq: Program
) -> None:
    rowmq("migrate")
    (rowmq.folder / "lines").write_text("1\n")
    ran = rowmq(*arguments, code=1)
    assert ran.err.startswith("rowmq: there is no queue 'nobody'; create it first")
    assert ran.out == ""
    assert rowmq("queues", "--json").json == []


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--lease", "soon", "'soon' is not a span; write seconds, or 500ms"),
        ("--lease", "1e999", "is not a span"),
        ("--lease", "99999999999999d", "is not a span"),
        ("--lease", "0", "lease is between"),
        ("--max-attempts", "0", "max_attempts is a whole number from 1"),
        ("--max-attempts", "x", "'x' is not a valid integer"),
        ("--rate", "fast", "'fast' is not a rate"),
        ("--rate", "5/", "'5/' is not a rate"),
        ("--rate", "0/s", "a rate's limit is"),
        ("--tag", "x", "'x' is not KEY=VALUE"),
        ("--delivery", "never", "is not one of"),
        ("--backoff-factor", "0.5", "a backoff factor is"),
        ("--dead-letter", "emails", "cannot be its own dead-letter queue"),
    ],
)
def test_a_setting_that_cannot_be_is_exit_code_2_and_nothing_is_made(
    option: str, value: str, sentence: str, rowmq: Program
) -> None:
    rowmq("migrate")
    assert sentence in rowmq("queues", "create", "emails", option, value, code=2).err
    assert rowmq("queues", "--json").json == []


def test_url_and_json_may_stand_anywhere_on_the_line(rowmq: Program) -> None:
    url = f"sqlite:///{rowmq.folder}/other.db"
    rowmq("--url", url, "queues", "create", "emails")
    assert rowmq("queues", "--json", "--url", url, "show", "emails").json["name"] == "emails"
    assert rowmq("--json", "stats", "--url", url).json[0]["queue"] == "emails"


def test_the_url_of_a_file_serves_every_directory_below_it(
    rowmq: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    rowmq("init", "--queue", "emails")
    (rowmq.folder / "below").mkdir()
    monkeypatch.chdir(rowmq.folder / "below")
    assert rowmq("queues", "--json").json[0]["name"] == "emails"


def test_asking_about_a_store_that_is_not_there_makes_none(rowmq: Program) -> None:
    assert "there is no file rowmq.db; make the store with rowmq init" in rowmq("stats", code=1).err
    assert list(rowmq.folder.iterdir()) == []


def test_a_bad_file_is_named_in_one_sentence(rowmq: Program) -> None:
    (rowmq.folder / "rowmq.toml").write_text("worker.concurrency = 'x'")
    ran = rowmq("stats", code=2)
    assert f"worker.concurrency in {rowmq.folder}/rowmq.toml is a whole number" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_the_queues_of_postgresql_are_made_and_listed(rowmq: Program, postgres_url: str) -> None:
    rowmq("init", "--url", postgres_url, "--queue", "emails", "--no-config")
    listed = rowmq("queues", "--url", postgres_url, "--json").out
    assert [queue["name"] for queue in json.loads(listed)] == ["emails"]
    assert not (rowmq.folder / "rowmq.toml").exists()
