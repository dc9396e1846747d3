"""The ASGI application: from a request to its answer, the same way for every family of routes."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from datetime import datetime
from functools import cache, partial
from typing import Any
from uuid import uuid4

import msgspec

from rowmq.core.errors import RowMQError
from rowmq.doors.http.answer import Answer, text
from rowmq.doors.http.call import Broker, Call
from rowmq.doors.http.guard import Guard
from rowmq.doors.http.refusal import Refusal, bad_request, forbidden
from rowmq.doors.http.request import Receive, Request, Scope
from rowmq.doors.http.route import Family, Route, Router
from rowmq.doors.right import ANYBODY, Principal
from rowmq.runtime.log import event, logger

Send = Callable[[dict[str, Any]], Awaitable[None]]
Observe = Callable[[str, str, int, int, float], None]
"""Told of each request that was answered: its method, the path as its route has it, because names are the
caller's, the status, and the bytes and seconds of the answer."""
NOW = b"rowmq-now"


class App:
    """The server's application. ``clients_clock`` lets requests say what time it is, for tests alone."""

    def __init__(
        self,
        broker: Broker,
        families: Iterable[Family],
        *,
        guard: Guard | None = None,
        request_timeout: float | None = 30.0,
        clients_clock: bool = False,
        observe: Observe | None = None,
    ) -> None:
        self.broker = broker
        self.router = Router(families)
        self._front = self.router.front
        self._guard = guard or Guard()
        self._timeout, self._clients_clock = request_timeout, clients_clock
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; what else a server offers is declined."""
        if scope["type"] != "http":
            return
        request, started = Request(scope, receive), time.perf_counter()
        route, answer = await self._answered(request)
        size = await _send(send, answer, bodiless=request.method == "HEAD")
        if self._observe is not None:
            seconds = time.perf_counter() - started
            self._observe(request.method, _shape(route), answer.status, size, seconds)

    async def _answered(self, request: Request) -> tuple[Route | None, Answer]:
        """The answer, whatever happens; in the language of the route if one was found."""
        family, route = None, None
        try:
            self._guard.check(request)
            family, route, path = self.router.find(request.method, self._parts(request))
            return route, await self._within_time(route, request, path)
        except (Refusal, RowMQError) as error:
            return route, self._refusing(family, request)(error)
        except asyncio.CancelledError:  # only ever by a server whose time to stop is over
            return route, self._refusing(family, request)(
                Refusal(503, "the server has stopped; look whether this was done before repeating it")
            )
        except Exception as error:  # noqa: BLE001 - a caller gets an answer, and never our traceback
            incident = uuid4().hex
            event(logger, logging.ERROR, "http.failed", exc_info=error, incident=incident, path=_shape(route))
            return route, self._refusing(family, request)(Refusal(500, f"our mistake, noted as {incident}"))

    def _parts(self, request: Request) -> list[str]:
        """The path, part by part; a browser that asks for the root is shown the front page."""
        return self._front if self._front is not None and _is_visit(request) else request.parts

    def _refusing(self, family: Family | None, request: Request) -> Callable[[Exception], Answer]:
        """How to say no: as the route's family does, or whoever the path belongs to, or in plain text."""
        found = family or self.router.family_at(request.path)
        return partial(found.refusal, request) if found else _refuse

    async def _within_time(self, route: Route, request: Request, path: dict[str, str]) -> Answer:
        try:
            async with asyncio.timeout(None if route.lasts else self._timeout):
                return await self._called(route, request, path)
        except TimeoutError:
            raise Refusal(408, f"this took longer than {self._timeout:g} seconds") from None

    async def _called(self, route: Route, request: Request, path: dict[str, str]) -> Answer:
        principal = await self._principal(route, request)
        _authorise(route, principal, path)
        body = await self._body(route, request)
        query = _query(route, request)
        call = Call(self.broker, request, principal, path, query, body, self._now(request))
        return await route.endpoint(call)

    async def _principal(self, route: Route, request: Request) -> Principal:
        if route.known is not None:
            return route.known(self.broker, request)
        if route.open:
            return ANYBODY
        if route.signed:
            self.broker.access.expect(request)  # a stranger's body is not worth the memory
            return self.broker.access.signer(request, await request.body(route.limit))
        return self.broker.access.principal(request)

    async def _body(self, route: Route, request: Request) -> Any:
        if route.body is None:
            return None
        whole = await request.body(route.limit)
        if route.body is bytes:
            return whole
        try:
            return _decoder(route.body).decode(whole or b"{}")
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise bad_request(f"the body is not what it should be: {error}") from None

    def _now(self, request: Request) -> datetime | None:
        said = request.header(NOW) if self._clients_clock else None
        return None if said is None else datetime.fromisoformat(said)


def _is_visit(request: Request) -> bool:
    """Whether a browser asks for the root itself; programs say there what they want, in a query or a body."""
    return (
        request.path == "/"
        and request.method in {"GET", "HEAD"}
        and not request.scope["query_string"]
        and "text/html" in (request.header(b"accept") or "")
    )


def _authorise(route: Route, principal: Principal, path: dict[str, str]) -> None:
    """Deny, unless the route is open, asks later itself, or the principal has its right."""
    if route.open or route.late:
        return
    if route.right is None:
        raise forbidden()
    over = None if route.over is None else path[route.over]
    allowed = principal.may_everywhere(route.right) if over is None else principal.may(route.right, over)
    if not allowed:
        raise forbidden()


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """What reads a body; made once for each kind."""
    return msgspec.json.Decoder(kind)


def _query(route: Route, request: Request) -> Any:
    """The query as the route's type: a field that the type has as a list may come more than once."""
    if route.query is None:
        return None
    said: dict[str, Any] = {}
    lists = _lists(route.query)
    for name, value in request.query:
        if name in lists:
            said.setdefault(name, []).append(value)
        elif name in said:
            raise bad_request(f"the query says {name!r} twice")
        else:
            said[name] = value
    try:
        return msgspec.convert(said, route.query, strict=False)
    except msgspec.ValidationError as error:
        raise bad_request(f"the query is not what it should be: {error}") from None


@cache
def _lists(kind: Any) -> frozenset[str]:
    """The fields that may come more than once."""
    fields = msgspec.structs.fields(kind)
    return frozenset(each.encode_name for each in fields if "list" in str(each.type))


def _shape(route: Route | None) -> str:
    return "-" if route is None else route.path


def _refuse(error: Exception) -> Answer:
    """No, in plain text, where no route was found."""
    if isinstance(error, Refusal):
        return text(error.status, error.sentence, error.headers)
    return text(500, "our mistake")


async def _send(send: Send, answer: Answer, *, bodiless: bool) -> int:
    headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in answer.headers.items()]
    if answer.body or answer.type:
        headers.append((b"content-type", answer.type.encode()))
    if isinstance(answer.body, AsyncIterator):
        return await _stream(send, answer.status, headers, answer.body, bodiless=bodiless)
    headers.append((b"content-length", b"%d" % len(answer.body)))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if bodiless else answer.body})
    return len(answer.body)


async def _stream(
    send: Send,
    status: int,
    headers: list[tuple[bytes, bytes]],
    pieces: AsyncIterator[bytes],
    *,
    bodiless: bool,
) -> int:
    size = 0
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if not bodiless:
        async for piece in pieces:
            size += len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
    return size
