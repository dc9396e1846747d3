from __future__ import annotations

from typing import Any

import pytest

from rowmq.core.errors import InvalidSetting
from rowmq.core.where import Condition, holds, where


@pytest.mark.parametrize(
    ("condition", "metadata", "expected"),
    [
        (Condition("a", "=", ("1",)), {"a": "1"}, True),
        (Condition("a", "=", ("1",)), {"a": "2"}, False),
        (Condition("a", "=", ("1",)), {}, False),
        (Condition("a", "=", ("",)), {"a": ""}, True),
        (Condition("a", "=", ("",)), {}, False),
        (Condition("a", "!=", ("1",)), {"a": "2"}, True),
        (Condition("a", "!=", ("1",)), {"a": "1"}, False),
        (Condition("a", "!=", ("1",)), {}, True),
        (Condition("a", "in", ("1", "2")), {"a": "2"}, True),
        (Condition("a", "in", ("1", "2")), {"a": "3"}, False),
        (Condition("a", "in", ("1", "2")), {}, False),
        (Condition("a", "exists"), {"a": ""}, True),
        (Condition("a", "exists"), {"b": "1"}, False),
        (Condition("A", "exists"), {"a": "1"}, False),
    ],
)
def test_a_condition_holds_or_not(condition: Condition, metadata: dict[str, str], expected: bool) -> None:
    assert condition.holds(metadata) is expected


def test_all_conditions_must_hold() -> None:
    both = (Condition("a", "=", ("1",)), Condition("b", "exists"))
    assert holds(both, {"a": "1", "b": ""})
    assert not holds(both, {"a": "1"})
    assert holds((), {})


def test_a_plain_mapping_means_equal_or_one_of() -> None:
    assert where({"a": "xy", "b": ["1", "2"], "c": ("3",)}) == (
        Condition("a", "=", ("xy",)),
        Condition("b", "in", ("1", "2")),
        Condition("c", "in", ("3",)),
    )
    assert where({}) == ()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("a", "<", ("1",)), "operator is one of =, !=, in, exists, not '<'"),
        (("a", "="), "'=' does not take 0 values"),
        (("a", "=", ("1", "2")), "'=' does not take 2 values"),
        (("a", "!=", ()), "'!=' does not take 0 values"),
        (("a", "in", ()), "'in' does not take 0 values"),
        (("a", "in", ("x",) * 1001), "'in' does not take 1001 values"),
        (("a", "exists", ("1",)), "'exists' does not take 1 values"),
        ((1, "exists"), "strings without NUL, not 1"),
        (("a\0", "exists"), "strings without NUL"),
        (("a", "=", (1,)), "strings without NUL, not 1"),
        (("a", "=", ("\0",)), "strings without NUL"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_wrong_condition_is_refused_with_the_reason(arguments: tuple[Any, ...], complaint: str) -> None:
    with pytest.raises(InvalidSetting, match=complaint):
        Condition(*arguments)


def test_an_empty_choice_is_refused_rather_than_never_met() -> None:
    with pytest.raises(InvalidSetting):
        where({"a": []})
