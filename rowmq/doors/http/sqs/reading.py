"""From what was sent to an operation's parameters, with AWS's words for what is wrong with them."""

import re
from typing import Any

import msgspec

from rowmq.doors.http.sqs.errors import Fault, missing
from rowmq.doors.http.sqs.shapes import Shape

MISSING = re.compile(r"missing required field `(\w+)`")


def read(takes: type[Shape], given: dict[str, Any]) -> Shape:
    """The parameters. Raises Fault."""
    present = {name: value for name, value in given.items() if value is not None}
    try:
        return msgspec.convert(present, takes, strict=False)
    except msgspec.ValidationError as error:
        found = MISSING.search(str(error))
        raise missing(found[1]) if found else _malformed(error) from None
    except RecursionError:
        raise _malformed("it is nested too deeply") from None


def _malformed(error: object) -> Fault:
    return Fault("SerializationException", f"The request is not what it should be: {error}")
