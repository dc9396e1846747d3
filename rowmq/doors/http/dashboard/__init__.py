"""The dashboard: what people who look after queues see, at / and /ui."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import wraps

from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Broker, Call
from rowmq.doors.http.dashboard import (
    archives,
    assets,
    consumers,
    door,
    health,
    listing,
    live,
    message,
    message_actions,
    overview,
    queue,
    queue_actions,
    reports,
    schedules,
    topics,
)
from rowmq.doors.http.dashboard.board import BOARD, TOLD, Board
from rowmq.doors.http.dashboard.form import Form
from rowmq.doors.http.dashboard.frame import sorry
from rowmq.doors.http.dashboard.links import ROOT, name_of
from rowmq.doors.http.dashboard.reading import now_of
from rowmq.doors.http.dashboard.session import CSRF, check_csrf
from rowmq.doors.http.problem import refuse
from rowmq.doors.http.request import Request
from rowmq.doors.http.route import Family, Route
from rowmq.doors.http.settings import Settings
from rowmq.doors.right import Principal

PAGES = (
    *(assets, door, overview, live, queue, queue_actions, listing, message, message_actions),
    *(consumers, topics, schedules, archives, reports, health),
)
"""The modules that have pages: each has its ROUTES."""
Endpoint = Callable[[Call], Awaitable[Answer]]


def family(settings: Settings) -> Family:
    """The routes of the dashboard."""
    board = Board.of(settings)
    routes = [_dressed(board, route) for module in PAGES for route in module.ROUTES]
    return Family("dashboard", routes, refuse, f"{ROOT}/", refuse_in_kind=sorry, front=ROOT, name_of=name_of)


def _dressed(board: Board, route: Route) -> Route:
    """A route that knows visitors by their sessions, and whose forms are looked at before they count."""
    tell = board.sessions.stranger if route.open else board.sessions.known

    def known(broker: Broker, request: Request) -> Principal:
        request.scope[BOARD] = board
        return tell(broker, request)

    if route.method != "POST":
        return replace(route, known=known, endpoint=_aside(route, route.endpoint))
    return replace(route, known=known, body=bytes, endpoint=_aside(route, _checked(route.endpoint)))


def _aside(route: Route, endpoint: Endpoint) -> Endpoint:
    """An endpoint in nobody's way, whose page goes by the store's clock and not by this machine's."""
    asks = not (route.open or route.lasts)

    @wraps(endpoint)
    async def aside(call: Call) -> Answer:
        call.aside = True
        if asks:
            call.request.scope[TOLD] = await now_of(call)
        return await endpoint(call)

    return aside


def _checked(endpoint: Endpoint) -> Endpoint:
    @wraps(endpoint)
    async def checked(call: Call) -> Answer:
        call.body = Form.read(call.body)
        check_csrf(call.request, call.body.get(CSRF))
        return await endpoint(call)

    return checked
