"""Conditions on a message's metadata: equal, not equal, one of, present."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from rowmq.core.errors import InvalidSetting

Operator = Literal["=", "!=", "in", "exists"]
_OPERATORS: dict[str, range] = {"=": range(1, 2), "!=": range(1, 2), "in": range(1, 1001), "exists": range(1)}

_CONDITION = re.compile(r"([^=!]+)(?:(!?=)(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on one metadata key. ``!=`` also holds where the key is missing.

    >>> Condition("lang", "in", ("en", "de")).holds({"lang": "de"})
    True
    >>> Condition("lang", "exists").holds({})
    False
    """

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.operator not in _OPERATORS:
            raise InvalidSetting(
                f"a condition's operator is one of {', '.join(_OPERATORS)}, not {self.operator!r}"
            )
        if len(self.values) not in _OPERATORS[self.operator]:
            raise InvalidSetting(f"operator {self.operator!r} does not take {len(self.values)} values")
        for text in (self.key, *self.values):
            if not isinstance(text, str) or "\0" in text:
                raise InvalidSetting(f"a condition's key and values are strings without NUL, not {text!r}")

    def holds(self, metadata: Mapping[str, str]) -> bool:
        """Whether a message with this metadata meets the condition."""
        value = metadata.get(self.key)
        if self.operator == "!=":
            return value != self.values[0]
        return value is not None if self.operator == "exists" else value in self.values


Where = tuple[Condition, ...]


def where(conditions: Mapping[str, str | Iterable[str]]) -> Where:
    """Conditions from a plain mapping: a string must be equal, several strings mean one of them.

    >>> where({"v": "1", "lang": ["en", "de"]})[1]
    Condition(key='lang', operator='in', values=('en', 'de'))
    """
    return tuple(
        Condition(key, "=", (value,)) if isinstance(value, str) else Condition(key, "in", tuple(value))
        for key, value in conditions.items()
    )


def condition_of(text: str) -> Condition | None:
    """A condition from ``key=value``, ``key!=value`` or ``key`` alone; None if it is none of these.

    >>> condition_of("lang!=en")
    Condition(key='lang', operator='!=', values=('en',))
    """
    found = _CONDITION.fullmatch(text)
    if found is None:
        return None
    key, operator, value = found.groups()
    if operator is None:
        return Condition(key, "exists")
    return Condition(key, "=" if operator == "=" else "!=", (value,))


def holds(conditions: Where, metadata: Mapping[str, str]) -> bool:
    """Whether metadata meets every condition."""
    return all(condition.holds(metadata) for condition in conditions)
