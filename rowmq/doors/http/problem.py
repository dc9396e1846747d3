"""No, in the native API's words (RFC 9457): the one table from errors to statuses."""

import logging
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from rowmq.core.errors import (
    DuplicateMessage,
    InvalidInput,
    LeaseLost,
    OutcomeUnknown,
    Overloaded,
    QueueFull,
    QueueInUse,
    QueueNotFound,
    RowMQError,
    ScheduleNotFound,
    SchemaOutdated,
    StoreError,
    StoreFull,
    StoreUnavailable,
    TransactionConflict,
    Unsupported,
)
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.refusal import Refusal
from rowmq.runtime.log import event, first_line, logger
from rowmq.stores.remote.shapes import Problem

TYPE = "application/problem+json"
_ENCODER = msgspec.json.Encoder()


class Sort(NamedTuple):
    """How one kind of error is answered: status, when to try again, and what to say instead of its text.

    What a database says may tell of its tables, hosts and users, so it goes to the log and no further.
    """

    status: int
    retry_after: int | None = None
    instead: str | None = None


TABLE: dict[type[RowMQError], Sort] = {
    InvalidInput: Sort(422),
    QueueNotFound: Sort(404),
    ScheduleNotFound: Sort(404),
    QueueInUse: Sort(409),
    DuplicateMessage: Sort(409),
    LeaseLost: Sort(409),
    QueueFull: Sort(429, 1),
    Overloaded: Sort(503, 1),
    StoreFull: Sort(507, 30, "the store has no room left, and nothing was written"),
    StoreUnavailable: Sort(
        503, 1, "the store cannot be reached, is too busy or takes no writes now; ask again in a moment"
    ),
    TransactionConflict: Sort(503, 1, "the store is too busy; ask again in a moment"),
    SchemaOutdated: Sort(503, 30, "the store's tables are missing or of another version; run: rowmq migrate"),
    OutcomeUnknown: Sort(504, None, "the store did not say whether it counted; look before you repeat it"),
    Unsupported: Sort(501),
    StoreError: Sort(500, None, "the store could not do it"),
    RowMQError: Sort(500, None, "the server could not do it"),
}
CODES = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    408: "RequestTimeout",
    413: "TooLarge",
    421: "MisdirectedRequest",
    429: "TooManyRequests",
    499: "Gone",
    500: "InternalError",
    503: "Stopping",
}


def refuse(error: Exception) -> Answer:
    """The answer to a Refusal or a RowMQError."""
    if isinstance(error, Refusal):
        return _answer(_refused(error), error.headers)
    sort = _sort(error)
    if sort.instead is not None:
        event(
            logger, logging.WARNING, "http.store", error=type(error).__name__, reason=first_line(str(error))
        )
    headers = {} if sort.retry_after is None else {"retry-after": str(sort.retry_after)}
    return _answer(problem(error), headers)


def problem(error: Exception) -> Problem:
    """What is wrong, as the wire has it."""
    sort, name = _sort(error), type(error).__name__
    shape = Problem(_type(name), _title(error), sort.status, sort.instead or str(error), name)
    if isinstance(error, QueueNotFound):
        shape.queue = error.name
    if isinstance(error, ScheduleNotFound):
        shape.schedule = error.name
    return shape


def _sort(error: Exception) -> Sort:
    return next((TABLE[kind] for kind in type(error).__mro__ if kind in TABLE), TABLE[RowMQError])


def _refused(error: Refusal) -> Problem:
    code = CODES.get(error.status, "Denied")
    return Problem(_type(code), _phrase(error.status), error.status, error.sentence, code)


def _title(error: Exception) -> str:
    return (type(error).__doc__ or "").strip().partition("\n")[0]


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in list(HTTPStatus) else "Refused"


def _type(code: str) -> str:
    return f"/docs#{code}"


def _answer(shape: Problem, headers: dict[str, str]) -> Answer:
    return Answer(shape.status, _ENCODER.encode(shape), TYPE, headers)
