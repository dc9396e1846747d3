"""AWS's signatures: AWS's own published examples, and what botocore signs."""

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from rowmq.doors.http.access import Tokens
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.request import Request
from rowmq.doors.http.signature import read
from tests.doors.http.asked import asked, key_text, write_tokens

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
"""The published examples' own."""
STAMP = "20150830T123600Z"
THEN = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
TARGET = "AmazonSQS.SendMessage"


class Vector(NamedTuple):
    """A request of AWS's Signature Version 4 test suite, and its published signature."""

    name: str
    signature: str
    method: str = "GET"
    path: str = "/"
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    @property
    def request(self) -> Request:
        names = sorted({"host", "x-amz-date", *(name.lower() for name, _ in self.headers)})
        said = (
            f"AWS4-HMAC-SHA256 Credential={KEY}/20150830/us-east-1/service/aws4_request,"
            f" SignedHeaders={';'.join(names)}, Signature={self.signature}"
        )
        headers = [("Host", "example.amazonaws.com"), *self.headers, ("X-Amz-Date", STAMP)]
        return asked(self.method, self.path, query=self.query, headers=[*headers, ("Authorization", said)])


VANILLA = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
VECTORS = [
    Vector("get-vanilla", VANILLA),
    Vector("normalize-path/get-slash", VANILLA, path="//"),
    Vector("normalize-path/get-relative", VANILLA, path="/example/.."),
    Vector("normalize-path/get-relative-relative", VANILLA, path="/example1/example2/../.."),
    Vector("normalize-path/get-slash-dot-slash", VANILLA, path="/./"),
    Vector(
        "get-vanilla-query-order-key-case",
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        query="Param2=value2&Param1=value1",
    ),
    Vector(
        "get-vanilla-empty-query-key",
        "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
        query="Param1=value1",
    ),
    Vector(
        "get-unreserved",
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
        path="/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    ),
    Vector("get-utf8", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85", path="/ሴ"),
    Vector(
        "get-vanilla-utf8-query",
        "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
        query="ሴ=bar",
    ),
    Vector(
        "get-header-value-trim",
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
        headers=(("My-Header1", " value1"), ("My-Header2", ' "a   b   c"')),
    ),
    Vector(
        "get-header-key-duplicate",
        "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
        headers=(("My-Header1", "value2"), ("My-Header1", "value2"), ("My-Header1", "value1")),
    ),
    Vector(
        "post-vanilla",
        "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        method="POST",
    ),
    Vector(
        "post-x-www-form-urlencoded",
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        method="POST",
        headers=(("Content-Type", "application/x-www-form-urlencoded"),),
        body=b"Param1=value1",
    ),
]


def check(request: Request, body: bytes = b"", *, now: datetime = THEN, secret: str = SECRET) -> None:
    found = read(request)
    assert found is not None
    found.check(request, body, secret=secret, now=now)


def refused(run: Callable[[], Any]) -> tuple[int, str | None]:
    with pytest.raises(Refusal) as told:
        run()
    assert SECRET not in told.value.sentence
    return told.value.status, told.value.code


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_a_published_example_is_signed_as_published(vector: Vector) -> None:
    check(vector.request, vector.body)
    assert refused(lambda: check(vector.request, vector.body + b"!")) == (403, "SignatureDoesNotMatch")
    assert refused(lambda: check(vector.request, vector.body, secret="x" * 40)) == (
        403,
        "SignatureDoesNotMatch",
    )


def signed(  # botocore's clock is this machine's
    body: bytes = b"{}",
    *,
    method: str = "POST",
    url: str = "http://127.0.0.1:9999/",
    target: str = TARGET,
    presigned: int | None = None,
    session: str | None = None,
    secret: str = SECRET,
    more: Mapping[str, str] | None = None,
) -> Request:
    """A request as botocore signs and sends it."""
    headers = {} if presigned else {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.0"}
    sent = AWSRequest(method, url, headers=headers | dict(more or {}), data=body)
    credentials = Credentials(KEY, secret, session)
    if presigned:
        SigV4QueryAuth(credentials, "sqs", "eu-west-1", expires=presigned).add_auth(sent)
    else:
        SigV4Auth(credentials, "sqs", "eu-west-1").add_auth(sent)
    address = urlsplit(sent.url)
    named = [("Host", address.netloc), *((name, str(value)) for name, value in sent.headers.items())]
    return asked(method, address.path, query=address.query, headers=named)


def now() -> datetime:
    return datetime.now(UTC)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9999/",
        "http://127.0.0.1:9999/000000000000/emails.fifo",
        "http://localhost/000000000000/a%20b?Action=ListQueues&QueueNamePrefix=a%2Fb&Empty=",
    ],
)
def test_what_botocore_signs_is_signed(url: str) -> None:
    check(signed(b'{"QueueUrl": "x"}', url=url), b'{"QueueUrl": "x"}', now=now())


def test_a_session_token_changes_nothing() -> None:
    check(signed(session="abc"), b"{}", now=now())
    check(signed(b"", method="GET", presigned=60, session="abc"), now=now())


def test_a_presigned_address_is_good_until_it_expires() -> None:
    request = signed(b"", method="GET", url="http://localhost/1/emails?Action=ReceiveMessage", presigned=600)
    check(request, now=now())
    check(request, now=now() + timedelta(seconds=590))
    late = now() + timedelta(seconds=610)
    assert refused(lambda: check(request, now=late)) == (403, "SignatureDoesNotMatch")
    early = now() - timedelta(seconds=310)
    assert refused(lambda: check(request, now=early)) == (403, "SignatureDoesNotMatch")
    assert refused(lambda: check(request, b"Action=PurgeQueue", now=now())) == (403, "SignatureDoesNotMatch")


@pytest.mark.parametrize("minutes", [-6, 6])
def test_a_signature_is_good_for_five_minutes_around_its_time(minutes: int) -> None:
    check(signed(), b"{}", now=now() + timedelta(minutes=minutes - minutes // abs(minutes) * 2))
    far = now() + timedelta(minutes=minutes)
    assert refused(lambda: check(signed(), b"{}", now=far)) == (403, "SignatureDoesNotMatch")


def changed(request: Request, name: str, value: str | None) -> Request:
    """The same request with one header changed, added or left out after it was signed."""
    kept = [(key, old) for key, old in request.scope["headers"] if key != name.encode()]
    request.scope["headers"] = kept if value is None else [*kept, (name.encode(), value.encode())]
    return request


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("x-amz-target", "AmazonSQS.PurgeQueue", "SignatureDoesNotMatch"),
        ("x-amz-added", "afterwards", "IncompleteSignature"),
        ("host", "elsewhere", "SignatureDoesNotMatch"),
        ("content-type", "text/plain", "SignatureDoesNotMatch"),
        ("x-amz-date", "20150830T123600Z", "IncompleteSignature"),
        ("x-amz-date", "tomorrow", "IncompleteSignature"),
        ("x-amz-date", None, "IncompleteSignature"),
        ("authorization", "AWS4-HMAC-SHA256 Credential=a/b", "IncompleteSignature"),
        ("authorization", "AWS4-ECDSA-P256-SHA256 Credential=a", "IncompleteSignature"),
        ("authorization", "AWS4-HMAC-SHA256", "IncompleteSignature"),
    ],
)
def test_a_request_changed_after_it_was_signed_is_refused(name: str, value: str | None, code: str) -> None:
    assert refused(lambda: check(changed(signed(), name, value), b"{}", now=now()))[1] == code


@pytest.mark.parametrize(
    ("change", "into"),
    [
        ("SignedHeaders=content-type;host", "SignedHeaders=host;content-type"),
        ("SignedHeaders=content-type;host", "SignedHeaders=content-type"),
        ("SignedHeaders=content-type;host", "SignedHeaders=content-type;Host"),
        ("/aws4_request", "/aws5_request"),
        ("/sqs/", "/"),
        ("Signature=", "Signature=0, Signature="),
        (f"Credential={KEY}/", "Credential=/"),
    ],
)
def test_a_signature_that_is_not_all_there_is_refused(change: str, into: str) -> None:
    request = signed()
    said = request.header(b"authorization") or ""
    assert change in said
    assert refused(
        lambda: check(changed(request, "authorization", said.replace(change, into)), b"{}", now=now())
    ) == (
        400,
        "IncompleteSignature",
    )


@pytest.mark.parametrize(
    ("change", "into"),
    [
        ("X-Amz-Expires=60", "X-Amz-Expires=-60"),
        ("X-Amz-Expires=60", "X-Amz-Expires=9999999"),
        ("X-Amz-Expires=60", "X-Amz-Expires=60&X-Amz-Expires=600"),
        ("X-Amz-Expires=60", ""),
        ("X-Amz-Algorithm=AWS4-HMAC-SHA256", "X-Amz-Algorithm=AWS4"),
        ("X-Amz-Date=2", "X-Amz-Date=9"),
    ],
)
def test_a_presigned_address_that_is_not_all_there_is_refused(change: str, into: str) -> None:
    request = signed(b"", method="GET", presigned=60)
    query = request.scope["query_string"].decode()
    assert change in query
    request.scope["query_string"] = query.replace(change, into).encode()
    assert refused(lambda: check(request, now=now())) == (400, "IncompleteSignature")


def test_a_presigned_address_with_a_longer_time_than_was_signed_is_refused() -> None:
    request = signed(b"", method="GET", presigned=60)
    request.scope["query_string"] = request.scope["query_string"].replace(b"Expires=60", b"Expires=600")
    assert refused(lambda: check(request, now=now())) == (403, "SignatureDoesNotMatch")


def test_a_request_signed_in_two_places_is_refused() -> None:
    both = changed(signed(b"", method="GET", presigned=60), "authorization", "AWS4-HMAC-SHA256 Credential=a")
    assert refused(lambda: check(both, now=now())) == (400, "IncompleteSignature")


def test_a_body_that_is_said_to_be_unsigned_is_refused() -> None:
    request = signed(b"{}", more={"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"})
    assert refused(lambda: check(request, b"{}", now=now())) == (403, "SignatureDoesNotMatch")
    digest = hashlib.sha256(b"{}").hexdigest()
    check(signed(b"{}", more={"X-Amz-Content-SHA256": digest}), b"{}", now=now())


def test_a_signature_is_never_shown() -> None:
    found = read(signed())
    assert found is not None
    assert found.digest not in repr(found)


@pytest.fixture
def access(tmp_path: Path) -> Tokens:
    return Tokens(write_tokens(tmp_path / "tokens.toml", key_text("old", KEY, SECRET, push=["emails"])))


def test_whoever_signs_with_a_known_key_is_its_entry(access: Tokens) -> None:
    assert access.signer(signed(), b"{}").name == "old"
    assert access.signer(signed(b"", method="GET", presigned=60), b"").name == "old"


def test_whoever_signs_with_another_key_or_secret_is_refused(access: Tokens, tmp_path: Path) -> None:
    assert refused(lambda: access.signer(signed(secret="x" * 40), b"{}")) == (403, "SignatureDoesNotMatch")
    others = Tokens(write_tokens(tmp_path / "others.toml", key_text("new", "OTHER", SECRET)))
    assert refused(lambda: others.signer(signed(), b"{}")) == (403, "InvalidClientTokenId")


def test_an_expired_key_is_unknown(tmp_path: Path) -> None:
    entry = key_text("old", KEY, SECRET) + "expires = 2020-01-01T00:00:00Z"
    access = Tokens(write_tokens(tmp_path / "tokens.toml", entry))
    assert refused(lambda: access.signer(signed(), b"{}")) == (403, "InvalidClientTokenId")


def test_a_signature_is_no_bearer_token(access: Tokens) -> None:
    with pytest.raises(Refusal) as told:
        access.principal(signed())
    assert told.value.status == 401
