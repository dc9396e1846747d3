"""One line for each event, on the standard logger ``rowmq``; what is in the messages is never logged."""

import json
import logging
import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus
from uuid import UUID

from rowmq.core.errors import InvalidInput, InvalidSetting
from rowmq.core.outcome import Ack, Outcome, Release
from rowmq.runtime.middleware import Middleware

if TYPE_CHECKING:
    from rowmq.runtime.claimed import ClaimedMessage
    from rowmq.runtime.worker import Worker

logger = logging.getLogger("rowmq")
REFUSED = frozenset({"payload", "body", "time", "level", "event", "exception"})
"""What no field is called: contents of messages, and what a line says of itself."""
LONGEST_REASON = 200
HIDDEN = "***"
_SECRETS = ("pass", "pwd", "secret", "token")
_COLON = re.compile(":|%3a", re.IGNORECASE)


def event(
    to: logging.Logger,
    level: int | str,
    name: str,
    /,
    *,
    exc_info: BaseException | None = None,
    **fields: object,
) -> None:
    """Log that something happened, as ``name key=value ...``; the record's ``rowmq`` has the fields.

    Strings, numbers, ids, times and lists of them are written, URLs without their passwords; of anything
    else only the type, because its text may hold a payload. A field called payload or body raises
    InvalidInput.

    >>> import logging
    >>> event(logging.getLogger("rowmq"), "debug", "message.done", queue="emails", attempt=1)
    """
    if not fields.keys().isdisjoint(REFUSED):
        raise InvalidInput(f"an event's field is not called {', '.join(sorted(REFUSED))}")
    number = level_number(level)
    if to.isEnabledFor(number):
        said = {key: _plain(value) for key, value in fields.items()}
        text = " ".join([escaped(name), *(f"{key}={_shown(value)}" for key, value in said.items())])
        to.log(number, text, exc_info=exc_info, extra={"rowmq": {"event": name, **said}}, stacklevel=2)


def jot(to: logging.Logger, level: int, name: str, /, **fields: str | float) -> None:
    """Log what happens thousands of times a second, at a third of the price of an event.

    Only for what is ours to the last letter: nothing is escaped, hidden or refused here, and nobody looks up
    where it was called.
    """
    if to.isEnabledFor(level):
        text = " ".join([name, *(f"{key}={value}" for key, value in fields.items())])
        record = logging.LogRecord(to.name, level, "", 0, text, None, None)
        record.rowmq = {"event": name, **fields}
        to.handle(record)


class JSONFormatter(logging.Formatter):
    """One JSON object a line: time, level, event, its fields, and the exception's text if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line, which is ASCII whatever it says."""
        line = {"time": _when(record), "level": record.levelname, "event": record.getMessage()}
        line.update(getattr(record, "rowmq", {}))
        if record.exc_info:
            line["exception"] = redacted_text(self.formatException(record.exc_info))
        return json.dumps(line, default=_plain)


class TextFormatter(logging.Formatter):
    """One line a record for people: time, level, event, ``key=value`` for each field."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line = f"{_when(record)} {record.levelname} {escaped(record.getMessage())}"
        if record.exc_info:
            line += f" exception={_shown(redacted_text(self.formatException(record.exc_info)))}"
        return line


FORMATS = {"text": TextFormatter, "json": JSONFormatter}


class _Handler(logging.StreamHandler[Any]):
    """Ours, so that configuring again replaces it and leaves the application's own alone."""


def configure(level: int | str = "info", format: str = "text") -> None:
    """Write RowMQ's events to standard error, from this level on, as ``text`` or ``json``."""
    if format not in FORMATS:
        raise InvalidSetting(f"a log format is one of {', '.join(FORMATS)}, not {format!r}")
    number = level_number(level)
    handler = _Handler(sys.stderr)
    handler.setFormatter(FORMATS[format]())
    for former in [each for each in logger.handlers if isinstance(each, _Handler)]:
        logger.removeHandler(former)
    logger.addHandler(handler)
    logger.setLevel(number)
    logger.propagate = False  # or a root handler would write every line again


def level_number(level: int | str) -> int:
    """A logging level from its number, or its name in any case."""
    if isinstance(level, int):
        return level
    known = logging.getLevelNamesMapping()
    if level.upper() not in known:
        raise InvalidSetting(f"a log level is one of {', '.join(known).lower()}, not {level!r}")
    return known[level.upper()]


def redacted(url: str) -> str:
    """A URL without its passwords, also where it is malformed: rather too much is hidden than too little.

    >>> redacted("postgresql://ada:secret@db:5432/jobs?sslmode=require&passfile=/run/key")
    'postgresql://ada:***@db:5432/jobs?sslmode=require&passfile=***'
    >>> redacted("https://token@queues.example:9999")
    'https://***@queues.example:9999'
    """
    if "://" not in url and ("@" in url or "=" in url):
        return HIDDEN  # no URL, but maybe another way to say a password
    # The query first: an "@" in a password given there must not be taken for the end of the user's. But
    # what looks like the query may be the user's password too, so an "@" that got hidden still counts.
    shown = _without_query_secrets(url)
    return _without_user_secret(shown if shown.count("@") == url.count("@") else f"{shown}@")


def first_line(text: str) -> str:
    """The first line of an error, without passwords of URLs, cut where it gets long."""
    line = redacted_text(text.strip().partition("\n")[0].strip())  # before it is cut, maybe inside a password
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"


def redacted_text(text: str) -> str:
    """Text in which URLs may stand, without their passwords."""
    if "://" not in text:
        return text
    return " ".join(redacted(word) if "://" in word else word for word in text.split(" "))


def escaped(text: str) -> str:
    """Text on one line: whatever cannot be printed, or would move the cursor, as a backslash sequence."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


class LogEvents(Middleware):
    """Logs what fails, gets lost, and when workers start and stop; what goes well only at DEBUG."""

    def __init__(self, to: logging.Logger = logger) -> None:
        self._to = to

    def after(self, message: "ClaimedMessage", outcome: Outcome, error: BaseException | None) -> None:
        """Log how a handler's run ended."""
        if isinstance(outcome, Ack | Release) and not self._to.isEnabledFor(logging.DEBUG):
            return  # the usual case, thousands of times a second
        about = _about(message)
        if isinstance(outcome, Ack):
            event(self._to, logging.DEBUG, "message.done", **about)
        elif isinstance(outcome, Release):
            event(self._to, logging.DEBUG, "message.released", **about)
        else:
            about |= {"outcome": type(outcome).__name__.lower(), **_why(outcome.error, error)}
            event(self._to, logging.WARNING, "message.failed", **about)

    def on_lost(self, message: "ClaimedMessage") -> None:
        """Log that a message went on without its holder."""
        event(self._to, logging.WARNING, "message.lost", **_about(message))

    @contextmanager
    def around_worker(self, worker: "Worker") -> Iterator[None]:
        """Log a worker's start and stop."""
        event(self._to, logging.INFO, "worker.started", worker=worker.name, queues=worker.queues)
        try:
            yield
        finally:
            event(self._to, logging.INFO, "worker.stopped", worker=worker.name)


def _about(message: "ClaimedMessage") -> dict[str, Any]:
    return {"queue": message.queue, "id": message.id, "attempt": message.attempt}


def _why(kept: str | None, error: BaseException | None) -> dict[str, str]:
    if error is None:
        return {"reason": first_line(kept or "")}
    return {"error": type(error).__name__, "reason": first_line(_said(error))}


def _said(error: BaseException) -> str:
    """What an error says; the text of somebody else's may itself fail."""
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 - whoever logs must not change what happens
        return f"its text cannot be had: {type(second).__name__}"


def _plain(value: object) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such numbers
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return redacted_text(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return f"<{type(value).__name__}>"


def _shown(value: Any) -> str:
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    bare = text != "" and text.isprintable() and not set(' "=\\') & set(text)
    return text if bare else escaped(json.dumps(text, ensure_ascii=False))


def _when(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _without_query_secrets(url: str) -> str:
    address, *rest = re.split(r"([?&;])", url)
    kept, hiding = [address], False
    for separator, item in zip(rest[::2], rest[1::2], strict=True):
        key, equals, _ = item.partition("=")
        # A separator inside a password that nobody encoded goes on hiding.
        hiding = _is_secret(key) or (hiding and (separator == ";" or not equals))
        shown = f"{key}={HIDDEN}" if _is_secret(key) else HIDDEN
        kept += [separator, shown if hiding else item]
    return "".join(kept)


def _is_secret(key: str) -> bool:
    return any(word in unquote_plus(key).lower() for word in _SECRETS)


def _without_user_secret(url: str) -> str:
    before, at, after = url.rpartition("@")
    scheme, slashes, user = before.partition("://")
    if not slashes or ":" in scheme:  # no scheme at all: what looks like one may be a password's beginning
        scheme, slashes, user = "", "", before
    if at and scheme.lower().endswith(("http", "https")):  # the user is the token
        return f"{scheme}{slashes}{HIDDEN}{at}{after}"
    name, *secret = _COLON.split(user, maxsplit=1)
    return f"{scheme}{slashes}{name}:{HIDDEN}{at}{after}" if at and secret else url
