"""Who looks at the dashboard: by a session that began with a token, and forms that only our pages can send.

A session is a cookie that is read here and nowhere else, so no page of elsewhere can use it on the API.
"""

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from rowmq.doors.http.access import Access, bearer_of
from rowmq.doors.http.call import Broker
from rowmq.doors.http.dashboard.sealing import Sealing
from rowmq.doors.http.refusal import forbidden, unauthorized
from rowmq.doors.http.request import Request
from rowmq.doors.http.tokens import digest_of, utc_now
from rowmq.doors.right import Principal

COOKIE, NOTICE = "rowmq_session", "rowmq_notice"
LASTS = timedelta(hours=12)
NONCE, MOMENT = 16, 8
LONGEST_NOTICE = 700
VISIT = "rowmq.visit"
CSRF = "csrf"


@dataclass(frozen=True, slots=True)
class Visit:
    """Somebody at a page: who, what his forms carry, and how his cookies are set."""

    principal: Principal
    csrf: str
    sealing: Sealing
    secure: bool
    leaves: bool = False
    """Whether there is a session to end."""
    enters: bool = True
    """Whether he has come in, and is not at the door."""

    def cookie(self, name: str, value: str, lasts: timedelta) -> str:
        """The header that sets a cookie; one that lasts no time is taken back."""
        said = f"{name}={value}; Path=/; Max-Age={lasts.total_seconds():.0f}; HttpOnly; SameSite=Strict"
        return f"{said}; Secure" if self.secure else said


class Sessions:
    """Begins sessions and knows them again, on every server that has the key."""

    def __init__(
        self, access: Access, key: bytes, *, secure: bool = False, now: Callable[[], datetime] = utc_now
    ) -> None:
        self._access, self._sealing, self._secure, self._now = access, Sealing(key), secure, now

    @property
    def asks(self) -> bool:
        """Whether visitors have to log in."""
        return self._access.asks

    def known(self, broker: Broker, request: Request) -> Principal:  # noqa: ARG002 - as routes ask for it
        """Who it is, by his session or by the token that the request bears. Raises Refusal 401."""
        token, session = bearer_of(request), cookie_of(request, COOKIE)
        if not self._access.asks:
            return self._visit(request, self._access.principal(request), b"open")
        if token is not None:
            return self._visit(request, self._access.principal(request), digest_of(token))
        digest = None if session is None else self._opened(session)
        found = None if digest is None else self._access.holder(digest)
        if found is None or session is None:
            raise unauthorized("log in with a token")
        return self._visit(request, found, session.encode(), leaves=True)

    def stranger(self, broker: Broker, request: Request) -> Principal:  # noqa: ARG002 - as routes ask for it
        """Nobody yet: somebody at the door, who may do nothing."""
        return self._visit(request, Principal("nobody", {}), b"door", enters=False)

    def begin(self, request: Request, token: str) -> str:
        """The session of who has this token. Raises Refusal 401, or 429 if there were too many failures."""
        digest = self._access.enter(request, token)
        until = int((self._now() + LASTS).timestamp()).to_bytes(MOMENT)
        return self._sealing.seal("session", secrets.token_bytes(NONCE) + until + digest)

    def _opened(self, session: str) -> bytes | None:
        """The digest of the token that the session began with, while the session lasts."""
        said = self._sealing.open("session", session)
        if said is None:
            return None
        until = int.from_bytes(said[NONCE : NONCE + MOMENT])
        return said[NONCE + MOMENT :] if self._now().timestamp() < until else None

    def _visit(
        self,
        request: Request,
        who: Principal,
        identity: bytes,
        *,
        leaves: bool = False,
        enters: bool = True,
    ) -> Principal:
        csrf = urlsafe_b64encode(self._sealing.tag(CSRF, identity)).decode()
        request.scope[VISIT] = Visit(who, csrf, self._sealing, self._secure, leaves, enters)
        return who


def visit_of(request: Request) -> Visit | None:
    """The visit that a request belongs to, once it is known."""
    found: Visit | None = request.scope.get(VISIT)
    return found


def check_csrf(request: Request, said: str) -> None:
    """Refuse a form that is not from a page that we made for this very visitor."""
    visit = visit_of(request)
    if visit is None or not secrets.compare_digest(said.encode(), visit.csrf.encode()):
        raise forbidden(
            "this form is not one of ours, or from before you logged in or the server was started;"
            " load the page again, and repeat it"
        )


def notice_of(request: Request) -> str | None:
    """What the last action did, if this page is the first to say it."""
    visit, text = visit_of(request), cookie_of(request, NOTICE)
    said = None if visit is None or text is None else visit.sealing.open("notice", text)
    return None if said is None else said.decode(errors="replace")


def notice_cookie(visit: Visit, notice: str) -> str:
    """The header that has the next page say what was done."""
    cut = notice if len(notice) <= LONGEST_NOTICE else f"{notice[:LONGEST_NOTICE]}…"
    sealed = visit.sealing.seal("notice", cut.encode())
    return visit.cookie(NOTICE, sealed, timedelta(minutes=1))


def cookie_of(request: Request, name: str) -> str | None:
    """The value of a cookie; two of a name are none, as only one of them can be ours."""
    found = [
        value.strip()
        for key, header in request.scope["headers"]
        if key == b"cookie"
        for each in header.decode("latin-1").split(";")
        for said, equals, value in [each.partition("=")]
        if equals and said.strip() == name
    ]
    return found[0] if len(found) == 1 else None
