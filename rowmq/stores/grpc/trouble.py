"""From what a server says back to RowMQ's errors."""

from typing import Any

import grpc

from rowmq.core import errors
from rowmq.core.errors import (
    InvalidSetting,
    OutcomeUnknown,
    QueueNotFound,
    RowMQError,
    StoreError,
    StoreUnavailable,
    Unsupported,
)

ERROR, QUEUE = "rowmq-error", "rowmq-queue-bin"
"""The trailing metadata that name an error, and the queue that was not found."""
_KINDS = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}
AWAY = (grpc.StatusCode.UNAVAILABLE,)
LOST = (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED, grpc.StatusCode.UNKNOWN)
REFUSED = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)


def told(error: Any) -> RowMQError | None:
    """The error that a server of ours has named, if it has."""
    said = {key: value for key, value in error.trailing_metadata() or ()}  # noqa: C416 - pairs of another kind
    kind = _KINDS.get(str(said.get(ERROR)))
    if kind is QueueNotFound:
        return QueueNotFound(bytes(said.get(QUEUE, b"")).decode(errors="replace"))
    if kind is not None and issubclass(kind, RowMQError):
        return kind(error.details())
    return None


def by_code(error: Any, where: str, *, changes: bool) -> RowMQError:
    """What a status code means where nothing more is known; ``changes`` if the call may have counted."""
    code, details = error.code(), error.details()
    if code in AWAY and (not changes or "failed to connect" in details):
        return StoreUnavailable(f"cannot reach the server at {where}; is it running, and this its address?")
    if code in AWAY + LOST:
        return OutcomeUnknown(f"the reply of the server at {where} was lost; look before you repeat it")
    if code in REFUSED:
        return StoreUnavailable(f"the server refuses us: {details}")
    if code is grpc.StatusCode.INVALID_ARGUMENT:
        return InvalidSetting(details)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return Unsupported(f"the server at {where} cannot do that; is it of an older version?")
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return StoreUnavailable(f"the server turns us away: {details}")
    return StoreError(details)
