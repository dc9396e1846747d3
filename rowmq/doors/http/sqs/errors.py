"""AWS's errors: shapes, codes, statuses and wording."""

from typing import NamedTuple

from rowmq.core.errors import (
    InvalidInput,
    OutcomeUnknown,
    QueueFull,
    QueueNotFound,
    RowMQError,
    StoreUnavailable,
)
from rowmq.doors.http.refusal import Refusal

QUEUES = "com.amazonaws.sqs#"
CORAL = "com.amazon.coral.service#"
SERVER = 500


class Kind(NamedTuple):
    """How an error is called in JSON (``__type``) and everywhere else, and its HTTP status."""

    shape: str
    code: str
    status: int = 400


def _simple(name: str, status: int = 400) -> Kind:
    return Kind(QUEUES + name, f"AWS.SimpleQueueService.{name}", status)


def _same(name: str, status: int = 400) -> Kind:
    return Kind(QUEUES + name, name, status)


KINDS = {
    kind.shape.partition("#")[2]: kind
    for kind in (
        Kind(QUEUES + "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"),
        Kind(QUEUES + "QueueNameExists", "QueueAlreadyExists"),
        *map(
            _simple,
            (
                "QueueDeletedRecently",
                "BatchEntryIdsNotDistinct",
                "BatchRequestTooLong",
                "EmptyBatchRequest",
                "InvalidBatchEntryId",
                "TooManyEntriesInBatchRequest",
                "MessageNotInflight",
                "UnsupportedOperation",
            ),
        ),
        _simple("PurgeQueueInProgress", 403),
        _same("OverLimit", 403),
        _same("ResourceNotFoundException", 404),
        *map(
            _same,
            (
                "ReceiptHandleIsInvalid",
                "InvalidAddress",
                "InvalidAttributeName",
                "InvalidAttributeValue",
                "InvalidMessageContents",
                "InvalidIdFormat",
            ),
        ),
        Kind(QUEUES + "AccessDeniedException", "AccessDenied", 403),
        Kind(CORAL + "InvalidParameterValueException", "InvalidParameterValue"),
        Kind(CORAL + "MissingRequiredParameterException", "MissingParameter"),
        Kind(CORAL + "SerializationException", "MalformedInput"),
        Kind(CORAL + "UnknownOperationException", "InvalidAction"),
        Kind(CORAL + "ServiceUnavailableException", "ServiceUnavailable", 503),
        Kind(CORAL + "InternalFailure", "InternalFailure", SERVER),
        Kind("com.amazonaws.sns#NotFoundException", "NotFound", 404),
        Kind("com.amazonaws.sns#InvalidParameterException", "InvalidParameter"),
    )
}


class Fault(Refusal):
    """No, in AWS's words. ``old`` is the wording of the query protocol where that differs."""

    def __init__(self, kind: Kind | str, sentence: str, *, old: str | None = None) -> None:
        self.kind = KINDS[kind] if isinstance(kind, str) else kind
        super().__init__(self.kind.status, sentence, code=self.kind.code)
        self.old = old or sentence

    @property
    def senders(self) -> bool:
        """Whether it is the caller's own mistake."""
        return self.kind.status < SERVER


def no_queue() -> Fault:
    """The queue does not exist."""
    return Fault(
        "QueueDoesNotExist",
        "The specified queue does not exist.",
        old="The specified queue does not exist for this wsdl version.",
    )


def invalid(sentence: str) -> Fault:
    """A value that cannot be."""
    return Fault("InvalidParameterValueException", sentence)


def invalid_value(value: object, parameter: str, reason: str) -> Fault:
    """A parameter's value that cannot be, and why."""
    return invalid(f"Value {value} for parameter {parameter} is invalid. Reason: {reason}")


def missing(parameter: str) -> Fault:
    """A parameter that must be there and is not."""
    return Fault("MissingRequiredParameterException", f"The request must contain the parameter {parameter}.")


def bad_handle(handle: str) -> Fault:
    """A receipt handle that was never given out for this queue."""
    return Fault(
        "ReceiptHandleIsInvalid", f'The input receipt handle "{handle}" is not a valid receipt handle.'
    )


def as_fault(error: Exception) -> Fault:
    """Any refusal, of the door or of the engine, in AWS's words."""
    if isinstance(error, Fault):
        return error
    return _refused(error) if isinstance(error, Refusal) else _engine_fault(error)


def _refused(refusal: Refusal) -> Fault:
    if refusal.code is not None:
        return Fault(Kind(QUEUES + refusal.code, refusal.code, refusal.status), refusal.sentence)
    if refusal.status in {401, 403}:
        return Fault("AccessDeniedException", "Access to the resource is denied.")
    if refusal.status >= SERVER:
        return Fault("InternalFailure", refusal.sentence)
    return Fault(KINDS["InvalidParameterValueException"]._replace(status=refusal.status), refusal.sentence)


def _engine_fault(error: Exception) -> Fault:
    match error:
        case QueueNotFound():
            return no_queue()
        case InvalidInput():
            return invalid(str(error))
        case QueueFull():
            return Fault("OverLimit", str(error))
        case StoreUnavailable():
            return Fault("ServiceUnavailableException", "The store cannot be reached; try again in a moment.")
        case OutcomeUnknown():
            return Fault("InternalFailure", "Nobody knows whether this was stored; look before repeating it.")
        case RowMQError():
            return invalid(str(error))
        case _:
            return Fault("InternalFailure", "We made a mistake.")
