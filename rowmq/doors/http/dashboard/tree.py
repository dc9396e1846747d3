"""JSON as a tree of a bounded size, with every number as it is written."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rowmq.doors.http.dashboard.words import visible

MOST_NODES = 2_000
"""How many values are shown, in all."""
DEEPEST = 24
"""How many levels are shown."""
LONGEST_VALUE = 2_000
"""How many characters of one text, number or key are shown."""
OPEN_NODES = 60
"""How many values a branch may have and still be open from the start."""
OPEN_LEVELS = 3


class _Number(str):
    """A number as it is written: 1.0 is not 1, and 1e400 is no infinity."""

    __slots__ = ()


class _Object(list[tuple[str, Any]]):
    """An object's fields in their order, also two of a name."""


@dataclass(slots=True, kw_only=True)
class Node:
    """One value: its key, if it has one, and what it says or what is in it."""

    sort: str
    """object, array, string, number or word."""
    key: str | None = None
    text: str = ""
    cut: int = 0
    """How many characters are left out."""
    count: int = 0
    """How many values are directly in it, shown or not."""
    children: "list[Node]" = field(default_factory=list)
    opened: bool = False

    @property
    def inner(self) -> bool:
        """Whether it is an object or an array."""
        return self.sort in ("object", "array")

    @property
    def left(self) -> int:
        """How many of the values in it are not shown."""
        return self.count - len(self.children)


def tree_of(body: bytes) -> Node | None:
    """The tree of a JSON text, or None if it is none, or too deep to be read."""
    try:
        value = _parsed(body.decode())
    except (ValueError, RecursionError):
        return None
    return _Growth().grown(value, None, 0)


def indented(text: str) -> str:
    """JSON text with a line for each value, and nothing else of it changed; or as it is, if it is none.

    >>> print(indented('{"a": [1.0, 1e400], "a": {}}'))
    {
      "a": [
        1.0,
        1e400
      ],
      "a": {}
    }
    """
    try:
        return _indented(_parsed(text), "\n")
    except (ValueError, RecursionError):
        return text


def _parsed(text: str) -> Any:
    return json.loads(
        text, parse_int=_Number, parse_float=_Number, parse_constant=_Number, object_pairs_hook=_Object
    )


def _indented(value: Any, line: str) -> str:
    if not isinstance(value, list):
        return str(value) if isinstance(value, _Number) else _quoted(value)
    inner, (first, last) = f"{line}  ", "{}" if isinstance(value, _Object) else "[]"
    if isinstance(value, _Object):
        parts = [f"{_quoted(key)}: {_indented(each, inner)}" for key, each in value]
    else:
        parts = [_indented(each, inner) for each in value]
    return f"{first}{inner}{f',{inner}'.join(parts)}{line}{last}" if parts else f"{first}{last}"


def _quoted(value: Any) -> str:
    """A text or a word, with the escapes that it cannot do without."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)


class _Growth:
    """Grows a tree as long as there is room."""

    def __init__(self) -> None:
        self._room = MOST_NODES

    def grown(self, value: Any, key: str | None, level: int) -> Node:
        self._room -= 1
        name = None if key is None else _shortened(key)[0]
        if isinstance(value, list):
            return self._branch(value, name, level)
        text, sort = _leaf(value)
        shown, cut = _shortened(text)
        return Node(sort=sort, key=name, text=shown, cut=cut)

    def _branch(self, value: Sequence[Any], key: str | None, level: int) -> Node:
        sort = "object" if isinstance(value, _Object) else "array"
        before = self._room
        children = list(self._children(value, level + 1)) if level < DEEPEST else []
        small = before - self._room <= OPEN_NODES
        opened = level == 0 or (small and level < OPEN_LEVELS)
        return Node(sort=sort, key=key, count=len(value), children=children, opened=opened)

    def _children(self, value: Sequence[Any], level: int) -> Iterator[Node]:
        for each in value:
            if self._room <= 0:
                return
            key, inner = each if isinstance(value, _Object) else (None, each)
            yield self.grown(inner, key, level)


def _leaf(value: Any) -> tuple[str, str]:
    if isinstance(value, _Number):
        return str(value), "number"
    if isinstance(value, str):
        return value, "string"
    return json.dumps(value), "word"


def _shortened(text: str) -> tuple[str, int]:
    """The beginning of a text, with nothing hidden in it, and how much is left out."""
    return visible(text[:LONGEST_VALUE]), max(len(text) - LONGEST_VALUE, 0)
