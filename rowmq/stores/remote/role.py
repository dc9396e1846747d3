"""What the roles of the remote store have in common: how a method becomes a request."""

from datetime import datetime
from functools import cache
from typing import Any, TypedDict, TypeVar, Unpack

import msgspec

from rowmq.core.errors import InvalidSetting, StoreUnavailable, Unsupported
from rowmq.stores.remote.transport import Query, Transport

T = TypeVar("T")
_ENCODER = msgspec.json.Encoder()


class How(TypedDict, total=False):
    """How a request may be sent."""

    again: bool
    reads: bool
    wait: float


class Role:
    """A part of the store, asking the server that all its parts share."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def send(
        self,
        method: str,
        path: str,
        shape: Any,
        gives: type[T],
        *,
        now: datetime | None = None,
        **how: Unpack[How],
    ) -> T:
        """Send a shape, or nothing, and read the answer."""
        body = None if shape is None else encoded(shape)
        found: T = _read(self.transport.ask(method, path, body, now=now, **how), gives)
        return found

    def look(
        self,
        path: str,
        gives: type[T],
        *,
        query: Query = (),
        now: datetime | None = None,
    ) -> T:
        """Ask for something that is there."""
        found: T = _read(self.transport.ask("GET", path, query=query, now=now), gives)
        return found

    def maybe(
        self,
        method: str,
        path: str,
        gives: type[T],
        body: bytes | None = None,
        *,
        now: datetime | None = None,
    ) -> T | None:
        """Ask for something that may not be there."""
        answer = self.transport.ask(method, path, body, now=now)
        return None if answer is None else _read(answer, gives)


def encoded(shape: Any) -> bytes:
    """A shape as it is sent. Raises InvalidSetting for text that has no form in UTF-8."""
    try:
        return _ENCODER.encode(shape)
    except UnicodeEncodeError:
        raise InvalidSetting("text that is sent to a server has no lone surrogates, and this has") from None


def refuse_transaction(tx: object) -> None:
    """Raise Unsupported if the caller brought a transaction."""
    if tx is not None:
        raise Unsupported("a store behind a server cannot join a transaction: call it without tx")


def _read(answer: bytes | None, gives: Any) -> Any:
    if answer is None:
        raise StoreUnavailable("the server does not know this request; is it of an older version?")
    try:
        return _decoder(gives).decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreUnavailable(f"the server's answer cannot be read: {error}") from None


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
