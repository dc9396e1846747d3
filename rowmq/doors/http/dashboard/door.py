"""Coming in and leaving: a token makes a session, and a session ends."""

from datetime import timedelta

import msgspec

from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard.board import board_of
from rowmq.doors.http.dashboard.form import Form
from rowmq.doors.http.dashboard.frame import page, redirect
from rowmq.doors.http.dashboard.links import ROOT, link
from rowmq.doors.http.dashboard.session import COOKIE, LASTS, visit_of
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right

FORM_BYTES = 64 * 2**10
"""More than a token and a page's address."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Where to go after the login, and whether somebody has just left."""

    next: str = ""
    left: bool = False


async def login(call: Call) -> Answer:
    """Ask for a token; who needs none goes on at once."""
    asked: Asked = call.query
    if not board_of(call.request).sessions.asks:
        return redirect(call, inside(asked.next))
    return page(call, "login.html", form=Form(), next=inside(asked.next), left=asked.left)


async def enter(call: Call) -> Answer:
    """Begin a session, if the token is one we know."""
    form: Form = call.body
    sessions, to = board_of(call.request).sessions, inside(form.get("next"))
    try:
        session = sessions.begin(call.request, form.get("token").strip())
    except Refusal as refusal:
        form.wrong["token"] = refusal.sentence
        answer = page(
            call, "login.html", status=refusal.status, form=Form.saying(form.wrong), next=to, left=False
        )
        return Answer(answer.status, answer.body, answer.type, {**answer.headers, **refusal.headers})
    return _with_session(call, to, session, LASTS)


async def leave(call: Call) -> Answer:
    """End the session."""
    return _with_session(call, link("login", left="true"), "", timedelta(0))


def inside(to: str) -> str:
    """The page to go to, if it is one of ours; the front page if not.

    >>> inside("/ui/health?a=b"), inside("//elsewhere.example"), inside("/ui/..//x"), inside("/uix")
    ('/ui/health?a=b', '/ui', '/ui', '/ui')
    """
    path = to.partition("?")[0]
    ours = path == ROOT or path.startswith(f"{ROOT}/")
    plain = to.isascii() and to.isprintable() and "\\" not in to
    return to if ours and plain and not {"", ".", ".."} & set(path.split("/")[1:]) else ROOT


def _with_session(call: Call, to: str, session: str, lasts: timedelta) -> Answer:
    answer, visit = redirect(call, to), visit_of(call.request)
    said = {} if visit is None else {"set-cookie": visit.cookie(COOKIE, session, lasts)}
    return Answer(answer.status, answer.body, answer.type, {**answer.headers, **said})


ROUTES = (
    Route("GET", "/ui/login", login, None, open=True, query=Asked),
    Route("POST", "/ui/login", enter, None, open=True, limit=FORM_BYTES),
    Route("POST", "/ui/logout", leave, Right.READ, late=True, limit=FORM_BYTES),
)
