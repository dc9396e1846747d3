"""Payloads and results on the wire: JSON as it stands where that is possible, base64 where it is not."""

import msgspec
from msgspec import UNSET, Raw, UnsetType

from rowmq.core.errors import InvalidMessage
from rowmq.core.message import check_json

_AS_IT_STANDS = msgspec.json.Decoder(Raw)


def as_json(body: bytes) -> Raw | None:
    """The body as JSON inside JSON, byte for byte, or None if it cannot stand there.

    That is so for what is not JSON at all, has space around it, or escapes a lone surrogate. Raw itself looks
    at everything but whether text is UTF-8.
    """
    try:
        raw = _AS_IT_STANDS.decode(body)
        if not body.isascii():
            body.decode()
    except (ValueError, RecursionError):
        return None
    return raw if len(memoryview(raw)) == len(body) else None


def carried(body: bytes, *, binary: bool) -> tuple[Raw | UnsetType, bytes | UnsetType]:
    """A body as ``payload`` or ``base64``, whichever it is."""
    raw = None if binary else as_json(body)
    return (UNSET, body) if raw is None else (raw, UNSET)


def body_of(
    payload: Raw | UnsetType, base64: bytes | UnsetType, *, binary: bool, what: str = "message"
) -> tuple[bytes, bool]:
    """The body that was sent, and whether it is binary. Raises InvalidMessage."""
    if (payload is UNSET) == (base64 is UNSET):
        given = "neither was" if base64 is UNSET else "both were"
        raise InvalidMessage(f"give a {what} a payload or base64, one of them; {given} given")
    if isinstance(payload, Raw):
        return text_of(payload), False
    body = b"" if base64 is UNSET else base64
    return body if binary else check_json(body), binary


def text_of(raw: Raw) -> bytes:
    """The bytes of a JSON value that was read as it stands; it must be UTF-8."""
    body = bytes(raw)
    if not body.isascii():
        try:
            body.decode()
        except UnicodeDecodeError:
            raise InvalidMessage("a payload is JSON text in UTF-8, and this one is not UTF-8") from None
    return body


def received(payload: Raw | UnsetType, base64: bytes | UnsetType) -> bytes | None:
    """The body that a server answered with, or None where it left it out."""
    if isinstance(payload, Raw):
        return bytes(payload)
    return None if base64 is UNSET else base64
