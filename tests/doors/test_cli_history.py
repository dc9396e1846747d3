"""Looking up, putting right, topics and schedules on the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rowmq.runtime.client import connect
from tests.doors.program import Program, finished


@pytest.fixture
def emails(rowmq: Program) -> Program:
    rowmq("init", "--queue", "emails", "--no-config")
    return rowmq


def test_find_filters_by_queue_state_metadata_and_time(emails: Program) -> None:
    emails("push", "other", "0", "--create")
    for n in "123":
        emails("push", "emails", n, "-m", f"n={n}")
    emails("claim", "emails", "--ack")
    assert [each["payload"] for each in emails("find", "emails", "--state", "ready", "--json").lines] == [
        2,
        3,
    ]
    assert [each["payload"] for each in emails("find", "--where", "n", "--json").lines] == [1, 2, 3]
    assert [each["payload"] for each in emails("find", "--since", "1h", "-n", "2", "--json").lines] == [0, 1]
    assert emails("find", "--until", "1h", "--json").out == ""
    assert emails("find", "--since", "2999-01-01T00:00Z").out == "no message is like that\n"


def test_a_table_shows_fifty_and_says_that_there_are_more(emails: Program) -> None:
    (emails.folder / "lines").write_text("1\n" * 60)
    emails("push", "emails", "--from", "lines")
    ran = emails("find")
    assert len(ran.out.splitlines()) == 51
    assert "there are more than 50" in ran.err
    assert len(emails("find", "-n", "55").out.splitlines()) == 56


def test_find_writes_json_lines_to_a_file(emails: Program) -> None:
    (emails.folder / "lines").write_text("1\n2\n3\n")
    emails("push", "emails", "--from", "lines")
    assert emails("find", "--to", "found", "--json").json == {"file": "found", "written": 3}
    lines = (emails.folder / "found").read_text().splitlines()
    assert [json.loads(line)["payload"] for line in lines] == [1, 2, 3]
    assert "No such file" in emails("find", "--to", "no/such/folder", code=1).err


def test_a_reader_that_has_seen_enough_is_no_failure(emails: Program) -> None:
    (emails.folder / "lines").write_text("1\n" * 2000)
    emails("push", "emails", "--from", "lines")
    piped = f"set -o pipefail; {sys.executable} -m rowmq find --json | head -n 1"
    ran = subprocess.run(
        ["/bin/bash", "-c", piped], cwd=emails.folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert (ran.returncode, ran.stderr, len(ran.stdout.splitlines())) == (0, "", 1)


def test_a_message_that_is_not_there_is_exit_code_1(emails: Program) -> None:
    id = "01890a5d-ac96-774b-bcce-b302099a8057"
    assert emails("show", id, code=1).err == f"rowmq: there is no message {id}\n"
    assert emails("amend", "retry", id, "--json", code=1).json == {"changed": 0}


def test_amend_kills_retries_moves_and_drops(emails: Program) -> None:
    emails("queues", "create", "slow")
    id = emails("push", "emails", "1").out.strip()
    for action, state in (("kill", "dead"), ("retry", "ready")):
        emails("amend", action, id)
        assert emails("show", id, "--json").json["state"] == state
    emails("amend", "move", id, "--to", "slow")
    assert emails("show", id, "--json").json["queue"] == "slow"
    assert "move needs --to" in emails("amend", "move", id, code=2).err
    emails("amend", "drop", id)
    emails("show", id, code=1)


def test_redrive_gives_the_dead_another_life(emails: Program) -> None:
    id = emails("push", "emails", "1").out.strip()
    emails("amend", "kill", id)
    assert emails("redrive", "emails", "--json").json == {"queue": "emails", "redriven": 1}
    assert emails("show", id, "--json").json["state"] == "ready"


def test_purge_needs_a_yes_and_says_how_many(emails: Program) -> None:
    for n in "123":
        emails("push", "emails", n)
    emails("claim", "emails", "--ack")
    assert "say --yes" in emails("purge", "emails", code=2).err
    assert emails("purge", "emails", "--before", "1h", "--yes", "--json").json["deleted"] == 0
    assert emails("purge", "emails", "--state", "done", "--yes").out == "deleted 1 messages of 'emails'\n"
    assert emails("purge", "emails", "--yes", "--json").json == {"queue": "emails", "deleted": 2}


@pytest.mark.parametrize(("answer", "code", "left"), [("y", 0, 0), ("n", 130, 2)])
def test_purge_asks_once_on_a_terminal(
    answer: str, code: int, left: int, emails: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def prompt(text: str) -> str:
        asked.append(text)
        return answer

    for n in "12":
        emails("push", "emails", n)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.termui.visible_prompt_func", prompt)
    ran = emails("purge", "emails", code=code)
    assert "Delete 2 messages of queue 'emails'?" in "".join(asked) + ran.err
    assert len(asked) == 1
    assert emails("stats", "--json").json[0]["ready"] == left


def test_what_is_published_reaches_every_bound_queue(emails: Program) -> None:
    kept = emails("publish", "orders", "0").out
    assert "kept" in kept
    emails("subscribe", "orders", "billing", "--max-attempts", "9")
    emails("subscribe", "orders", "stock")
    assert emails("topics", "--json").json == [
        {"topic": "orders", "queues": ["billing", "stock"], "consumers": []}
    ]
    (emails.folder / "lines").write_text("1\n2\n")
    published = emails("publish", "orders", "--from", "lines", "-m", "v=1", "--json").json
    assert published == {"topic": "orders", "published": 2, "queues": 2}
    got = [each["payload"] for each in emails("claim", "billing", "-n", "5", "--json").lines]
    assert got == [0, 1, 2]
    emails("unsubscribe", "orders", "stock")
    assert "was not bound" in emails("unsubscribe", "orders", "stock", code=1).out


def test_schedules_are_added_listed_paused_and_dropped(emails: Program) -> None:
    made = emails(
        "schedules", "add", "report", '{"a": 1}', "--queue", "emails", "--cron", "0 6 * * *",
        "--timezone", "Europe/Amsterdam", "-m", "v=1", "--priority", "3", "--json",
    ).json  # fmt: skip
    assert (made["cron"], made["timezone"], made["payload"]) == ("0 6 * * *", "Europe/Amsterdam", {"a": 1})
    emails("schedules", "add", "ping", "--queue", "emails", "--every", "5m")
    assert [each["name"] for each in emails("schedules", "--json").json] == ["ping", "report"]
    emails("schedules", "pause", "report")
    assert emails("schedules", "list", "--json").json[1]["paused"] is True
    emails("schedules", "resume", "report")
    assert "report" in emails("schedules").out
    emails("schedules", "drop", "report")
    for action in ("drop", "pause", "resume"):
        assert "report" in emails("schedules", action, "report", code=1).err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--cron", "* *"], "is not a cron text"),
        (["--cron", "0 6 * * *", "--timezone", "Mars/Olympus"], "there is no time zone 'Mars/Olympus'"),
        (["--cron", "0 6 * * *", "--every", "5m"], "both were given"),
        ([], "neither was given"),
        (["{oops", "--every", "5m"], "this is not JSON"),
    ],
)
def test_a_schedule_that_cannot_be_is_exit_code_2(
    arguments: list[str], sentence: str, emails: Program
) -> None:
    assert sentence in emails("schedules", "add", "x", "--queue", "emails", *arguments, code=2).err
    assert emails("schedules", "--json").json == []


def test_consumers_are_listed(emails: Program) -> None:
    assert emails("consumers").out == "nobody is consuming\n"
    with (
        connect(f"sqlite:///{emails.folder}/rowmq.db") as client,
        client.queue("emails").consumer(name="ada"),
    ):
        (found,) = emails("consumers", "emails", "--json").json
    assert (found["queue"], found["name"]) == ("emails", "ada")


def test_find_and_topics_work_on_postgresql(emails: Program, postgres_url: str) -> None:
    at = ("--url", postgres_url)
    emails("subscribe", "orders", "billing", *at)
    emails("publish", "orders", '{"n": 1}', "-m", "v=1", *at)
    (found,) = emails("find", "billing", "--where", "v=1", "--since", "1h", "--json", *at).lines
    assert found["payload"] == {"n": 1}
    (claimed,) = emails("claim", "billing", "--json", *at).lines
    emails("retry", claimed["receipt"], *at)
    assert emails("show", found["id"], "--json", *at).json["state"] == "scheduled"
    assert emails("purge", "billing", "--yes", "--json", *at).json["deleted"] == 1


def test_a_store_that_is_away_is_exit_code_1_and_no_password_is_shown(tmp_path: Path) -> None:
    ran = finished("stats", "--url", "postgresql://ada:geheim@127.0.0.1:1/jobs", folder=tmp_path)
    assert ran.code == 1
    assert ran.err.startswith("rowmq: ")
    assert len(ran.err.splitlines()) == 1
    assert "geheim" not in ran.err + ran.out
