"""Requests to a server, and from its answers back to RowMQ's errors."""

import os
import ssl
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    LocationValueError,
    NameResolutionError,
    NewConnectionError,
    SSLError,
)

from rowmq.core import errors
from rowmq.core.errors import (
    InvalidName,
    InvalidSetting,
    OutcomeUnknown,
    QueueNotFound,
    RowMQError,
    ScheduleNotFound,
    StoreError,
    StoreUnavailable,
)
from rowmq.core.names import check_name
from rowmq.stores.remote.shapes import Problem

CONNECTIONS = 64
CONNECT_TIMEOUT = 5.0
PAUSES = (0.05, 0.5)
"""Seconds before a request that may be repeated is sent again."""
NOT_SENT = (NewConnectionError, NameResolutionError, ConnectTimeoutError, LocationValueError)
_KINDS = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}
_PROBLEM = msgspec.json.Decoder(Problem)
Query = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, and how to talk to it. The token is nobody else's business."""

    host: str
    port: int
    secure: bool = False
    prefix: str = ""
    token: str | None = field(default=None, repr=False)
    authority: str | None = None
    """A file of certificates to trust instead of the system's."""
    timeout: float = 30.0


class Transport:
    """Sends requests over connections that are kept. Threads may share it; a forked child makes its own."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._headers = {"content-type": "application/json"}
        if address.token:
            self._headers["authorization"] = f"Bearer {address.token}"
        self._closed = False
        self._begin()

    def __repr__(self) -> str:
        return f"<server {self._address.host}:{self._address.port}>"

    def close(self) -> None:
        """Give back every connection."""
        self._closed = True
        self._pool.close()

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        query: Query = (),
        now: datetime | None = None,
        wait: float = 0.0,
        again: bool = False,
        reads: bool = False,
    ) -> bytes | None:
        """The body of the answer; None if there is no such thing. Raises RowMQError.

        ``again`` says that the request does no harm if it is repeated, as is done after a lost reply; what
        only ``reads`` never does.
        """
        target = f"{self._address.prefix}{path}{_asked(query)}"
        headers = self._headers if now is None else {**self._headers, "rowmq-now": now.isoformat()}
        timeout = urllib3.Timeout(connect=CONNECT_TIMEOUT, read=self._address.timeout + wait)
        send = partial(
            self._send,
            method,
            target,
            body=body,
            headers=headers,
            timeout=timeout,
            retries=False,
            redirect=False,
        )
        reads = reads or method == "GET"
        return _body(self._sent(send, again=again or reads, reads=reads))

    def _send(self, *asked: Any, **how: Any) -> urllib3.BaseHTTPResponse:
        return self._connections().urlopen(*asked, **how)

    def _sent(
        self, send: Callable[[], urllib3.BaseHTTPResponse], *, again: bool, reads: bool
    ) -> urllib3.BaseHTTPResponse:
        """Send it, again after a lost reply if that does no harm."""
        lost = False
        for pause in (0.0, *PAUSES) if again else (0.0,):
            time.sleep(pause)
            try:
                return send()
            except HTTPError as error:
                if _never_sent(error):
                    self._refuse_unsent(lost=lost and not reads)
                lost = True
        if reads:
            raise StoreUnavailable(f"the server at {self} does not answer; ask again in a moment")
        raise OutcomeUnknown(f"the reply of the server at {self} was lost; look before you repeat it")

    def _refuse_unsent(self, *, lost: bool) -> None:
        if lost:
            raise OutcomeUnknown(f"the reply of the server at {self} was lost, and now it is away") from None
        raise StoreUnavailable(
            f"cannot reach the server at {self}; is it running, and this its address?"
        ) from None

    def _connections(self) -> urllib3.HTTPConnectionPool:
        if self._closed:
            raise StoreUnavailable("this store was closed")
        if self._owner != os.getpid():
            self._begin()  # the parent's connections stay the parent's
        return self._pool

    def _begin(self) -> None:
        address = self._address
        self._owner = os.getpid()
        self._pool: urllib3.HTTPConnectionPool
        if address.secure:
            context = ssl.create_default_context(cafile=address.authority)
            self._pool = urllib3.HTTPSConnectionPool(
                address.host, address.port, maxsize=CONNECTIONS, ssl_context=context
            )
        else:
            self._pool = urllib3.HTTPConnectionPool(address.host, address.port, maxsize=CONNECTIONS)


def _asked(query: Query) -> str:
    try:
        text = urlencode(list(query))
    except UnicodeEncodeError:
        raise InvalidSetting("text that is sent to a server has no lone surrogates, and this has") from None
    return f"?{text}" if text else ""


def segment(name: str) -> str:
    """A name as part of a path. What can be no name is not found."""
    try:
        check_name(name)
    except InvalidName:
        raise QueueNotFound(name) from None
    return quote(name, safe="")


def error_of(problem: Problem) -> RowMQError:
    """The error that a server has told of."""
    kind = _KINDS.get(problem.code)
    if kind is QueueNotFound:
        return QueueNotFound(problem.queue or "")
    if kind is ScheduleNotFound:
        return ScheduleNotFound(problem.schedule or "")
    if problem.code == "Stopping":
        return OutcomeUnknown(problem.detail)
    if kind is not None and issubclass(kind, RowMQError):
        return kind(problem.detail)
    return _by_status(problem.status, problem.detail)


def _body(response: urllib3.BaseHTTPResponse) -> bytes | None:
    if response.status < 300:  # noqa: PLR2004 - all of these are good news
        return response.data
    problem = _problem(response)
    if problem is None:
        raise _by_status(response.status, f"the server answers with status {response.status}")
    if problem.code == "NotFound":
        return None
    raise error_of(problem)


def _problem(response: urllib3.BaseHTTPResponse) -> Problem | None:
    if not response.headers.get("content-type", "").startswith("application/problem+json"):
        return None
    try:
        return _PROBLEM.decode(response.data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _by_status(status: int, detail: str) -> RowMQError:
    """What a status means where nothing more is known: a server of another kind, or one in between."""
    if status in {400, 413}:
        return InvalidSetting(detail)
    if status in {401, 403}:
        return StoreUnavailable(f"the server refuses us: {detail}")
    if status in {408, 502, 504}:
        return OutcomeUnknown(f"the server did not finish it: {detail}")
    if status in {404, 405, 421, 429, 503} or status < 400:  # noqa: PLR2004 - not ours, or not now
        return StoreUnavailable(f"{detail}; is this the address of a RowMQ server?")
    return StoreError(detail)


def _never_sent(error: HTTPError) -> bool:
    if isinstance(error, SSLError):
        return isinstance(error.args[0] if error.args else None, ssl.SSLCertVerificationError)
    return isinstance(error, NOT_SENT)
