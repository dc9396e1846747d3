"""The frame of a request, checked before anything of it is read."""

import pytest

from rowmq.doors.http.guard import HEADER_BYTES, HEADERS, PATH_BYTES, Guard, known_hosts
from rowmq.doors.http.refusal import Refusal
from tests.doors.http.asked import Headers, asked

HOST = ("Host", "localhost:9999")


def refused(guard: Guard, *headers: tuple[str, str], path: str = "/", query: str = "") -> int:
    with pytest.raises(Refusal) as told:
        guard.check(asked(path=path, query=query, headers=headers))
    return told.value.status


def allowed(guard: Guard, *headers: tuple[str, str]) -> bool:
    guard.check(asked(headers=headers))
    return True


@pytest.mark.parametrize(
    "host", ["localhost:9999", "LOCALHOST", "127.0.0.1:1", "[::1]:9999", "queue.test:80"]
)
def test_a_local_server_answers_to_local_names_and_those_it_was_given(host: str) -> None:
    assert allowed(Guard(known_hosts("127.0.0.1", ["queue.test"])), ("Host", host))


@pytest.mark.parametrize(
    "host",
    [
        "evil.test",
        "localhost.evil.test",
        "evil.test:9999",
        "",
        "127.0.0.1.evil.test",
        "localhost:9999.evil",
        "::1",
        "::5",
        ":",
    ],
)
def test_a_local_server_does_not_answer_to_a_name_that_was_bound_to_it_elsewhere(host: str) -> None:
    assert refused(Guard(known_hosts("127.0.0.1")), ("Host", host)) == 421
    assert refused(Guard(known_hosts("localhost"))) == 421
    assert refused(Guard(known_hosts("::1")), ("Host", host)) == 421


def test_a_server_for_others_answers_to_any_name_unless_some_were_said() -> None:
    assert allowed(Guard(known_hosts("0.0.0.0")), ("Host", "queue.test"))  # noqa: S104 - nothing is bound
    assert refused(Guard(known_hosts("192.0.2.1", ["queue.test"])), ("Host", "evil.test")) == 421


@pytest.mark.parametrize(
    "headers",
    [
        [("Origin", "http://evil.test")],
        [("Origin", "null")],
        [("Origin", "http://localhost:9998")],
        [("Origin", "http://localhost:9999.evil.test")],
        [("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "same-site")],
    ],
)
def test_a_page_of_another_origin_is_refused(headers: Headers) -> None:
    assert refused(Guard(), HOST, *headers) == 403


@pytest.mark.parametrize(
    "headers",
    [
        [("Origin", "http://localhost:9999")],
        [("Origin", "https://LOCALHOST:9999"), ("Sec-Fetch-Site", "same-origin")],
        [("Sec-Fetch-Site", "none")],
        [],
    ],
)
def test_our_own_page_and_programs_are_not(headers: Headers) -> None:
    assert allowed(Guard(), HOST, *headers)


@pytest.mark.parametrize(
    "headers",
    [
        [("Content-Length", "5"), ("Transfer-Encoding", "chunked")],
        [("Transfer-Encoding", "gzip, chunked")],
        [("Transfer-Encoding", "identity")],
        [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")],
        [("Content-Length", "5"), ("Content-Length", "5")],
        [("Content-Length", "5, 5")],
        [("Content-Length", "-1")],
        [("Content-Length", "+5")],
        [("Content-Length", "0x5")],
        [("Content-Length", "5_0")],
        [("Content-Length", " 5")],
        [("Content-Length", "\xb2")],
        [("Content-Length", "")],
        [("Content-Length", "9" * 5000)],
        [("Host", "a"), ("Host", "b")],
        [("Authorization", "a"), ("Authorization", "b")],
    ],
)
def test_a_frame_that_can_be_read_in_two_ways_is_refused_and_ends_the_connection(headers: Headers) -> None:
    with pytest.raises(Refusal) as told:
        Guard().check(asked(headers=headers))
    assert (told.value.status, told.value.headers) == (400, {"connection": "close"})


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "identity, gzip"])
def test_a_packed_body_is_refused_and_not_unpacked(coding: str) -> None:
    assert refused(Guard(), ("Content-Encoding", coding)) == 415
    assert allowed(Guard(), ("Content-Encoding", "Identity"), ("Transfer-Encoding", "Chunked"))


def test_headers_are_limited_in_number_and_in_size() -> None:
    assert allowed(Guard(), *[("X", "1")] * HEADERS)
    assert refused(Guard(), *[("X", "1")] * (HEADERS + 1)) == 431
    assert refused(Guard(), ("X", "1" * HEADER_BYTES)) == 431
    assert allowed(Guard(), ("X", "1" * (HEADER_BYTES - 1)))


def test_an_address_is_limited_with_its_query() -> None:
    assert refused(Guard(), path="/" + "a" * PATH_BYTES) == 414
    assert refused(Guard(), query="a" * PATH_BYTES) == 414
