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
from rowmq.doors.http.dashboard.board import BOARD, Board
from rowmq.doors.http.dashboard.form import Form
from rowmq.doors.http.dashboard.frame import sorry
from rowmq.doors.http.dashboard.links import ROOT, name_of
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
        return replace(route, known=known)
    return replace(route, known=known, body=bytes, endpoint=_checked(route.endpoint))


def _checked(endpoint: Callable[[Call], Awaitable[Answer]]) -> Callable[[Call], Awaitable[Answer]]:
    @wraps(endpoint)
    async def checked(call: Call) -> Answer:
        call.body = Form.read(call.body)
        check_csrf(call.request, call.body.get(CSRF))
        return await endpoint(call)

    return checked
