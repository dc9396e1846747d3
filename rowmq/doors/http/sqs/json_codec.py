"""AWS JSON 1.0: what current clients speak."""

from typing import Any
from uuid import uuid4

import msgspec

from rowmq.doors.http.answer import Answer
from rowmq.doors.http.sqs.asked import Result
from rowmq.doors.http.sqs.errors import Fault

TYPE = "application/x-amz-json-1.0"
_encode = msgspec.json.Encoder().encode


def read_body(body: bytes) -> dict[str, Any]:
    """The parameters in a body. Raises Fault."""
    try:
        said = msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Fault("SerializationException", f"The body is not JSON: {error}") from None
    if not isinstance(said, dict):
        raise Fault("SerializationException", "The body is not a JSON object.")
    return said


def answer(result: Result) -> Answer:
    """An operation's result."""
    return Answer(200, _encode(_without_none(result)), TYPE, {"x-amzn-requestid": str(uuid4())})


def fault_answer(fault: Fault) -> Answer:
    """An operation's failure."""
    headers = {
        "x-amzn-requestid": str(uuid4()),
        "x-amzn-query-error": f"{fault.kind.code};{'Sender' if fault.senders else 'Receiver'}",
        **fault.headers,
    }
    said = {"__type": fault.kind.shape, "message": fault.sentence}
    return Answer(fault.status, _encode(said), TYPE, headers)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_none(each) for name, each in value.items() if each is not None}
    return [_without_none(each) for each in value] if isinstance(value, list) else value
