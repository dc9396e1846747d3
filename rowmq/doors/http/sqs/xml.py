"""XML out: results and failures as the query protocol has them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rowmq.doors.http.sqs.text import FORBIDDEN

ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#xD;"}
"""What clients' parsers would otherwise change: a body must have the digest that we say it has."""
SPECIAL = re.compile('[&<>"\r]')
REPEATED = {
    "QueueUrls": "QueueUrl",
    "queueUrls": "QueueUrl",
    "Messages": "Message",
    "Failed": "BatchResultErrorEntry",
    "Results": "ListMessageMoveTasksResultEntry",
}
"""Lists that are their elements, one after the other."""
PAIRS = {
    "Attributes": ("Attribute", "Name"),
    "MessageAttributes": ("MessageAttribute", "Name"),
    "Tags": ("Tag", "Key"),
}
"""Mappings that are pairs, one after the other, and what the first of a pair is called."""


def escaped(text: str) -> str:
    r"""Text as it stands in XML.

    >>> escaped('say "hi" & go\r')
    'say &quot;hi&quot; &amp; go&#xD;'
    """
    return SPECIAL.sub(lambda found: ENTITIES[found[0]], FORBIDDEN.sub("\ufffd", text))


def element(name: str, inside: str) -> str:
    """An element around what is XML already."""
    return f"<{name}>{inside}</{name}>"


def flat(result: Mapping[str, Any], *, entry: str = "") -> str:
    """A result of SQS; ``entry`` is what a successful entry of this batch is called."""
    return "".join(_flat(result, {**REPEATED, "Successful": entry}))


def deep(result: Mapping[str, Any]) -> str:
    """A result of SNS: lists have members, and attributes are entries."""
    return "".join(
        element(name, _entries(value) if name == "Attributes" else _deep(value))
        for name, value in result.items()
        if value is not None
    )


def _flat(result: Mapping[str, Any], repeated: Mapping[str, str]) -> Iterator[str]:
    for name, value in result.items():
        if isinstance(value, list):
            yield from (element(repeated.get(name, name), _inside(each, repeated)) for each in value)
        elif isinstance(value, dict) and name in PAIRS:
            yield from (_pair(*PAIRS[name], key, each, repeated) for key, each in value.items())
        elif value is not None:
            yield element(name, _inside(value, repeated))


def _pair(name: str, first: str, key: str, value: Any, repeated: Mapping[str, str]) -> str:
    return element(name, element(first, escaped(key)) + element("Value", _inside(value, repeated)))


def _inside(value: Any, repeated: Mapping[str, str]) -> str:
    return "".join(_flat(value, repeated)) if isinstance(value, dict) else _plain(value)


def _entries(mapping: Mapping[str, str]) -> str:
    pairs = (
        element("key", escaped(key)) + element("value", escaped(value)) for key, value in mapping.items()
    )
    return "".join(element("entry", pair) for pair in pairs)


def _deep(value: Any) -> str:
    if isinstance(value, list):
        return "".join(element("member", _deep(each)) for each in value)
    if not isinstance(value, dict):
        return _plain(value)
    return deep(value)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return escaped(str(value))
