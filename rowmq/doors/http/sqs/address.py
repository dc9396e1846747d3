"""Where queues and topics are: their URLs and ARNs."""

from urllib.parse import quote, unquote

from rowmq.core.names import check_name
from rowmq.doors.http.request import Request
from rowmq.doors.http.sqs.errors import Fault, invalid
from rowmq.doors.http.sqs.settings import Settings

PARTS_OF_ARN = 6


def queue_named_by(url: str) -> str:
    """The queue's name in a queue URL, whatever its host and account, or a bare name.

    >>> queue_named_by("http://localhost:9999/000000000000/emails"), queue_named_by("emails")
    ('emails', 'emails')
    """
    name = unquote(url.rstrip("/").rpartition("/")[2])
    if not name:
        raise Fault("InvalidAddress", f"The address {url} is not valid for this endpoint.")
    return check_name(name)


def queue_url(request: Request, settings: Settings, name: str) -> str:
    """A queue's URL, with the host by which the caller found us unless another one was set."""
    root = settings.public_url or f"{request.scope['scheme']}://{_host(request)}"
    return f"{root.rstrip('/')}/{settings.account}/{quote(name, safe='')}"


def queue_arn(settings: Settings, name: str) -> str:
    """A queue's ARN."""
    return f"arn:aws:sqs:{settings.region}:{settings.account}:{name}"


def topic_arn(settings: Settings, name: str) -> str:
    """A topic's ARN."""
    return f"arn:aws:sns:{settings.region}:{settings.account}:{name}"


def named_by_arn(arn: str, parameter: str, *, kind: str = "sqs") -> str:
    """The name at the end of an ARN of that kind.

    >>> named_by_arn("arn:aws:sqs:us-east-1:000000000000:emails", "SourceArn")
    'emails'
    """
    parts = arn.split(":", PARTS_OF_ARN - 1)
    if len(parts) != PARTS_OF_ARN or parts[0] != "arn" or parts[2] != kind or not parts[-1]:
        raise invalid(f"Value {arn} for parameter {parameter} is invalid. Reason: it is no ARN of {kind}.")
    return check_name(parts[-1], "name")


def _host(request: Request) -> str:
    named = request.header(b"host")
    if named is not None:
        return named
    host, port = request.scope["server"]
    return f"{host}:{port}"
