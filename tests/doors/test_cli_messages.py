"""Pushing, claiming and settling on the command line."""

import io
import json
import sys
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from rowmq.stores import open_store
from tests.doors.program import Program, finished


@pytest.fixture
def emails(rowmq: Program) -> Program:
    rowmq("init", "--queue", "emails", "--no-config")
    return rowmq


def body(rowmq: Program) -> bytes | None:
    store = open_store(f"sqlite:///{rowmq.folder}/rowmq.db")
    (record,) = store.history.find("emails").records
    store.close()
    return record.body


def test_a_pushed_message_is_printed_by_claim_and_acked_by_its_receipt(emails: Program) -> None:
    id = emails("push", "emails", '{"to": "ada"}', "--json").json["id"]
    (claimed,) = emails("claim", "emails", "--json").lines
    assert (claimed["id"], claimed["payload"], claimed["attempt"]) == (id, {"to": "ada"}, 1)
    answered = emails("ack", claimed["receipt"], "--result", '{"sent": 1}', "--json").json
    assert answered == [{"receipt": claimed["receipt"], "answer": "settled"}]
    shown = emails("show", id, "--json").json
    assert (shown["state"], shown["result"]) == ("done", {"sent": 1})


def test_json_is_kept_byte_for_byte(emails: Program) -> None:
    emails("push", "emails", '{"b": 1.10,  "a": "ü"}')
    assert body(emails) == '{"b": 1.10,  "a": "ü"}'.encode()


def test_text_and_files_are_payloads_too(emails: Program) -> None:
    (emails.folder / "data").write_bytes(b"\xff\x00")
    emails("push", "emails", "null", "--text")
    emails("push", "emails", "--file", "data", "--binary")
    text, binary = emails("claim", "emails", "--limit", "2", "--json").lines
    assert (text["payload"], text["base64"]) == ("null", False)
    assert (binary["payload"], binary["base64"]) == ("/wA=", True)


def test_what_is_said_about_a_message_is_kept(emails: Program) -> None:
    id = "01890a5d-ac96-774b-bcce-b302099a8057"
    emails(
        "push", "emails", "1", "--id", id, "--at", "2h", "--deadline", "2999-01-01T00:00Z", "--priority", "7",
        "--key", "k", "--group", "g", "-m", "v=1", "-m", "w=a=b",
    )  # fmt: skip
    shown = emails("show", id, "--json").json
    due = datetime.fromisoformat(shown["scheduled_for"]) - datetime.now(UTC)
    assert timedelta(minutes=119) < due <= timedelta(hours=2)
    assert (shown["priority"], shown["key"], shown["group"]) == (7, "k", "g")
    assert (shown["metadata"], shown["deadline"]) == ({"v": "1", "w": "a=b"}, "2999-01-01T00:00:00Z")
    assert shown["state"] == "scheduled"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{oops"], "the payload is not JSON"),
        (["NaN"], "NaN is not a JSON number"),
        ([], "give one payload"),
        (["1", "--file", "x"], "give one payload"),
        (["1", "--from", "x"], "not both"),
        (["--from", "missing"], "missing cannot be read: No such file"),
        (["--file", "missing"], "missing cannot be read: No such file"),
        (["-", "--key", "k"], "--key is for one message"),
        (["1", "--priority", "10"], "is not in the range 0<=x<=9"),
        (["1", "--at", "2026-01-01T00:00"], "has no time zone"),
        (["1", "--at", "tomorrow"], "'tomorrow' is not a time"),
        (["1", "--at", "999999999d"], "is no time that a calendar has"),
        (["1", "--delay", "5m", "--at", "5m"], "a delay or a time, not both"),
        (["1", "--delay", "999999d"], "a delay is between 0 and 3650 days"),
        (["1", "-m", "oops"], "'oops' is not KEY=VALUE"),
        (["1", "--id", "7"], "is not a valid UUID"),
        (["1", "--group", "a\x1bb"], "control characters"),
    ],
)
def test_a_push_that_cannot_be_is_exit_code_2_and_pushes_nothing(
    arguments: list[str], sentence: str, emails: Program
) -> None:
    ran = emails("push", "emails", *arguments, code=2)
    assert sentence in ran.err
    assert "\x1b" not in ran.err
    assert emails("stats", "--json").json[0]["ready"] == 0


def test_a_stream_of_lines_is_pushed_in_order(emails: Program) -> None:
    lines = "\n\n".join(json.dumps({"n": n}) for n in range(1234))
    ran = finished("push", "emails", "-", "--batch", "100", "--json", folder=emails.folder, given=lines)
    assert ran.json == {"queue": "emails", "pushed": 1234}
    found = emails("find", "emails", "--json").lines
    assert [each["payload"]["n"] for each in found] == list(range(1234))


def test_a_line_that_is_not_json_is_named_and_what_was_before_it_is_pushed(emails: Program) -> None:
    (emails.folder / "lines").write_text("1\n2\n{oops\n4\n")
    ran = emails("push", "emails", "--from", "lines", "--priority", "3", code=2)
    assert "line 3: the payload is not JSON" in ran.err
    assert "2 messages were read before that" in ran.err
    assert [each["priority"] for each in emails("find", "--json").lines] == [3, 3]


def test_a_full_queue_ends_a_stream_with_exit_code_1(emails: Program) -> None:
    emails("queues", "set", "emails", "--max-length", "5")
    (emails.folder / "lines").write_text("1\n" * 20)
    ran = emails("push", "emails", "--from", "lines", "--batch", "5", code=1)
    assert "messages were not pushed" in ran.err
    assert emails("stats", "--json").json[0]["ready"] == 5


def test_claims_go_by_conditions_and_their_limits(emails: Program) -> None:
    for v in "123":
        emails("push", "emails", v, "-m", f"v={v}")
    got = emails(
        "claim", "emails", "-n", "5", "--where", "v=1", "--where", "v=2", "--where", "w!=x", "--json"
    )
    assert sorted(each["payload"] for each in got.lines) == [1, 2]
    assert "limit is from 1" in emails("claim", "emails", "-n", "0", code=2).err
    assert "is not KEY=VALUE" in emails("claim", "emails", "--where", "=x", code=2).err


def test_claim_and_ack_leaves_nothing_owed(emails: Program) -> None:
    emails("push", "emails", "1")
    emails("claim", "emails", "--ack")
    (stats,) = emails("stats", "emails", "--json").json
    assert (stats["leased"], stats["done"]) == (0, 1)


def test_claim_waits_for_what_another_process_pushes(emails: Program) -> None:
    start = datetime.now(UTC)
    emails("push", "emails", "1", "--delay", "700ms")
    assert len(emails("claim", "emails", "--wait", "20s", "--json").lines) == 1
    assert timedelta(seconds=0.5) < datetime.now(UTC) - start < timedelta(seconds=15)


@pytest.mark.parametrize(
    ("settling", "state", "attempts"),
    [
        (["retry", "--after", "1h", "--error", "busy"], "scheduled", 1),
        (["retry"], "scheduled", 1),
        (["release"], "ready", 0),
        (["release", "--after", "1h"], "scheduled", 0),
        (["kill", "--reason", "no use"], "dead", 1),
        (["ack"], "done", 1),
    ],
)
def test_a_receipt_settles_once(settling: list[str], state: str, attempts: int, emails: Program) -> None:
    emails("push", "emails", "1")
    receipt = emails("claim", "emails", "--json").lines[0]["receipt"]
    command, *options = settling
    emails(command, receipt, *options)
    (found,) = emails("find", "--json").lines
    assert (found["state"], found["attempts"]) == (state, attempts)
    again = emails(command, receipt, *options, "--json", code=None)
    assert (again.code, again.json[0]["answer"]) in {(1, "lost"), (0, "repeated")}
    assert (again.code == 0) == (state == "done")


def test_the_last_retry_of_a_message_buries_it_with_its_error(emails: Program) -> None:
    emails("queues", "set", "emails", "--max-attempts", "1")
    id = emails("push", "emails", "1").out.strip()
    emails("retry", emails("claim", "emails", "--json").lines[0]["receipt"], "--error", "busy")
    shown = emails("show", id, "--json").json
    assert (shown["state"], shown["reason"]) == ("dead", "exhausted")
    assert [failure["error"] for failure in shown["failures"]] == ["busy"]


def test_extend_moves_the_end_of_a_lease_and_a_lost_receipt_is_exit_code_1(emails: Program) -> None:
    emails("push", "emails", "1")
    (claimed,) = emails("claim", "emails", "--json").lines
    (extended,) = emails("extend", claimed["receipt"], "--lease", "1h", "--json").json
    assert extended["lease_until"] > claimed["lease_until"]
    emails("ack", claimed["receipt"])
    assert "went on without this holder" in emails("extend", claimed["receipt"], code=1).err


@pytest.mark.parametrize("receipt", ["", "7", "x-00", f"-7-{'0' * 32}", f"7-{'g' * 32}", "7-" + "0" * 31])
def test_what_is_no_receipt_is_exit_code_2(receipt: str, emails: Program) -> None:
    assert emails("ack", "--", receipt, code=2).err.count("is not a receipt") == 1


def test_a_payload_cannot_steer_the_terminal_nor_be_markup(emails: Program) -> None:
    nasty = "\x1b]0;owned\x07[bold red]hi[/] \u202eevil\x9b31m\x7f"
    emails("push", "emails", nasty, "--text", "-m", f"note={nasty}")
    for arguments in (["find"], ["find", "--json"], ["claim", "emails"]):
        out = emails(*arguments).out
        assert not set(out) & set("\x1b\x07\u202e\x9b\x7f")
        assert "[bold red]hi[/]" in out
        assert "\\u001b" in out


def test_an_id_that_is_an_int_prints_as_json_and_not_as_a_number_for_people(emails: Program) -> None:
    emails("push", "emails", "1234567")
    assert "1234567" in emails("find").out


def test_a_number_that_no_reader_takes_is_printed_as_text(emails: Program) -> None:
    emails("push", "emails", "1e999")
    assert emails("find", "--json").lines[0]["payload"] == "1e999"


def test_ids_of_single_pushes_are_printed_alone(emails: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"[1]")))
    assert UUID(emails("push", "emails", "--file", "-").out.strip()).version == 7
