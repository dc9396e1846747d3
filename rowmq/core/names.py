"""What may be a name: of a queue, topic, group, dedup key, consumer, claim or schedule."""

import unicodedata

from rowmq.core.errors import InvalidName

LONGEST_NAME = 255
_FORBIDDEN = {"Cc": "control characters", "Cs": "lone surrogates"}


def check_name(name: object, what: str = "queue name") -> str:
    """Return the name if it may be one: 1 to 255 characters of Unicode, none of them a control character."""
    if not isinstance(name, str):
        raise InvalidName(f"a {what} is a string, not {type(name).__name__}")
    if not 1 <= len(name) <= LONGEST_NAME:
        raise InvalidName(f"a {what} has 1 to {LONGEST_NAME} characters, this one has {len(name)}")
    if not name.isprintable():
        _refuse_forbidden(name, what)
    return name


def _refuse_forbidden(name: str, what: str) -> None:
    for character in name:
        kind = _FORBIDDEN.get(unicodedata.category(character))
        if kind:
            raise InvalidName(f"a {what} has no {kind}, but {name!r} does")
