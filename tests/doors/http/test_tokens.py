"""The tokens file: what it says, what it refuses, and how it is read again."""

import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowmq.core.errors import InvalidInput, InvalidSetting
from rowmq.doors.http.tokens import Key, Token, check_pattern, digest_of, new_token, parse
from rowmq.doors.http.tokens_file import FRESH, Watched, change, read, text_of
from rowmq.doors.right import Principal, Right
from tests.doors.http.asked import SECRET, key_text, token_text, write_tokens

NOW = datetime(2026, 5, 1, tzinfo=UTC)
HEAD = f'secret = "{SECRET}"\n'
NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)


def test_a_token_has_the_rights_that_the_file_gives_it() -> None:
    ring = parse(HEAD + token_text("worker", "abc", claim=["emails", "orders.*"], push=["log"]))
    found = ring.bearer("abc", NOW)
    assert found is not None
    assert found.name == "worker"
    assert found.may(Right.CLAIM, "orders.eu")
    assert found.may(Right.PUSH, "log")
    assert not found.may(Right.PUSH, "emails")
    assert not found.may(Right.READ, "emails")


def test_an_unknown_token_is_nobody() -> None:
    assert parse(HEAD + token_text("worker", "abc")).bearer("abd", NOW) is None


def test_an_expired_token_is_nobody_from_that_moment_on() -> None:
    ring = parse(HEAD + token_text("worker", "abc", expires="2026-05-01T00:00:00Z"))
    assert ring.bearer("abc", NOW) is None
    assert ring.bearer("abc", NOW.replace(year=2025)) is not None


def test_a_new_token_has_256_random_bits() -> None:
    made = {new_token() for _ in range(100)}
    assert len(made) == 100
    assert {len(token) for token in made} == {len("rowmq_") + 43}  # 43 characters of base64 are 32 bytes


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "missing required field `secret`"),
        ('secret = "abc"', "secret is 64 or more hexadecimal digits"),
        (f'secret = "{SECRET}', "not TOML: at"),
        (HEAD + "colour = 1", "unknown field `colour`"),
        (HEAD + token_text("a", "x") + "pus = []", "unknown field `pus`"),
        (HEAD + token_text("a", "x") + 'push = "all"', "Expected `array`"),
        (HEAD + token_text("a", "x", push=["a*b"]), "has [*] elsewhere than at its end"),
        (HEAD + token_text("a", "x", push=["a**"]), "has [*] elsewhere than at its end"),
        (HEAD + token_text("a", "x", push=[""]), "has 1 to 255 characters"),
        (HEAD + token_text("a", "x", expires="2026-05-01"), "Expected `datetime . null`, got `date`"),
        (HEAD + token_text("a", "x", expires="2026-05-01T00:00:00"), "without a zone"),
        (HEAD + token_text("a", "x", expires='"soon"'), "Invalid RFC3339"),
        (HEAD + token_text("a", "x") + token_text("a", "y"), "two entries have the same name 'a'"),
        (HEAD + token_text("a", "x") + token_text("b", "x"), "two entries have the same sha256$"),
        (HEAD + token_text("a", "x") + key_text("a", "AK", "s" * 40), "two entries have the same name"),
        (HEAD + key_text("a", "AK", "s" * 40) + key_text("b", "AK", "s" * 40), "the same id 'AK'"),
        (HEAD + key_text("a", "AK", "short"), "a secret of 20 or more characters"),
        (HEAD + key_text("a", "", "s" * 40), "needs an id"),
        (HEAD + '[[token]]\nname = "a"\nsha256 = "ABC"', "is not 64 hexadecimal digits"),
        (HEAD + '[[token]]\nname = "a"', "missing required field `sha256`"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_a_clear_word(text: str, says: str) -> None:
    with pytest.raises(InvalidSetting, match=says):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        f'secret = "{SECRET}',
        f"secret = {SECRET}",
        HEAD + key_text("a", "AK", "s" * 40) + 'secret = "again"',
        HEAD + key_text("a", "", "s" * 40),
    ],
)
def test_no_error_repeats_a_secret(text: str) -> None:
    with pytest.raises(InvalidSetting) as told:
        parse(text)
    assert SECRET[:8] not in str(told.value)
    assert "s" * 8 not in str(told.value)


def test_nothing_that_was_read_shows_a_secret() -> None:
    ring = parse(HEAD + token_text("worker", "abc") + key_text("old", "AKIA7", "s" * 40))
    shown = f"{ring!r} {ring} {ring.entries!r} {ring.keys!r} {list(ring.keys.values())!s}"
    assert "s" * 8 not in shown
    assert SECRET not in shown
    assert ring.entries[0].sha256 not in shown  # type: ignore[union-attr]


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = write_tokens(tmp_path / "tokens.toml", mode=0o640)
    with pytest.raises(InvalidSetting, match="chmod 600"):
        read(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="cannot be read: No such file"):
        read(tmp_path / "none.toml")


def test_a_revoked_token_is_nobody_without_a_restart(tmp_path: Path) -> None:
    clock = [0.0]
    path = write_tokens(tmp_path / "tokens.toml", token_text("old", "x"))
    watched = Watched(path, clock=lambda: clock[0])
    write_tokens(path, token_text("new", "y"))
    assert watched.ring.bearer("x", NOW) is not None  # looked at a moment ago
    clock[0] += FRESH
    assert watched.ring.bearer("x", NOW) is None
    assert watched.ring.bearer("y", NOW) is not None


def test_two_tokens_of_one_program_are_good_at_once_while_one_replaces_the_other(tmp_path: Path) -> None:
    path = write_tokens(tmp_path / "tokens.toml", token_text("old", "x"), token_text("new", "y"))
    ring = Watched(path).ring
    assert ring.bearer("x", NOW) is not None
    assert ring.bearer("y", NOW) is not None


@pytest.mark.parametrize("broken", ["missing", "wrong", "readable"])
def test_a_broken_new_file_keeps_the_old_state_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    clock = [0.0]
    path = write_tokens(tmp_path / "tokens.toml", token_text("old", "x"))
    watched = Watched(path, clock=lambda: clock[0])
    if broken == "missing":
        path.unlink()
    elif broken == "wrong":
        write_tokens(path, "[[token]]")
    else:
        path.chmod(0o644)
    with caplog.at_level(logging.INFO, logger="rowmq"):
        for _ in range(3):
            clock[0] += FRESH
            assert watched.ring.bearer("x", NOW) is not None
    assert [record.getMessage().split()[0] for record in caplog.records] == ["tokens.kept"]
    write_tokens(path, token_text("new", "y"))
    clock[0] += FRESH
    assert watched.ring.bearer("y", NOW) is not None


@given(NAMES.filter(lambda name: not name.endswith("*")), NAMES, st.text(max_size=3), st.text(max_size=3))
def test_a_right_is_for_the_exact_name_or_whatever_begins_as_its_prefix_does(
    said: str, other: str, before: str, after: str
) -> None:
    """Fully anchored, and no character but a last star means anything but itself."""
    exact, prefix = (Principal("a", {Right.PUSH: (pattern,)}) for pattern in (said, f"{said}*"))
    for name in (said, other, before + said, said + after, before + said + after):
        assert exact.may(Right.PUSH, name) == (name == said)
        assert prefix.may(Right.PUSH, name) == (name[: len(said)] == said)
    assert not any(exact.may(right, said) for right in Right if right is not Right.PUSH)


@given(st.text("ab*?[].^$", min_size=1, max_size=6))
def test_a_pattern_is_accepted_if_its_only_star_is_its_last_character(pattern: str) -> None:
    good = "*" not in pattern[:-1]
    try:
        check_pattern(pattern)
    except InvalidInput:
        assert not good
    else:
        assert good


@given(
    st.lists(
        st.tuples(NAMES, NAMES.filter(lambda name: "*" not in name)), max_size=5, unique_by=lambda e: e[0]
    )
)
def test_whatever_is_written_is_read_the_same(pairs: list[tuple[str, str]]) -> None:
    until = datetime(2027, 1, 1, 12, 30, tzinfo=UTC)
    entries = [
        Token(name=name, sha256=digest_of(name).hex(), push=(right, f"{right}*"), expires=until)
        for name, right in pairs
    ]
    assert parse(text_of(SECRET, entries)).entries == entries


def test_a_file_is_changed_as_a_whole_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    made = change(path, lambda entries: [*entries, Key(name="a", id="AK", secret="s" * 40)])
    again = change(path, lambda entries: [*entries, Token(name="b", sha256="0" * 64)])
    assert [entry.name for entry in again.entries] == ["b", "a"]
    assert made.secret == again.secret == read(path).secret
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_change_that_the_file_may_not_say_changes_nothing(tmp_path: Path) -> None:
    path = write_tokens(tmp_path / "tokens.toml", token_text("a", "x"))
    before = path.read_bytes()
    with pytest.raises(InvalidSetting, match="the same name"):
        change(path, lambda entries: [*entries, Token(name="a", sha256="0" * 64)])
    assert path.read_bytes() == before
