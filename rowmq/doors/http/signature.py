"""AWS's signatures, version 4: read from a request, and checked over the bytes that came."""

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from urllib.parse import quote, unquote_to_bytes

from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.request import Request

ALGORITHM = "AWS4-HMAC-SHA256"
TERMINATOR = "aws4_request"
SKEW = timedelta(minutes=5)
LONGEST = timedelta(days=7)
"""How far the clocks may differ, and how long a presigned address may be good for."""
SCOPE_PARTS = 5
FIELDS = ["Credential", "Signature", "SignedHeaders"]
_FIELD = re.compile(r"(Credential|SignedHeaders|Signature)=([^,\s]+)")
_STAMP = re.compile(r"\d{8}T\d{6}Z")
_SPACES = re.compile(r" +")
Query = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Signature:
    """What a request says of its signature. ``lasts`` is None unless it is a presigned address."""

    key: str
    scope: str
    headers: tuple[str, ...]
    digest: str = field(repr=False)
    stamp: str
    lasts: timedelta | None = None

    def check(self, request: Request, body: bytes, *, secret: str, now: datetime) -> None:
        """Raises Refusal, unless whoever has the secret signed this very request, and not too long ago."""
        self._check_headers(request)
        self._check_time(now)
        # Always what came, whatever x-amz-content-sha256 says: UNSIGNED-PAYLOAD is no signature of it.
        expected = self._expected(request, hashlib.sha256(body).hexdigest(), secret)
        if not hmac.compare_digest(expected.encode(), self.digest.encode()):
            raise mismatch("the signature is not the one that this request and the key's secret give")

    def _check_headers(self, request: Request) -> None:
        sent = {name.decode("latin-1") for name, _ in request.scope["headers"]}
        needed = {"host"} | {name for name in sent if name.startswith("x-amz-")}
        if not needed <= set(self.headers):
            raise incomplete("host and all x-amz- headers have to be among the signed headers")

    def _check_time(self, now: datetime) -> None:
        signed = datetime.fromisoformat(self.stamp)
        until = signed + (SKEW if self.lasts is None else self.lasts)
        if not signed - SKEW <= now <= until:
            raise mismatch(f"the signature is of {self.stamp}, which is too far from {now:%Y%m%dT%H%M%SZ}")

    def _expected(self, request: Request, digest: str, secret: str) -> str:
        hashed = hashlib.sha256(self.canonical(request, digest)).hexdigest()
        text = f"{ALGORITHM}\n{self.stamp}\n{self.scope}\n{hashed}"
        return hmac.digest(_signing_key(secret, self.scope), text.encode(), "sha256").hex()

    def canonical(self, request: Request, digest: str) -> bytes:
        """The request in the one form that both sides sign."""
        lines = [request.method, _path(request.path), _query(raw_query(request), presigned=self.lasts)]
        said = _headers(request)
        lines += [f"{name}:{','.join(said.get(name, ()))}" for name in self.headers]
        return "\n".join((*lines, "", ";".join(self.headers), digest)).encode("latin-1", "replace")


def read(request: Request) -> Signature | None:
    """The signature that a request carries, in its header or its address; None if it carries none.

    Raises Refusal if it is only half there, or there twice.
    """
    header = request.header(b"authorization")
    in_query = [(name, value) for name, value in raw_query(request) if name.startswith("X-Amz-")]
    presigned = any(name == "X-Amz-Signature" for name, _ in in_query)
    if header is not None and header.startswith("AWS"):
        if presigned:
            raise incomplete("the request is signed twice, in its header and in its address")
        return _from_header(header, request)
    return _from_query(in_query) if presigned else None


def incomplete(sentence: str) -> Refusal:
    """The signature is not all there."""
    return Refusal(400, sentence, code="IncompleteSignature")


def mismatch(sentence: str) -> Refusal:
    """The signature is not the right one."""
    return Refusal(403, sentence, code="SignatureDoesNotMatch")


def raw_query(request: Request) -> Query:
    """The query's fields as they came, decoded; a plus is a plus."""
    text: bytes = request.scope["query_string"]
    pairs = (part.partition(b"=") for part in text.split(b"&") if part)
    return [(_decoded(name), _decoded(value)) for name, _, value in pairs]


def _from_header(header: str, request: Request) -> Signature:
    algorithm, _, rest = header.partition(" ")
    found = _FIELD.findall(rest)
    said = dict(found)
    if algorithm != ALGORITHM or sorted(name for name, _ in found) != FIELDS:
        raise incomplete(f"Authorization is: {ALGORITHM} Credential=..., SignedHeaders=..., Signature=...")
    stamp = request.header(b"x-amz-date") or ""
    return _made(said["Credential"], said["SignedHeaders"], said["Signature"], stamp)


def _from_query(pairs: Query) -> Signature:
    said = {name.removeprefix("X-Amz-"): value for name, value in pairs}
    needed = ("Credential", "SignedHeaders", "Signature", "Date", "Expires")
    if len(said) != len(pairs) or said.get("Algorithm") != ALGORITHM or not all(map(said.get, needed)):
        raise incomplete(
            f"a presigned address has, once each: X-Amz-Algorithm={ALGORITHM}, {_listed(needed)}"
        )
    lasts = said["Expires"]
    if not (lasts.isascii() and lasts.isdigit() and len(lasts) <= len("604800")):
        raise incomplete("X-Amz-Expires is a number of seconds, of at most a week")
    span = min(timedelta(seconds=int(lasts)), LONGEST)
    return _made(said["Credential"], said["SignedHeaders"], said["Signature"], said["Date"], span)


def _made(
    credential: str, headers: str, digest: str, stamp: str, lasts: timedelta | None = None
) -> Signature:
    key, _, scope = credential.partition("/")
    parts = scope.split("/")
    if len(parts) != SCOPE_PARTS - 1 or parts[-1] != TERMINATOR or not key:
        raise incomplete(f"a credential is KEY/DATE/REGION/SERVICE/{TERMINATOR}")
    if not _STAMP.fullmatch(stamp) or not stamp.startswith(parts[0] + "T") or not _is_time(stamp):
        raise incomplete("X-Amz-Date is such as 20260501T090000Z, of the credential's day")
    names = tuple(headers.split(";"))
    if list(names) != sorted(set(names)) or headers != headers.lower():
        raise incomplete("SignedHeaders are in lower case, in order, each once")
    return Signature(key, scope, names, digest, stamp, lasts)


def _is_time(stamp: str) -> bool:
    try:
        datetime.fromisoformat(stamp)
    except ValueError:
        return False
    return True


def _path(path: str) -> str:
    """The path without dots and empty segments, encoded once more, as every service but S3 has it."""
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment not in {"", "."}:
            kept.append(segment)
    ends = "/" if kept and segments[-1] in {"", ".", ".."} else ""
    return quote(f"/{'/'.join(kept)}{ends}".encode("latin-1", "replace"), safe="/-_.~")


def _query(pairs: Query, *, presigned: timedelta | None) -> str:
    encoded = sorted(
        (_encoded(name), _encoded(value))
        for name, value in pairs
        if presigned is None or name != "X-Amz-Signature"
    )
    return "&".join(f"{name}={value}" for name, value in encoded)


def _headers(request: Request) -> dict[str, list[str]]:
    """Every header's values, without needless blanks."""
    said: dict[str, list[str]] = {}
    for name, value in request.scope["headers"]:
        said.setdefault(name.decode("latin-1"), []).append(_SPACES.sub(" ", value.decode("latin-1").strip()))
    return said


@lru_cache(maxsize=256)
def _signing_key(secret: str, scope: str) -> bytes:
    """The key of a day, region and service, which thousands of requests are signed with."""
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _decoded(text: bytes) -> str:
    return unquote_to_bytes(text).decode("latin-1")


def _encoded(text: str) -> str:
    return quote(text.encode("latin-1"), safe="-_.~")


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"X-Amz-{name}" for name in names)
