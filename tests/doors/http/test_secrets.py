"""Canaries: a token, a secret, a password and a payload, none of which is seen in logs, errors or metrics."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest

from tests.doors.http.asked import key_text, token_text, write_tokens
from tests.doors.http.raw import say
from tests.doors.http.serving import Served, served
from tests.servers import Server

TOKEN, GUESS, SECRET, PASSWORD, PAYLOAD = (
    f"canary-{each}-5e7c1b" for each in ("token", "guess", "secret", "password", "payload")
)
CANARIES = (TOKEN, GUESS, SECRET, PASSWORD, PAYLOAD)
BEARER = {"Authorization": f"Bearer {TOKEN}"}
DEEP = "[" * 5000
SIGNED = (
    "AWS4-HMAC-SHA256 Credential=RMQKCANARY/20260501/us-east-1/sqs/aws4_request, SignedHeaders=host, "
    f"Signature={GUESS}"
)
JSON_10 = {"X-Amz-Target": "AmazonSQS.SendMessage", "Content-Type": "application/x-amz-json-1.0"}
WRONG = [
    ("GET", "/v1/queues", {"Authorization": f"Bearer {GUESS}"}, ""),
    ("GET", f"/v1/queues?token={GUESS}&access_token={GUESS}", {}, ""),
    ("GET", "/v1/queues", {"Authorization": f"Basic {GUESS}"}, ""),
    ("POST", "/", {"Authorization": SIGNED, **JSON_10}, f'{{"MessageBody": "{PAYLOAD}"}}'),
    ("POST", "/", {**BEARER, **JSON_10}, f'{{"QueueUrl": "emails", "MessageBody": ["{PAYLOAD}"]}}'),
    ("POST", "/", {**BEARER, **JSON_10}, f'{{"QueueUrl": "nowhere", "MessageBody": "{PAYLOAD}"}}'),
    ("POST", "/", {**BEARER, **JSON_10}, f'{{"QueueUrl": "emails", "MessageBody": "{PAYLOAD}'),
    ("POST", "/", {**BEARER, **JSON_10}, f'{{"QueueUrl": "emails", "MessageBody": "{PAYLOAD}\\u0000"}}'),
    ("POST", "/1/emails", BEARER, f"Action=SendMessage&MessageBody={PAYLOAD}%00"),
    ("POST", "/queues/emails/enqueue", BEARER, f'{{"{PAYLOAD}": '),
    ("POST", "/queues/nowhere/enqueue", BEARER, f'"{PAYLOAD}"'),
    ("POST", "/queues/emails/enqueue", BEARER, f'"{PAYLOAD}"' + DEEP),
    ("POST", "/v1/queues/emails/messages", BEARER, f'{{"payload": "{PAYLOAD}", "priority": "high"}}'),
    ("POST", "/v1/queues/emails/messages", BEARER, f'{{"payload": "{PAYLOAD}", "base64": "!"}}'),
    ("POST", "/v1/queues/nowhere/messages", BEARER, f'{{"payload": "{PAYLOAD}"}}'),
    ("POST", "/v1/queues/emails/messages", BEARER, f'{{"payload": "{PAYLOAD}" {DEEP}'),
    ("POST", "/v1/queues/emails/import", BEARER, f'{{"payload": "{PAYLOAD}", "x": 1}}\n{{"{PAYLOAD}'),
    ("POST", "/v1/nowhere", BEARER, PAYLOAD),
    ("PATCH", "/v1/queues", BEARER, PAYLOAD),
    ("POST", "/queues/emails/enqueue", {**BEARER, "Content-Encoding": "gzip"}, PAYLOAD),
]


class Place(NamedTuple):
    """A server on a database, and all that it has logged so far."""

    server: Served
    log: list[str]
    database: Server


@pytest.fixture
def place(own_postgres: Server, tmp_path: Path) -> Iterator[Place]:
    rights = {right: ["*"] for right in ("push", "claim", "read", "manage")}
    tokens = write_tokens(
        tmp_path / "tokens.toml",
        token_text("canary", TOKEN, None, **rights),
        key_text("legacy", "RMQKCANARY", SECRET, **rights),
    )
    arguments = ("--tokens", str(tokens), "--access-log", "--log-level", "debug", "--log-format", "json")
    url = with_password(own_postgres.url)
    with served(*arguments, folder=tmp_path, ends=False, ROWMQ_URL=url) as server:
        log: list[str] = []
        reader = threading.Thread(target=lambda: log.extend(server.process.stdout or ()))
        reader.start()
        yield Place(server, log, own_postgres)
        server.process.terminate()
        reader.join(30)
    assert shown("".join(log)) == []


def with_password(url: str) -> str:
    """The same, with a password that the database does not ask for."""
    parts = urlsplit(url)
    user, _, where = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0] or 'postgres'}:{PASSWORD}@{where}"))


def shown(text: str) -> list[str]:
    return [canary for canary in CANARIES if canary in text]


def said(answer: httpx.Response) -> str:
    return f"{answer.headers!r} {answer.text}"


def test_no_canary_is_seen_whatever_goes_wrong(place: Place) -> None:
    with httpx.Client(base_url=place.server.url, timeout=60) as http:
        http.put("/v1/queues/emails", json={}, headers=BEARER).raise_for_status()
        http.post("/v1/queues/emails/messages", json={"payload": PAYLOAD}, headers=BEARER).raise_for_status()
        claimed = http.post("/v1/queues/emails/claim", json={}, headers=BEARER).json()["messages"]
        assert claimed[0]["payload"] == PAYLOAD  # which is where it belongs
        for method, path, headers, body in WRONG:
            answer = http.request(method, path, headers=headers, content=body)
            assert 400 <= answer.status_code < 500 or path.endswith("/import"), (path, answer.text)
            assert shown(said(answer)) == [], (method, path)
        assert shown(said(http.get("/metrics", headers=BEARER))) == []
        say(
            place.server.url,
            f"GET /{GUESS} HTTP/9.9\r\nAuthorization: {TOKEN}\r\n\r\n{PAYLOAD}".encode(),
            wait=0.5,
        )
        _without_a_database(place, http)
    assert any("http.request" in line for line in place.log)


def _without_a_database(place: Place, http: httpx.Client) -> None:
    place.database.kill()
    for path in ("/v1/queues/emails/messages", "/queues/emails/enqueue"):
        body = {"payload": PAYLOAD}
        answer = http.post(path, json=body, headers=BEARER)
        assert answer.status_code in {408, 500, 503}, answer.text
        assert shown(said(answer)) == []
    assert shown(said(http.get("/readyz"))) == []
    assert shown(said(http.get("/metrics", headers=BEARER))) == []
