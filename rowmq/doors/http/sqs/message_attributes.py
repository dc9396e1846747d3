"""Message attributes: checked, kept as metadata, and read back exactly.

An attribute of type String is metadata of its name, so that other doors' consumers find it and other doors'
metadata is found here. Any other type is kept with its type under a reserved name.
"""

import base64
import json
import math
import re
from binascii import Error
from collections.abc import Iterable, Mapping

from rowmq.doors.http.sqs.errors import Fault, invalid
from rowmq.doors.http.sqs.md5 import Attribute
from rowmq.doors.http.sqs.reserved import ATTRIBUTE, PREFIX
from rowmq.doors.http.sqs.shapes import Value
from rowmq.doors.http.sqs.text import FORBIDDEN

MOST = 10
LONGEST = 256
NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
TAKEN = ("aws.", "amazon.")
TYPES = ("String", "Number", "Binary")
EVERYTHING = frozenset({"All", ".*"})


def read_attributes(given: Mapping[str, Value] | None) -> dict[str, Attribute]:
    """The attributes of a message to be sent, checked."""
    if given and len(given) > MOST:
        raise invalid(f"Number of message attributes [{len(given)}] exceeds the allowed maximum [{MOST}].")
    return {name: _read(name, value) for name, value in (given or {}).items()}


def as_metadata(attributes: Mapping[str, Attribute]) -> dict[str, str]:
    """Attributes as a message's metadata."""
    return dict(_kept(name, attribute) for name, attribute in attributes.items())


def of_metadata(metadata: Mapping[str, str]) -> dict[str, Attribute]:
    """The attributes in a message's metadata, whichever door they came through."""
    found = {}
    for key, value in metadata.items():
        if key.startswith(ATTRIBUTE):
            found[key.removeprefix(ATTRIBUTE)] = Attribute(*json.loads(value))
        elif not key.startswith(PREFIX) and NAME.fullmatch(key):
            found[key] = Attribute("String", value)
    return found


def chosen(attributes: Mapping[str, Attribute], names: Iterable[str] | None) -> dict[str, Attribute]:
    """The attributes asked for: by name, by prefix as in ``foo.*``, or all."""
    wanted = list(names or ())
    if not EVERYTHING.isdisjoint(wanted):
        return dict(attributes)
    starts = tuple(name[:-1] for name in wanted if name.endswith(".*"))
    return {
        name: each
        for name, each in attributes.items()
        if name in wanted or (starts and name.startswith(starts))
    }


def shown(attribute: Attribute) -> dict[str, str]:
    """An attribute as AWS shows it."""
    place = "BinaryValue" if attribute.binary else "StringValue"
    return {place: attribute.value, "DataType": attribute.type}


def size(attributes: Mapping[str, Attribute]) -> int:
    """How much of a message's size they are."""
    return sum(len(name) + len(each.type.encode()) + len(each.raw) for name, each in attributes.items())


def _kept(name: str, attribute: Attribute) -> tuple[str, str]:
    if attribute.type == "String":
        return name, attribute.value
    return ATTRIBUTE + name, json.dumps(attribute, ensure_ascii=False)


def _read(name: str, value: Value) -> Attribute:
    _check_name(name)
    if not value.data_type:
        raise invalid(f"The message attribute '{name}' must contain a non-empty message attribute type.")
    if value.data_type.partition(".")[0] not in TYPES or len(value.data_type) > LONGEST:
        raise invalid(
            f"The type of message (user) attribute '{name}' is invalid. "
            "You must use only the following supported type prefixes: Binary, Number, String."
        )
    attribute = Attribute(value.data_type, _value(name, value))
    if attribute.type.startswith("Number"):
        _check_number(attribute.value)
    return attribute


def _value(name: str, value: Value) -> str:
    if value.string_list_values or value.binary_list_values:
        raise Fault("UnsupportedOperation", "Message attribute list values in SendMessage are not supported.")
    binary = (value.data_type or "").startswith("Binary")
    text = value.binary_value if binary else value.string_value
    if not text:
        raise invalid(
            f"The message attribute '{name}' must contain a non-empty message attribute value "
            f"for message attribute type '{value.data_type}'."
        )
    return _canonical(name, text) if binary else _storable(text)


def _canonical(name: str, text: str) -> str:
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode()
    except (Error, ValueError):
        raise invalid(f"The message attribute '{name}' is not base64.") from None


def _storable(text: str) -> str:
    if FORBIDDEN.search(text):
        raise Fault("InvalidMessageContents", "Invalid binary character found in a message attribute value.")
    return text


def _check_name(name: str) -> None:
    if len(name) > LONGEST or not NAME.fullmatch(name) or name.lower().startswith(TAKEN):
        raise invalid(
            f"The message attribute name '{name[:LONGEST]}' is invalid. Attribute name can contain A-Z, a-z, "
            "0-9, underscore (_), hyphen (-), and period (.) characters, begins with neither AWS. nor "
            f"Amazon. and has at most {LONGEST} characters."
        )


def _check_number(text: str) -> None:
    try:
        if math.isfinite(float(text)):
            return
    except ValueError:
        pass
    raise invalid(f"Can't cast the value of message (user) attribute '{text[:LONGEST]}' to a number.")
