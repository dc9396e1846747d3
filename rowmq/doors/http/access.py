"""Who is asking: from what a request shows to a principal."""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from rowmq.doors.http import signature
from rowmq.doors.http.refusal import Refusal, unauthorized
from rowmq.doors.http.request import Request
from rowmq.doors.http.signature import Signature
from rowmq.doors.http.tokens import Key, Ring, digest_of, utc_now
from rowmq.doors.http.tokens_file import Watched
from rowmq.doors.right import ANYBODY, Principal

BURST, REFILL = 20, 0.5
"""How many failures an address has at once, and how many more each second."""
ADDRESSES = 10_000
"""How many addresses are remembered; the one that failed longest ago is forgotten first."""
IPV6_SITE = 64
"""How many bits of an IPv6 address are one caller's: he has all the others to choose from."""


class Access(Protocol):
    """Tells who sends a request."""

    @property
    def asks(self) -> bool:
        """Whether callers have to say who they are."""

    def principal(self, request: Request) -> Principal:
        """Who it is. Raises Refusal 401, which says nothing of what exactly was wrong."""

    def bearer(self, authorization: str | None, address: str) -> Principal:
        """Who shows this authorization, from this address, by whatever door. Raises as ``principal``."""

    def enter(self, request: Request, token: str) -> bytes:
        """What to remember somebody by who gives this token. Raises Refusal 401, or 429 after too many."""

    def holder(self, digest: bytes) -> Principal | None:
        """Who was remembered by this, as long as his token counts."""

    def expect(self, request: Request) -> None:
        """Refuse, before its body is read, what nobody known can have signed. Raises as ``signer`` does."""

    def signer(self, request: Request, body: bytes) -> Principal:
        """Who it is that signed it, in AWS's way. Raises Refusal with AWS's code."""


class Open:
    """No tokens are set up: everybody on this machine may do everything."""

    asks = False

    def principal(self, request: Request) -> Principal:  # noqa: ARG002 - whoever it is
        """Anybody."""
        return ANYBODY

    def bearer(self, authorization: str | None, address: str) -> Principal:  # noqa: ARG002 - whoever it is
        """Anybody."""
        return ANYBODY

    def enter(self, request: Request, token: str) -> bytes:  # noqa: ARG002 - whatever he says
        """Nothing: everybody is in already."""
        return b""

    def holder(self, digest: bytes) -> Principal | None:  # noqa: ARG002 - whoever it was
        """Anybody."""
        return ANYBODY

    def expect(self, request: Request) -> None:
        """Anybody."""

    def signer(self, request: Request, body: bytes) -> Principal:  # noqa: ARG002 - signed or not
        """Anybody."""
        return ANYBODY


class Tokens:
    """Those whom a tokens file knows, by a bearer token or by the signature of an AWS key.

    Raises InvalidSetting if the file cannot be used. Failures are limited for each address; whoever shows
    what is right gets in all the same, or anybody could keep out those who share an address with him.
    """

    asks = True

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._file = Watched(path, clock=clock)
        self._now, self._failures = now, Failures(clock)

    @property
    def secret(self) -> str:
        """What receipts are sealed with."""
        return self._file.ring.secret

    def principal(self, request: Request) -> Principal:
        """Who has the token that the request bears."""
        return self.bearer(request.header(b"authorization"), address_of(request))

    def bearer(self, authorization: str | None, address: str) -> Principal:
        """Who has the token that is shown."""
        found = self._holder(authorization, self._file.ring)
        if found is None:
            raise self._failures.count(address) or unauthorized()
        return found

    def enter(self, request: Request, token: str) -> bytes:
        """The digest of a token that counts."""
        digest = digest_of(token)
        if self.holder(digest) is None:
            raise self._failures.count(address_of(request)) or unauthorized("this token is not one we know")
        return digest

    def holder(self, digest: bytes) -> Principal | None:
        """Who has the token of this digest, unless it was revoked or has expired."""
        return self._file.ring.holder(digest, self._now())

    def expect(self, request: Request) -> None:
        """Refuse, unless the request names a key that we know, or bears a token."""
        with self._counted(request):
            self._named(request)

    def signer(self, request: Request, body: bytes) -> Principal:
        """Who has the key that the request is signed with, or the token that it bears."""
        with self._counted(request):
            found = self._named(request)
            if isinstance(found, Principal):
                return found
            signed, key = found
            signed.check(request, body, secret=key.secret, now=self._now())
            return key.principal

    def _named(self, request: Request) -> Principal | tuple[Signature, Key]:
        """Who bears a token; or who is said to have signed, and how."""
        ring, signed = self._file.ring, signature.read(request)
        if signed is None:
            return self._holder(request.header(b"authorization"), ring) or _missing(request)
        key = ring.key(signed.key, self._now())
        if key is None:
            raise _unknown()
        return signed, key

    @contextmanager
    def _counted(self, request: Request) -> Iterator[None]:
        try:
            yield
        except Refusal as refusal:
            raise self._failures.count(address_of(request)) or refusal from None

    def _holder(self, authorization: str | None, ring: Ring) -> Principal | None:
        token = token_of(authorization)
        return None if token is None else ring.bearer(token, self._now())


class Failures:
    """Counts who failed to say who he is, by address; remembers a bounded number of them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._left)

    def count(self, address: str) -> Refusal | None:
        """Count a failure; what to say instead, if there were too many."""
        site, now = site_of(address), self._clock()
        left, at = self._left.pop(site, (float(BURST), now))
        left = min(BURST, left + (now - at) * REFILL)
        self._left[site] = (max(left - 1, 0), now)
        if len(self._left) > ADDRESSES:
            self._left.popitem(last=False)
        return None if left >= 1 else _too_many()


def bearer_of(request: Request) -> str | None:
    """The token in the Authorization header, the only place where one is looked for."""
    return token_of(request.header(b"authorization"))


def token_of(authorization: str | None) -> str | None:
    """The token that an authorization bears."""
    scheme, _, token = (authorization or "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def address_of(request: Request) -> str:
    """The address that a request came from."""
    return str((request.scope.get("client") or ("",))[0])


def site_of(host: str) -> str:
    """An address, as far as it is one caller's."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.version == 4 or address.ipv4_mapped:  # noqa: PLR2004 - the protocol's version
        return host
    return str(ipaddress.ip_network((host, IPV6_SITE), strict=False))


def _missing(request: Request) -> Principal:
    if request.header(b"authorization") is None:
        raise Refusal(403, "the request is not signed", code="MissingAuthenticationToken")
    raise _unknown()


def _unknown() -> Refusal:
    return Refusal(403, "the key or token of this request is not one we know", code="InvalidClientTokenId")


def _too_many() -> Refusal:
    wait = max(1, round(1 / REFILL))
    return Refusal(
        429, "too many failures from this address", {"retry-after": str(wait)}, code="RequestThrottled"
    )
