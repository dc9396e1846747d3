"""What all pages of the dashboard have in common: how they are rendered, and what goes with them.

To write a page, make a module here with ``ROUTES``, a tuple of :class:`~rowmq.doors.http.route.Route`, and
name it in ``PAGES`` of this package's ``__init__``. An endpoint reads the store with ``call.run`` and answers
with :func:`page`; the templates are in ``pages/`` and extend ``base.html``::

    async def consumers(call: Call) -> Answer:
        found = await call.run(lambda: call.broker.store.consumers.list(now=call.now))
        return page(call, "consumers.html", found=[...only those the caller may read...])

    ROUTES = (Route("GET", "/ui/consumers", consumers, Right.READ, late=True),)

Rights are the route's, as in the API: ``over="queue"`` with ``Right.READ`` or ``Right.MANAGE`` asks for the
right on the queue that the path names, ``late=True`` leaves it to the endpoint (``call.demand``). Names in
paths are made by ``link("queues", name)`` and nothing else. A POST's ``call.body`` is a
:class:`~rowmq.doors.http.dashboard.form.Form` whose CSRF field was checked already; it ends with
:func:`redirect` and a notice that says what it did, or with :func:`page` and ``status=422`` and the form,
whose ``wrong`` has the sentences that stand beside the fields.

Every template knows: ``who`` (the principal), ``may(right, name)``, ``may_everywhere(right)``,
``link(...)``, ``ago(moment)``, ``now``, the filters of ``words.py``, and the macros of ``parts.html``
(``{% import "parts.html" as parts with context %}``): ``parts.name(text)``, ``parts.time(moment)``,
``parts.ask(label, action, ...)`` (a button that opens its confirmation), ``parts.field(form, name, label)``.
Pass ``live=link("live", queue=name)`` and elements with the ids ``{{ name | key }}-ready`` (``scheduled``,
``leased``, ``dead``, ``oldest``, ...; ``live.py`` lists them) are kept current.
"""

from datetime import datetime, timedelta
from functools import cache
from importlib.metadata import version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from rowmq.core.errors import RowMQError
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard import words
from rowmq.doors.http.dashboard.assets import address
from rowmq.doors.http.dashboard.board import told
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.session import NOTICE, Visit, notice_cookie, notice_of, visit_of
from rowmq.doors.http.guard import ELSEWHERE
from rowmq.doors.http.problem import problem
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.request import Request
from rowmq.doors.http.tokens import utc_now
from rowmq.doors.right import Principal, Right

HTML = "text/html; charset=utf-8"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    # Not no-referrer: with that, browsers send no Origin with our own forms, and those are refused.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
NAVIGATION = (
    ("overview", link(), "Queues", False),
    ("consumers", link("consumers"), "Consumers", False),
    ("topics", link("topics"), "Topics", False),
    ("schedules", link("schedules"), "Schedules", False),
    ("archives", link("archives"), "Archives", True),
    ("health", link("health"), "Health", True),
)
"""Pages, their addresses and names, and whether they are for who may read everything."""
NOBODY = Principal("nobody", {})
SEE_OTHER, UNAUTHORIZED = 303, 401


def page(call: Call, template: str, *, status: int = 200, **values: Any) -> Answer:
    """A page; a notice that an action has left is on it, and then gone."""
    return rendered(call.request, template, status=status, now=call.now, **values)


def rendered(
    request: Request, template: str, *, status: int = 200, now: datetime | None = None, **values: Any
) -> Answer:
    """A page for a request that may have come to no call, because it was refused."""
    visit, notice = visit_of(request), notice_of(request)
    known = _context(visit, now or told(request) or utc_now())
    context = {**known, "notice": notice, "status": status, **values}
    text = environment().get_template(template).render(context)
    return Answer(status, text.encode(errors="replace"), HTML, _headers(visit, shown=notice is not None))


def redirect(call: Call, to: str, notice: str = "") -> Answer:
    """Go on to a page, after a POST; the notice stands there once."""
    visit = visit_of(call.request)
    said = {"set-cookie": notice_cookie(visit, notice)} if notice and visit is not None else {}
    return Answer(SEE_OTHER, b"", HTML, {**HEADERS, "location": to, **said})


def sorry(request: Request, error: Exception) -> Answer:
    """No, as a page; who has to say first who he is comes to the login."""
    if isinstance(error, Refusal):
        status, sentence, headers = error.status, error.sentence, error.headers
    else:
        shape = problem(error if isinstance(error, RowMQError) else RowMQError())
        status, sentence, headers = shape.status, shape.detail, {}
    if status == UNAUTHORIZED and "text/html" in (request.header(b"accept") or ""):
        return _to_login(request)
    answer = rendered(request, "sorry.html", status=status, sentence=sentence)
    return Answer(status, answer.body, answer.type, {**answer.headers, **headers})


def _to_login(request: Request) -> Answer:
    """The way to the login; who comes by a link from elsewhere is asked to come again first.

    Browsers keep a session to themselves on such a visit, and show it on the next, which comes from here.
    """
    if request.header(b"sec-fetch-site") in ELSEWHERE:
        return rendered(request, "again.html", to=_asked(request))
    return Answer(SEE_OTHER, b"", HTML, {**HEADERS, "location": link("login", next=_asked(request))})


@cache
def environment() -> Environment:
    """The templates: all text is escaped, and a value that is missing is a mistake."""
    made = Environment(
        loader=PackageLoader("rowmq.doors.http.dashboard", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(words.FILTERS)
    made.globals.update(
        link=link,
        asset=address,
        navigation=NAVIGATION,
        version=version("rowmq"),
        live=None,
        timedelta=timedelta,
    )
    return made


def _context(visit: Visit | None, now: datetime) -> dict[str, Any]:
    """What every template knows."""
    who = NOBODY if visit is None else visit.principal
    return {
        "who": who,
        "csrf_value": "" if visit is None else visit.csrf,
        "leaves": visit is not None and visit.leaves,
        "enters": visit is not None and visit.enters,
        "now": now,
        "ago": lambda moment: words.ago(moment, now),
        "may": lambda right, name: who.may(Right(right), name),
        "may_everywhere": lambda right: who.may_everywhere(Right(right)),
    }


def _headers(visit: Visit | None, *, shown: bool) -> dict[str, str]:
    if not shown or visit is None:
        return HEADERS
    return {**HEADERS, "set-cookie": visit.cookie(NOTICE, "", timedelta(0))}


def _asked(request: Request) -> str:
    """Where a visitor wanted to go; what he wanted to do he has to do again."""
    query = request.scope["query_string"].decode("latin-1")
    return f"{request.path}?{query}" if query else request.path
