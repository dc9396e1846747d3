"""The query protocol: forms in, XML out; what older clients speak, and all of SNS."""

from typing import Any
from uuid import uuid4

from rowmq.doors.http.answer import Answer
from rowmq.doors.http.sqs import xml
from rowmq.doors.http.sqs.asked import Result
from rowmq.doors.http.sqs.errors import Fault
from rowmq.doors.http.sqs.form import nested
from rowmq.doors.http.sqs.xml import element, escaped

TYPE = "text/xml"
QUEUES = "http://queue.amazonaws.com/doc/2012-11-05/"
TOPICS = "http://sns.amazonaws.com/doc/2010-03-31/"
OURS = frozenset({"Action", "Version", "Expires", "SignatureVersion", "AWSAccessKeyId", "Timestamp"})
"""Fields of the protocol itself."""


def read_form(fields: list[tuple[str, str]], action: str) -> dict[str, Any]:
    """The parameters in a form."""
    said = nested(field for field in fields if field[0] not in OURS and not field[0].startswith("X-Amz-"))
    if action == "CreateQueue" and "Tags" in said:
        said["tags"] = said.pop("Tags")
    if action == "SetSubscriptionAttributes" and "AttributeNames" in said:
        (said["AttributeName"],) = said.pop("AttributeNames")[:1]  # the only operation with one of them
    return said


def answer(action: str, result: Result, *, topics: bool = False) -> Answer:
    """An operation's result."""
    inside = xml.deep(result) if topics else xml.flat(result, entry=f"{action}ResultEntry")
    wrapped = element(f"{action}Result", inside) if result else ""
    told = element("ResponseMetadata", element("RequestId", str(uuid4())))
    return _document(200, f"{action}Response", wrapped + told, topics=topics)


def fault_answer(fault: Fault, *, topics: bool = False) -> Answer:
    """An operation's failure."""
    error = (
        element("Type", "Sender" if fault.senders else "Receiver")
        + element("Code", escaped(fault.kind.code))
        + element("Message", escaped(fault.old))
        + "<Detail/>"
    )
    inside = element("Error", error) + element("RequestId", str(uuid4()))
    return _document(fault.status, "ErrorResponse", inside, topics=topics)


def unknown_operation() -> Answer:
    """What AWS says to somebody who asks for nothing."""
    return Answer(404, b"<UnknownOperationException/>\n", TYPE, {"x-amzn-requestid": str(uuid4())})


def _document(status: int, root: str, inside: str, *, topics: bool) -> Answer:
    name = TOPICS if topics else QUEUES
    text = f'<?xml version="1.0"?><{root} xmlns="{name}">{inside}</{root}>'
    return Answer(status, text.encode(), TYPE, {"x-amzn-requestid": str(uuid4())})
