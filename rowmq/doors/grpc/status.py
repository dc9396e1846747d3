"""No, in gRPC's words: the one table from errors to status codes."""

import logging

from grpc import StatusCode

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
from rowmq.runtime.log import event, first_line, logger

TABLE: dict[type[RowMQError], tuple[StatusCode, str | None]] = {
    InvalidInput: (StatusCode.INVALID_ARGUMENT, None),
    QueueNotFound: (StatusCode.NOT_FOUND, None),
    ScheduleNotFound: (StatusCode.NOT_FOUND, None),
    QueueInUse: (StatusCode.FAILED_PRECONDITION, None),
    DuplicateMessage: (StatusCode.ALREADY_EXISTS, None),
    LeaseLost: (StatusCode.FAILED_PRECONDITION, None),
    QueueFull: (StatusCode.RESOURCE_EXHAUSTED, None),
    Overloaded: (StatusCode.RESOURCE_EXHAUSTED, None),
    StoreFull: (StatusCode.RESOURCE_EXHAUSTED, "the store has no room left, and nothing was written"),
    StoreUnavailable: (
        StatusCode.UNAVAILABLE,
        "the store cannot be reached, is too busy or takes no writes now; ask again in a moment",
    ),
    TransactionConflict: (StatusCode.ABORTED, "the store is too busy; ask again in a moment"),
    SchemaOutdated: (
        StatusCode.FAILED_PRECONDITION,
        "the store's tables are missing or of another version; run: rowmq migrate",
    ),
    OutcomeUnknown: (
        StatusCode.UNKNOWN,
        "the store did not say whether it counted; look before you repeat it",
    ),
    Unsupported: (StatusCode.UNIMPLEMENTED, None),
    StoreError: (StatusCode.INTERNAL, "the store could not do it"),
    RowMQError: (StatusCode.INTERNAL, "the server could not do it"),
}
"""The code of each kind of error, and what to say instead of its text.

What a database says may tell of its tables, hosts and users, so it goes to the log and no further.
"""
OURS = "the server has made a mistake, which is in its log"


class Denied(Exception):
    """An answer that is not the engine's: a status code and one sentence."""

    def __init__(self, code: StatusCode, sentence: str) -> None:
        super().__init__(sentence)
        self.code, self.sentence = code, sentence


def unauthenticated(
    sentence: str = "say who you are: metadata authorization, Bearer TOKEN",
) -> Denied:
    """Nobody we know; the sentence never says which part was wrong."""
    return Denied(StatusCode.UNAUTHENTICATED, sentence)


def forbidden() -> Denied:
    """Somebody we know, who may not; the same whether or not the queue exists."""
    return Denied(StatusCode.PERMISSION_DENIED, "this token has no right to do that")


def invalid(sentence: str) -> Denied:
    """A request that makes no sense as it stands."""
    return Denied(StatusCode.INVALID_ARGUMENT, sentence)


def status_of(error: Exception) -> tuple[StatusCode, str]:
    """The code and the sentence that tell a caller of an error; what stays untold is logged."""
    if isinstance(error, Denied):
        return error.code, error.sentence
    found = next((TABLE[kind] for kind in type(error).__mro__ if kind in TABLE), None)
    if found is None:
        event(logger, logging.ERROR, "grpc.failed", exc_info=error, error=type(error).__name__)
        return StatusCode.INTERNAL, OURS
    code, instead = found
    if instead is not None:
        reason = first_line(str(error))
        event(logger, logging.WARNING, "grpc.store", error=type(error).__name__, reason=reason)
    return code, instead or first_line(str(error))
