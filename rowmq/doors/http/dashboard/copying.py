"""Pushing an edited copy of a message: what the form says at first, and the message that it makes."""

import base64
import binascii
import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from rowmq.core.errors import InvalidMessage
from rowmq.core.history import Record
from rowmq.core.message import Message, check_json
from rowmq.core.names import check_name
from rowmq.core.spans import span_of
from rowmq.doors.http.dashboard.form import Form
from rowmq.doors.http.dashboard.reading import noting
from rowmq.doors.http.dashboard.tree import indented
from rowmq.stores.fresh import new_id

LARGEST_EDITED = 64 * 1024
"""A payload of more bytes is not put into a field: it is copied as it is, or written anew."""
COPY_OF = "rowmq.copy_of"
SAME, JSON, TEXT, BASE64 = "same", "json", "text", "base64"
FORMATS = ((JSON, "JSON"), (TEXT, "text, as its bytes in UTF-8"), (BASE64, "bytes, in base64"))


def values(record: Record) -> dict[str, str]:
    """What the fields say at first."""
    sort, payload = _written(record)
    metadata = {**record.metadata, COPY_OF: str(record.id)}
    return {
        "queue": record.source or record.queue,
        "format": sort,
        "payload": payload,
        "metadata": json.dumps(metadata, ensure_ascii=False, indent=2),
        "priority": str(record.priority),
        "group": record.group or "",
        "delay": "",
    }


def formats(record: Record) -> list[tuple[str, str]]:
    """The ways in which a payload can be written; one that is too large may also stay as it is."""
    same = [(SAME, "as it is")] if _written(record)[0] == SAME else []
    return [*same, *FORMATS]


def copied(record: Record, form: Form) -> Message | None:
    """The message that the form makes of this one; what is wrong with any field is noted there."""
    said: dict[str, Any] = {"id": new_id(), "body": b""}
    with noting(form, "queue"):
        check_name(form.get("queue").strip())
    for name, read in _READERS.items():
        with noting(form, name):
            said[name] = read(form.get(name))
            Message(**{**_EMPTY, name: said[name]})
    with noting(form, "payload"):
        said["body"], said["binary"] = _body(record, form)
        Message(**{**_EMPTY, "body": said["body"]})
    return None if form.wrong else Message(**said)


def _body(record: Record, form: Form) -> tuple[bytes, bool]:
    """The payload as it was written; one that was left as it was shown is the same to the byte."""
    sort, text = form.get("format"), form.get("payload")
    if record.body is not None and (sort == SAME or (sort, text) == _written(record)):
        return record.body, record.binary
    match sort:
        case "json":
            return check_json(text.strip().encode()), False
        case "text":
            return text.encode(), True
        case "base64":
            return _bytes(text), True
    raise InvalidMessage(f"a payload is written as JSON, text or base64, not as {sort!r}")


def _written(record: Record) -> tuple[str, str]:
    """How a payload is edited, and what the field says."""
    body = record.body or b""
    if len(body) > LARGEST_EDITED:
        return SAME, ""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return BASE64, base64.b64encode(body).decode()
    if not record.binary:
        return JSON, indented(text)
    plain = all(each.isprintable() or each in "\n\t" for each in text)
    return (TEXT, text) if plain else (BASE64, base64.b64encode(body).decode())


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidMessage(
            "this is not base64; write letters, digits, + and /, with = at the end"
        ) from None


def _metadata(text: str) -> dict[str, str]:
    try:
        found = json.loads(text.strip() or "{}")
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(f"metadata is a JSON object of strings, and this is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidMessage('metadata is a JSON object of strings, such as {"v": "1"}')
    return found


def _priority(text: str) -> int:
    try:
        return int(text.strip() or "0")
    except ValueError:
        raise InvalidMessage(f"a priority is a whole number from 0 to 9, not {text!r}") from None


def _delay(text: str) -> Any:
    try:
        return span_of(text) if text.strip() else None
    except ValueError:
        raise InvalidMessage(
            f"{text!r} is not a span of time; write 30s, 5m or 2h, or leave it empty"
        ) from None


_EMPTY: dict[str, Any] = {"id": UUID(int=0), "body": b""}
_READERS: dict[str, Callable[[str], Any]] = {
    "metadata": _metadata,
    "priority": _priority,
    "delay": _delay,
    "group": lambda text: text.strip() or None,
}
