"""A message's body: text on this door, a payload everywhere else.

Text that is a JSON object or array is stored as that, byte for byte, so that whoever claims it elsewhere
gets a dict or a list. Any other text is stored as a JSON string. The other way round a string is its text,
any other JSON value its JSON text, and bytes are the text they spell, or base64 of them.
"""

import base64
import re
from contextlib import suppress

from rowmq.core.delivery import Delivery
from rowmq.core.errors import InvalidMessage
from rowmq.core.message import check_json, encode
from rowmq.doors.http.sqs.errors import Fault

STRUCTURES = ("{", "[")
ALLOWED = "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def stored(text: str) -> bytes:
    """The body that a store keeps, JSON in any case.

    >>> stored('{"to": "ada"}'), stored("hello")
    (b'{"to": "ada"}', b'"hello"')
    """
    if text.startswith(STRUCTURES):
        with suppress(InvalidMessage):
            return check_json(text.encode())
    return encode(text)[0]


def said(delivery: Delivery) -> str:
    """The text of a message, whoever pushed it."""
    if delivery.binary:
        return _spelt(delivery.body)
    if not delivery.body.startswith(b'"'):
        return delivery.body.decode(errors="replace")
    return _sound(delivery.payload)


def check_text(text: str) -> None:
    """Refuse characters that XML cannot carry."""
    if FORBIDDEN.search(text):
        raise Fault(
            "InvalidMessageContents", f"Invalid characters found. Valid unicode characters are {ALLOWED}"
        )


def _sound(text: str) -> str:
    """Text without lone surrogates, which have no bytes to be sent as."""
    return text.encode(errors="replace").decode()


def _spelt(body: bytes) -> str:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return base64.b64encode(body).decode()
    return base64.b64encode(body).decode() if FORBIDDEN.search(text) else text
