"""Anything at all at the port, before anybody has said who he is: the server says no, and goes on."""

import logging
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from rowmq.doors.http.access import Access, Open, Tokens
from rowmq.runtime.client import Client, connect
from tests.doors.http.asked import key_text, token_text, write_tokens
from tests.doors.http.raw import say, say_each, statuses
from tests.doors.http.serving import serving

CASES = 2000
SEED = 20260501
HEAD = b"POST /queues/victim/enqueue HTTP/1.1\r\nHost: x\r\n"
SMUGGLED = b"POST /queues/victim/enqueue HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1"
SIGNED = (
    b"Authorization: AWS4-HMAC-SHA256 Credential=AK/20260501/us-east-1/sqs/aws4_request,"
    b" SignedHeaders=host;x-amz-date, Signature=00\r\nX-Amz-Date: 20260501T000000Z\r\n"
)
PRESIGNED = (
    b"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2F20260501%2Fa%2Fsqs%2Faws4_request"
    b"&X-Amz-Date=20260501T000000Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature=00"
)
ID = b"0197c5e4-0000-7000-8000-000000000000"


def request(line: bytes, body: bytes = b"", headers: bytes = b"") -> bytes:
    length = b"Content-Length: %d\r\n" % len(body) if body else b""
    return line + b" HTTP/1.1\r\nHost: localhost\r\n" + headers + length + b"\r\n" + body


VALID = (
    request(b"GET /queues/victim/receive"),
    request(b"POST /queues?name=other&max_attempts=3&visibility_timeout_seconds=5"),
    request(b"PUT /messages/" + ID + b"/complete?receipt=1.AAAA"),
    SMUGGLED,
    HEAD + b'Transfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n5\r\n": 1}\r\n0\r\n\r\n',
    request(b"POST /v1/queues/victim/messages", b'{"payload": {"a": [1, 2.5, null]}, "delay": 1}'),
    request(b"POST /v1/queues/victim/claim", b'{"limit": 1}'),
    request(b"GET /v1/messages?queue=victim&where=a%3Db&limit=10&since=2026-05-01T00:00:00Z"),
    request(b"POST /", b"{}", b"X-Amz-Target: AmazonSQS.ListQueues\r\n" + SIGNED),
    request(b"GET /1/victim?Action=ReceiveMessage&" + PRESIGNED),
    request(b"POST /1/victim", b"Action=SendMessage&MessageBody=ab&MessageAttribute.1.Name=a"),
    request(b"GET /metrics"),
    request(b"GET /openapi.json", headers=b"Connection: upgrade\r\nUpgrade: websocket\r\n"),
    request(b"CONNECT x:443"),
    request(b"OPTIONS *"),
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(64)),
)
HEADERS = (
    b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: y\r\n",
    b"Expect: 100-continue\r\n", b"Connection: close\r\n", b"Upgrade: h2c\r\n", b"Content-Encoding: gzip\r\n",
    b"Authorization: Bearer \xff\r\n",
)  # fmt: skip
NASTY = (
    b"\r\n", b"\n", b"\r", b"\x00", b"\xff", b"%00", b"%ff", b"%", b"../", b"//", b"?", b"&", b"=", b"*",
    b"{", b"[" * 3000, b" " * 300, b"9" * 30, b"-1", b"1e999", b"NaN", b"null", b"\xed\xa0\x80",
    "\u202e".encode(),     b"'; DROP TABLE rowmq_messages; --", *HEADERS,
)  # fmt: skip


@pytest.fixture(params=["tokens", "open"])
def access(request: pytest.FixtureRequest, tmp_path: Path) -> Access:
    if request.param == "open":
        return Open()
    entries = (token_text("a", "right", claim=["*"]), key_text("b", "AK", "s" * 40, push=["*"]))
    return Tokens(write_tokens(tmp_path / "tokens.toml", *entries))


@pytest.fixture
def mq() -> Iterator[Client]:
    with connect("memory://") as mq:
        mq.queue("victim").push_many([1, 2, 3])
        yield mq


def mutated(chance: random.Random) -> bytes:
    """A request that was fine, with some of it changed."""
    text = bytearray(chance.choice(VALID))
    for _ in range(chance.randint(1, 6)):
        place = chance.randint(0, len(text))
        match chance.randrange(4):
            case 0:
                text[place:place] = chance.choice(NASTY)
            case 1:
                text[place : place + chance.randint(1, 10)] = chance.randbytes(chance.randint(0, 10))
            case 2:
                del text[place : place + chance.randint(1, 30)]
            case _:
                text[place:place] = text[chance.randint(0, len(text)) :][:50]
    return bytes(text)


def put_together(chance: random.Random) -> bytes:
    """Something of a request's shape, of nasty parts."""
    method = chance.choice((b"GET", b"POST", b"PUT", b"DELETE", b"HEAD", b"PATCH", b"GE\x00T", b"get", b""))
    names = (b"queues", b"v1", b"messages", b"victim", b"1", b"healthz", b"..", b"%2e%2e", b"", *NASTY)
    path = b"/" + b"/".join(chance.choices(names, k=chance.randint(0, 5)))
    headers = b"".join(chance.choices(HEADERS, k=chance.randint(0, 4)))
    return method + b" " + path + b" HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n" + chance.choice(NASTY)


def test_whatever_bytes_come_the_server_stays_and_makes_no_mistake(
    access: Access, mq: Client, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(SEED)  # noqa: S311 - to be the same each time
    cases = [chance.randbytes(chance.randint(0, 2000)) for _ in range(CASES // 4)]
    cases += [mutated(chance) for _ in range(CASES // 2)]
    cases += [put_together(chance) for _ in range(CASES // 4)]
    with caplog.at_level(logging.WARNING), serving(mq, access=access) as url:
        answers = say_each(url, cases)
        wrong = [
            (case, found) for case, found in zip(cases, answers, strict=True) if max(found, default=0) >= 500
        ]
        assert wrong == []
        assert httpx.get(f"{url}/queues").status_code in {200, 401, 429}
    seen = Counter(status for found in answers for status in found)
    assert seen[400] > CASES / 10, seen  # they do get through to where they are refused
    said = [record.getMessage() for record in caplog.records]
    assert [each for each in said if "Invalid HTTP request" not in each and "pgrade" not in each] == []


LAST = b"Connection: close\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
NONE = b"\r\n0\r\n\r\n"
SMUGGLING = {
    "a length and chunks": b"Content-Length: 4\r\n" + CHUNKED + NONE,
    "chunks and a length": CHUNKED + b"Content-Length: 4\r\n" + NONE,
    "two lengths": b"Content-Length: 1\r\nContent-Length: 80\r\n\r\n1",
    "the same length twice": b"Content-Length: 1\r\nContent-Length: 1\r\n\r\n1",
    "lengths in a list": b"Content-Length: 1, 1\r\n\r\n1",
    "a signed length": b"Content-Length: +1\r\n\r\n1",
    "a negative length": b"Content-Length: -1\r\n\r\n1",
    "a hexadecimal length": b"Content-Length: 0x1\r\n\r\n1",
    "a length with a blank": b"Content-Length: 1 0\r\n\r\n1",
    "a length too large to count": b"Content-Length: 99999999999999999999999\r\n\r\n1",
    "chunks by another name": b"Transfer-Encoding: xchunked\r\n" + NONE,
    "chunks, then something": b"Transfer-Encoding: chunked, identity\r\n" + NONE,
    "a blank before the colon": b"Transfer-Encoding : chunked\r\n" + NONE,
    "a header ended by a line feed": b"X: y\n" + CHUNKED + NONE,
    "a header ended by a return": b"X: y\r" + CHUNKED + NONE,
    "a folded header": b"X: y\r\n " + CHUNKED + NONE,
    "a zero byte in a header": b"X: \x00\r\n\r\n",
    "a chunk that ends with a line feed": CHUNKED + b"\r\n1\n1\n0\n\n",
    "a hexadecimal mark on a chunk": CHUNKED + b"\r\n0x1\r\n1" + NONE,
    "a negative chunk": CHUNKED + b"\r\n-1\r\n1" + NONE,
    "a chunk too large to count": CHUNKED + b"\r\n1" + b"0" * 16 + b"\r\n1",
    "a chunk shorter than it says": CHUNKED + b"\r\n1\r\n12" + NONE,
    "a line feed in a chunk's extension": CHUNKED + b"\r\n1;a\nb\r\n1" + NONE,
    "two hosts": b"Host: y\r\nContent-Length: 1\r\n\r\n1",
}
BAD_LINES = {
    "lines ended by a line feed": HEAD.replace(b"\r\n", b"\n") + b"Content-Length: 1\n\n1",
    "no version": b"GET /queues/victim/receive\r\n\r\n",
    "a wrong version": b"GET /queues/victim/receive HTTP/3.7\r\n\r\n",
}
HIDING = {name: HEAD + text for name, text in SMUGGLING.items()} | BAD_LINES


@pytest.mark.parametrize("name", HIDING)
def test_a_request_that_hides_another_is_refused_and_so_is_what_it_hides(mq: Client, name: str) -> None:
    with serving(mq) as url:
        heard = say(url, HIDING[name] + SMUGGLED)
    assert statuses(heard)[:1] == [400], heard
    assert mq.queue("victim").stats().ready == 3


def test_what_is_sent_after_the_body_is_no_header(tmp_path: Path, mq: Client) -> None:
    path = write_tokens(tmp_path / "tokens.toml", token_text("a", "right", push=["*"]))
    body = b"Transfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0\r\nAuthorization: Bearer right\r\n\r\n"
    with serving(mq, access=Tokens(path)) as url:
        assert statuses(say(url, HEAD + LAST + body)) == [401]
        good = b"Authorization: Bearer right\r\nContent-Length: 1\r\n\r\n1"
        assert statuses(say(url, HEAD + LAST + good)) == [200]
