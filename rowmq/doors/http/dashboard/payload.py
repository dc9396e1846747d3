"""How a payload is shown: JSON as a tree, text as text, bytes in hexadecimal; each no larger than a page."""

import codecs
from dataclasses import dataclass
from enum import StrEnum

from rowmq.doors.http.dashboard.tree import Node, tree_of
from rowmq.doors.http.dashboard.words import visible

LARGEST_TREE = 512 * 1024
"""More bytes than these are not read as JSON for a page."""
LONGEST_TEXT = 32 * 1024
"""How many characters of a text are shown."""
LONGEST_PREVIEW = 160
"""How many characters of a payload a list shows."""
LONGEST_DUMP = 4 * 1024
"""How many bytes are shown in hexadecimal."""
ROW = 16


class Kind(StrEnum):
    """What a payload looks like, whatever it was pushed as."""

    JSON = "JSON"
    TEXT = "text"
    BYTES = "bytes"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A payload as far as it is shown."""

    kind: Kind
    size: int = 0
    """Its bytes, all of them."""
    binary: bool = False
    """Whether it was pushed as bytes."""
    tree: Node | None = None
    text: str | None = None
    text_cut: bool = False
    dump: str | None = None
    dump_cut: bool = False


def shown(body: bytes | None, *, binary: bool) -> Shown:
    """A payload, or a result, as it is shown; bytes that are JSON or text are shown as that too."""
    if body is None:
        return Shown(kind=Kind.DROPPED)
    text, tree = _text(body), tree_of(body) if len(body) <= LARGEST_TREE else None
    if binary and tree is not None and not tree.inner:
        tree = None  # a plain word in bytes is a text, also if it happens to be a number
    return Shown(
        kind=Kind.JSON if tree is not None or not binary else Kind.BYTES if text is None else Kind.TEXT,
        size=len(body),
        binary=binary,
        tree=tree,
        text=None if text is None else lines(text[:LONGEST_TEXT]),
        text_cut=text is not None and len(text) > LONGEST_TEXT,
        dump=dump(body[:LONGEST_DUMP]) if binary or text is None else None,
        dump_cut=len(body) > LONGEST_DUMP,
    )


def preview(body: bytes | None) -> str:
    r"""The beginning of a payload on one line, for a list.

    >>> preview(b'{"to": "ada"}'), preview(b"\x00\xff")
    ('{"to": "ada"}', '00 ff')
    """
    if body is None:
        return ""
    text, more = (
        _text(body[: 4 * LONGEST_PREVIEW], whole=len(body) <= 4 * LONGEST_PREVIEW),
        "…" if len(body) > LONGEST_PREVIEW else "",
    )
    if text is None:
        return body[: LONGEST_PREVIEW // 3].hex(" ") + ("…" if len(body) > LONGEST_PREVIEW // 3 else "")
    return visible(" ".join(text[:LONGEST_PREVIEW].split())) + more


def lines(text: str) -> str:
    r"""Text of several lines in which nothing hides; what ends a line still does.

    >>> lines("a\tb\r\nc\x00")
    'a\tb\nc⟨U+0000⟩'
    """
    parts = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(visible(each) for each in part.split("\t")) for part in parts)


def dump(body: bytes) -> str:
    r"""Bytes in hexadecimal, sixteen a line, with their places and what of them is text.

    >>> print(dump(b"RowMQ\x00\xff"))
    00000000  52 6f 77 4d 51 00 ff                              |RowMQ..|
    """
    return "\n".join(_row(place, body[place : place + ROW]) for place in range(0, len(body), ROW))


def _row(place: int, part: bytes) -> str:
    halves = [part[:8].hex(" "), part[8:].hex(" ")]
    plain = "".join(chr(each) if 0x20 <= each < 0x7F else "." for each in part)  # noqa: PLR2004 - printable ASCII
    return f"{place:08x}  {halves[0]:<23}  {halves[1]:<23}  |{plain}|"


def _text(body: bytes, *, whole: bool = True) -> str | None:
    """The body as text, unless it is none: not UTF-8, or with characters that no text has.

    Of one that is not whole, the last character may be broken.
    """
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(body, final=whole)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
