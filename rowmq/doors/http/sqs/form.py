"""The query protocol's forms: flat fields with dots and numbers, made into what JSON would have said."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl

from rowmq.doors.http.sqs.errors import Fault

MOST_FIELDS = 2000
DEEPEST = 8
LISTS = {
    "AttributeName": "AttributeNames",
    "MessageAttributeName": "MessageAttributeNames",
    "MessageSystemAttributeName": "MessageSystemAttributeNames",
    "TagKey": "TagKeys",
    "AWSAccountId": "AWSAccountIds",
    "ActionName": "Actions",
    "SendMessageBatchRequestEntry": "Entries",
    "DeleteMessageBatchRequestEntry": "Entries",
    "ChangeMessageVisibilityBatchRequestEntry": "Entries",
}
"""Fields that are repeated, and the list they make."""
MAPS = {
    "Attribute": "Attributes",
    "MessageAttribute": "MessageAttributes",
    "MessageSystemAttribute": "MessageSystemAttributes",
    "Tag": "Tags",
}
"""Fields that are pairs, and the mapping they make."""
Tree = dict[str, Any]


def fields_of(body: bytes) -> list[tuple[str, str]]:
    """The fields of a form. Raises Fault."""
    try:
        return parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise Fault(
            "SerializationException",
            f"The form is not UTF-8, percent-encoded, of at most {MOST_FIELDS} fields.",
        ) from None


def nested(fields: Iterable[tuple[str, str]]) -> Tree:
    """Fields as the parameters of an operation.

    >>> nested([("Attribute.1.Name", "DelaySeconds"), ("Attribute.1.Value", "5"), ("TagKey.1", "team")])
    {'Attributes': {'DelaySeconds': '5'}, 'TagKeys': ['team']}
    """
    tree: Tree = {}
    for name, value in fields:
        _put(tree, name.split(".", DEEPEST), value)
    shaped = _shaped(tree)
    return shaped if isinstance(shaped, dict) else {}


def _put(tree: Tree, path: list[str], value: str) -> None:
    for part in path[:-1]:
        below = tree.setdefault(part, {})
        if not isinstance(below, dict):
            raise Fault("SerializationException", f"{part} is both a value and more than one.")
        tree = below
    tree[path[-1]] = value


def _shaped(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if node.keys() in ({"member"}, {"entry"}):
        return _members(node)
    shaped: Tree = {}
    for name, below in node.items():
        if name in LISTS:
            shaped[LISTS[name]] = [_shaped(each) for each in _numbered(below)]
        elif name in MAPS:
            shaped[MAPS[name]] = _pairs(below)
        else:
            shaped[name] = _shaped(below)
    return shaped


def _members(node: Tree) -> Any:
    """The newer way to say lists and mappings, which topics have."""
    return (
        [_shaped(each) for each in _numbered(node["member"])] if "member" in node else _pairs(node["entry"])
    )


def _numbered(node: Any) -> list[Any]:
    """What is numbered, in order; something without a number is the only one."""
    if not isinstance(node, dict) or not all(name.isdecimal() for name in node):
        return [node]
    return [node[name] for name in sorted(node, key=_number)]


def _number(text: str) -> tuple[int, str]:
    return len(text.lstrip("0")), text.lstrip("0")


def _pairs(node: Any) -> Tree:
    pairs = {}
    for each in _numbered(node):
        if not isinstance(each, dict):
            raise Fault("SerializationException", "A pair has a name and a value.")
        name = next((each[key] for key in ("Name", "Key", "key") if key in each), "")
        value = next((each[key] for key in ("Value", "value") if key in each), "")
        if not isinstance(name, str):
            raise Fault("SerializationException", "A name is a text.")
        pairs[name] = _shaped(value)
    return pairs
