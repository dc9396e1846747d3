"""Who is asking: tokens, and how often one may be wrong."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from rowmq.core.errors import InvalidSetting
from rowmq.doors.http.access import ADDRESSES, BURST, REFILL, Failures, Open, Tokens, address_of, site_of
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.request import Request
from rowmq.doors.right import ANYBODY
from tests.doors.http.asked import SECRET, asked, bearing, token_text, write_tokens
from tests.doors.http.raw import say, statuses
from tests.doors.http.serving import serving

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


@pytest.fixture
def access(tmp_path: Path, clock: list[float]) -> Tokens:
    path = write_tokens(
        tmp_path / "tokens.toml",
        token_text("worker", "right", claim=["emails"]),
        token_text("former", "expired", expires="2026-04-01T00:00:00Z", claim=["emails"]),
    )
    return Tokens(path, clock=lambda: clock[0], now=lambda: NOW)


def refused(access: Tokens, request: Request) -> Refusal:
    with pytest.raises(Refusal) as told:
        access.principal(request)
    return told.value


def test_without_tokens_everybody_is_anybody() -> None:
    assert Open().principal(asked()) is ANYBODY
    assert Open().signer(asked(), b"") is ANYBODY


def test_whoever_bears_a_token_is_its_entry(access: Tokens) -> None:
    assert access.principal(bearing("right")).name == "worker"
    assert access.signer(bearing("right"), b"{}").name == "worker"
    lower = asked(headers=[("authorization", "bearer  right ")])
    assert access.principal(lower).name == "worker"


def test_the_seals_secret_is_the_files(access: Tokens) -> None:
    assert access.secret == SECRET


def test_a_file_that_cannot_be_used_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="cannot be read"):
        Tokens(tmp_path / "none.toml")


@pytest.mark.parametrize(
    "request_",
    [
        asked(),
        bearing("wrong"),
        bearing("expired"),
        bearing(""),
        asked(headers=[("Authorization", "Basic cmlnaHQ6")]),
        asked(headers=[("Authorization", "right")]),
        asked(query="token=right&access_token=right"),
        asked(headers=[("Cookie", "token=right"), ("X-Token", "right")]),
        bearing("right\xff"),
        bearing("RIGHT"),
    ],
)
def test_whoever_shows_nothing_right_is_refused_and_never_told_why(access: Tokens, request_: Request) -> None:
    refusal = refused(access, request_)
    assert (refusal.status, refusal.sentence) == (401, "say who you are: Authorization: Bearer TOKEN")
    assert refusal.headers == {"www-authenticate": 'Bearer realm="rowmq"'}


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (asked(), "MissingAuthenticationToken"),
        (bearing("wrong"), "InvalidClientTokenId"),
        (bearing("expired"), "InvalidClientTokenId"),
    ],
)
def test_sqs_clients_are_refused_in_their_language(access: Tokens, request_: Request, code: str) -> None:
    for ask in (access.expect, lambda request: access.signer(request, b"")):
        with pytest.raises(Refusal) as told:
            ask(request_)
        assert (told.value.status, told.value.code) == (403, code)


def test_a_body_of_a_stranger_is_refused_before_it_comes(access: Tokens) -> None:
    with serving(access=access) as url:
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n"
        assert statuses(say(url, head + b"Connection: close\r\n\r\n")) == [403]


def test_too_many_failures_of_an_address_are_told_to_wait(access: Tokens, clock: list[float]) -> None:
    statuses = [refused(access, bearing("wrong")).status for _ in range(BURST + 3)]
    assert statuses == [401] * BURST + [429] * 3
    assert refused(access, bearing("wrong")).headers["retry-after"] == str(round(1 / REFILL))
    assert refused(access, bearing("wrong", address="192.0.2.2")).status == 401
    clock[0] += 1 / REFILL
    assert [refused(access, bearing("wrong")).status for _ in range(2)] == [401, 429]


def test_failures_at_both_kinds_of_door_count_together(access: Tokens) -> None:
    for _ in range(BURST):
        refused(access, bearing("wrong"))
    with pytest.raises(Refusal) as told:
        access.signer(asked(), b"")
    assert (told.value.status, told.value.code) == (429, "RequestThrottled")


def test_whoever_shows_the_right_token_gets_in_whatever_others_of_his_address_do(access: Tokens) -> None:
    for _ in range(BURST + 1):
        refused(access, bearing("wrong"))
    assert access.principal(bearing("right")).name == "worker"


def test_only_so_many_addresses_are_remembered() -> None:
    failures = Failures(lambda: 0.0)
    for number in range(ADDRESSES + 100):
        failures.count(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(failures) == ADDRESSES


def test_an_ipv6_caller_is_his_whole_network() -> None:
    assert site_of("2001:db8::1") == site_of("2001:db8::ffff:2")
    assert site_of("2001:db8::1") != site_of("2001:db8:0:1::1")
    assert site_of("::ffff:192.0.2.1") != site_of("::ffff:192.0.2.2")
    assert address_of(asked(address=None)) == site_of("") == ""
