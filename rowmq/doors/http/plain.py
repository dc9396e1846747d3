"""Saying no in plain text."""

import logging
from collections.abc import Sequence

from rowmq.core.errors import (
    DuplicateMessage,
    InvalidInput,
    InvalidSetting,
    OutcomeUnknown,
    Overloaded,
    QueueFull,
    QueueInUse,
    QueueNotFound,
    Refused,
    StoreError,
)
from rowmq.doors.http.answer import Answer, text
from rowmq.doors.http.refusal import Refusal
from rowmq.runtime.log import event, first_line, logger

FULL, UNAVAILABLE = 429, 503
STATUSES: Sequence[tuple[type[Exception], int]] = (
    (InvalidSetting, 422),
    (InvalidInput, 400),
    (QueueNotFound, 404),
    (QueueInUse, 409),
    (DuplicateMessage, 409),
    (QueueFull, FULL),
    (Refused, 409),
    (StoreError, UNAVAILABLE),
)
"""From what the engine says to what the wire says; the first that fits counts."""
SOON = {"retry-after": "1"}


def refuse(error: Exception) -> Answer:
    """The answer to something that went wrong; what went wrong inside the store stays inside."""
    if isinstance(error, Refusal):
        return text(error.status, error.sentence, error.headers)
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), None)
    if status is None:
        return text(500, "our mistake")
    sentence = _trouble(error) if status == UNAVAILABLE else str(error)
    return text(status, sentence, SOON if status in {UNAVAILABLE, FULL} else None)


def _trouble(error: Exception) -> str:
    if isinstance(error, Overloaded):
        return str(error)
    event(
        logger,
        logging.WARNING,
        "http.store",
        error=type(error).__name__,
        reason=first_line(str(error)),
    )
    if isinstance(error, OutcomeUnknown):
        return "nobody knows whether that was stored; look before repeating it"
    return "the store does not answer; ask again in a moment"
