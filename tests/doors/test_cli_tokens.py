"""Tokens on the command line."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from rowmq.doors.http.tokens_file import read
from rowmq.doors.right import Right
from tests.doors.program import Program

NOW = datetime.now(UTC)
FILE = "rowmq-tokens.toml"


def test_a_token_is_printed_once_and_only_its_hash_is_kept(rowmq: Program) -> None:
    said = rowmq("tokens", "add", "worker", "--claim", "emails", "--claim", "orders.*", "--push", "log")
    token = said.out.strip()
    path = rowmq.folder / FILE
    assert token not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    found = read(path).bearer(token, NOW)
    assert found is not None
    assert found.rights[Right.CLAIM] == ("emails", "orders.*")
    assert token not in rowmq("tokens").out


def test_an_aws_key_is_printed_as_the_variables_that_clients_read(rowmq: Program) -> None:
    lines = dict(line.split("=") for line in rowmq("tokens", "add-key", "old", "--push", "*").out.split())
    key = read(rowmq.folder / FILE).key(lines["AWS_ACCESS_KEY_ID"], NOW)
    assert key is not None
    assert key.secret == lines["AWS_SECRET_ACCESS_KEY"]
    assert key.secret not in rowmq("tokens", "list").out + rowmq("tokens", "list", "--json").out


def test_machines_get_one_document(rowmq: Program) -> None:
    made = rowmq("tokens", "add", "a", "--push", "x", "--json").json
    assert made.keys() == {"name", "token", "file"}
    key = rowmq("tokens", "add-key", "b", "--read", "y", "--json").json
    assert key.keys() == {"name", "id", "secret", "file"}
    listed = rowmq("tokens", "list", "--json").json
    rights = {"push": ["x"], "claim": [], "read": [], "manage": []}
    assert listed[0] == {"name": "a", "kind": "token", "id": None, "expires": None, **rights}
    assert (listed[1]["name"], listed[1]["kind"], listed[1]["id"]) == ("b", "key", key["id"])


def test_a_token_may_expire(rowmq: Program) -> None:
    token = rowmq("tokens", "add", "a", "--push", "x", "--expires", "1h").out.strip()
    ring = read(rowmq.folder / FILE)
    assert ring.bearer(token, NOW) is not None
    assert ring.bearer(token, NOW.replace(year=NOW.year + 1)) is None
    rowmq("tokens", "add", "b", "--push", "x", "--expires", "2199-01-01T00:00Z")
    assert rowmq("tokens", "list", "--json").json[1]["expires"] == "2199-01-01T00:00:00Z"


def test_a_revoked_token_is_gone_and_the_others_stay(rowmq: Program) -> None:
    token = rowmq("tokens", "add", "a", "--push", "x").out.strip()
    kept = rowmq("tokens", "add", "b", "--push", "x").out.strip()
    rowmq("tokens", "revoke", "a")
    ring = read(rowmq.folder / FILE)
    assert ring.bearer(token, NOW) is None
    assert ring.bearer(kept, NOW) is not None
    assert "has no entry 'a'; it has b" in rowmq("tokens", "revoke", "a", code=2).err


def test_the_file_is_the_one_said_or_the_configured_one(
    rowmq: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "etc").mkdir()
    monkeypatch.setenv("ROWMQ_SERVER_TOKENS", str(tmp_path / "etc" / "tokens.toml"))
    rowmq("tokens", "add", "a", "--push", "x")
    rowmq("tokens", "add", "b", "--push", "x", "--file", "other.toml")
    assert [entry.name for entry in read(tmp_path / "etc" / "tokens.toml").entries] == ["a"]
    assert [entry.name for entry in read(tmp_path / "other.toml").entries] == ["b"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["add", "a"], "say what it is for"),
        (["add", "a", "--push", "a*b"], "has * elsewhere than at its end"),
        (["add", "a", "--push", ""], "has 1 to 255 characters"),
        (["add", "a", "--push", "x", "--expires", "2020-01-01T00:00Z"], "is in the future"),
        (["add", "a", "--push", "x", "--expires", "soon"], "is not a time"),
        (["add", "", "--push", "x"], "has 1 to 255 characters"),
        (["add", "a", "--push", "x", "--file", "no/where.toml"], "cannot be written"),
        (["list"], "cannot be read: No such file"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    rowmq: Program, arguments: list[str], says: str
) -> None:
    assert says in rowmq("tokens", *arguments, code=2).err
    assert list(rowmq.folder.iterdir()) == []


def test_a_name_is_there_once(rowmq: Program) -> None:
    rowmq("tokens", "add", "a", "--push", "x")
    assert "two entries have the same name 'a'" in rowmq("tokens", "add-key", "a", "--push", "x", code=2).err
