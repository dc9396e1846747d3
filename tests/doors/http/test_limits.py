"""More than a server takes: refused before it is read, and forgotten."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from rowmq.doors.http.guard import HEADERS, PATH_BYTES
from tests.doors.http.raw import say, statuses
from tests.doors.http.serving import Served, served

MIB = 2**20
GROWTH = 100 * MIB
"""How much a server may grow while it is asked for more than it has."""
DEEP = b"[" * 100_000 + b"]" * 100_000
JSON_10 = {"X-Amz-Target": "AmazonSQS.SendMessage", "Content-Type": "application/x-amz-json-1.0"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served("-d", ":memory:", "--no-access-log", folder=tmp_path_factory.mktemp("limits")) as server:
        httpx.put(f"{server.url}/v1/queues/emails", json={}).raise_for_status()
        yield server


@pytest.fixture
def bounded(server: Served) -> Iterator[str]:
    """The server's URL; afterwards it answers, and is not much larger."""
    before = resident(server)
    yield server.url
    assert httpx.get(f"{server.url}/healthz").status_code == 200
    assert resident(server) - before < GROWTH


def resident(server: Served) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))  # the most it ever was
    return int(line.split()[1]) * 1024


PLACES = [
    ("POST", "/queues/emails/enqueue", {}),
    ("POST", "/v1/queues/emails/messages", {}),
    ("POST", "/v1/settle", {}),
    ("POST", "/", JSON_10),
    ("POST", "/", {"Content-Type": "application/x-www-form-urlencoded"}),
]


@pytest.mark.parametrize(("method", "path", "headers"), PLACES)
def test_a_body_that_says_it_is_too_long_is_refused_before_it_comes(
    bounded: str, method: str, path: str, headers: dict[str, str]
) -> None:
    named = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    named += "Connection: close\r\nContent-Length: 99999999999\r\n"
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{named}\r\n"
    assert statuses(say(bounded, head.encode())) == [413]


@pytest.mark.parametrize(("method", "path", "headers"), PLACES)
def test_a_body_that_does_not_end_is_refused_once_it_is_too_long(
    bounded: str, method: str, path: str, headers: dict[str, str]
) -> None:
    piece = b"1" * MIB

    def endless() -> Iterator[bytes]:
        for _ in range(300):
            yield piece

    try:
        answer = httpx.request(method, bounded + path, headers=headers, content=endless(), timeout=30)
    except httpx.TransportError:
        return  # it had hung up before we were done
    assert answer.status_code == 413


@pytest.mark.parametrize(("method", "path", "headers"), PLACES)
def test_json_of_a_hundred_thousand_levels_is_refused(
    bounded: str, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = httpx.request(method, bounded + path, headers=headers, content=DEEP, timeout=30)
    assert answer.status_code in {400, 404, 422}


def test_a_payload_too_deep_to_be_read_back_is_refused(bounded: str) -> None:
    body = b'{"payload": ' + DEEP + b"}"
    answer = httpx.post(f"{bounded}/v1/queues/emails/messages", content=body)
    assert answer.status_code in {400, 422}


def test_a_packed_body_is_not_unpacked(bounded: str) -> None:
    bomb = gzip.compress(bytes(50 * MIB))
    headers = {"Content-Encoding": "gzip"}
    assert httpx.post(f"{bounded}/queues/emails/enqueue", content=bomb, headers=headers).status_code == 415


def test_headers_that_are_too_many_or_too_long_are_refused(bounded: str) -> None:
    many = [(f"x-{number}", "1") for number in range(HEADERS + 1)]
    assert httpx.get(f"{bounded}/healthz", headers=many).status_code == 431
    assert httpx.get(f"{bounded}/healthz", headers={"x": "1" * 40_000}).status_code == 431
    assert httpx.get(f"{bounded}/{'a' * PATH_BYTES}").status_code == 414


@pytest.mark.parametrize(
    "endless",
    [b"X: " + b"1" * MIB, b"1" * MIB, b"X: 1\r\n" * 100_000],
    ids=["a value", "a name", "headers"],
)
def test_a_head_that_does_not_end_is_refused_once_it_is_too_long(bounded: str, endless: bytes) -> None:
    heard = say(bounded, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", *[endless] * 50, wait=2)
    assert statuses(heard) in ([431], [400], [])  # nothing, if it has hung up while we were still talking


def test_an_address_that_does_not_end_is_refused_once_it_is_too_long(bounded: str) -> None:
    assert statuses(say(bounded, b"GET /", *[b"a" * MIB] * 50, wait=2)) in ([431], [400], [])


def test_trailers_that_do_not_end_are_refused_once_they_are_too_long(bounded: str) -> None:
    head = b"POST /queues/emails/enqueue HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    heard = say(bounded, head, b"1\r\n1\r\n0\r\nX: ", *[b"1" * MIB] * 50, wait=2)
    assert set(statuses(heard)) <= {400, 431}  # and no other, as it never was complete


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/queues/emails/claim", {"limit": 10**9}),
        ("/v1/queues/emails/claim", {"wait": 10**9}),
        ("/v1/queues/emails/claim", {"lease": 1e308}),
        ("/v1/queues/emails/claim", {"limit": -1}),
        ("/v1/queues/emails/messages", {"payload": 1, "delay": -1}),
        ("/v1/queues/emails/messages", {"payload": 1, "priority": 10**30}),
        ("/v1/queues/emails/messages", {"payload": 1, "metadata": {"a": 1}}),
        ("/v1/queues/emails/messages", {"payload": 1, "attempt": 9, "token": "a"}),
        ("/v1/find", {"limit": 10**9}),
        ("/v1/find", {"after": -1}),
    ],
)
def test_a_number_out_of_range_and_an_unknown_field_are_refused(
    bounded: str, path: str, body: object
) -> None:
    answer = httpx.post(bounded + path, content=json.dumps(body))
    assert answer.status_code in {400, 422}, answer.text


@pytest.mark.parametrize(
    "query",
    [
        "limit=1000000000",
        "limit=-1",
        "limit=1.5",
        "after=99999999999999999999999",
        "since=yesterday",
        "limit=1&limit=2",
    ],
)
def test_a_number_out_of_range_in_a_query_is_refused(bounded: str, query: str) -> None:
    assert httpx.get(f"{bounded}/v1/messages?{query}").status_code in {400, 422}
