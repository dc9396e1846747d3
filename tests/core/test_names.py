from __future__ import annotations

import pytest

from rowmq.core.errors import InvalidName
from rowmq.core.names import check_name


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "x" * 255,
        "🎉" * 255,
        " ",
        "it's",
        "日本語",
        "שלום",
        "a\u200bb",
        "\u00a0",
        "\u2028",
        "\ue000",
        "e\u0301",
    ],
    ids=ascii,
)
def test_any_text_without_control_characters_is_a_name(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("", "1 to 255 characters, this one has 0"),
        ("x" * 256, "this one has 256"),
        ("a\nb", "no control characters"),
        ("\0", "no control characters"),
        ("\x1ftopic", "no control characters"),
        ("\x7f", "no control characters"),
        ("\x9f", "no control characters"),
        ("\ud83d", "no lone surrogates"),
        (5, "is a string, not int"),
        (None, "is a string, not NoneType"),
        (b"a", "is a string, not bytes"),
    ],
    ids=ascii,
)
def test_what_is_no_name_is_refused_with_the_reason(name: object, complaint: str) -> None:
    with pytest.raises(InvalidName, match=complaint):
        check_name(name)


def test_a_refusal_says_what_the_name_was_for() -> None:
    with pytest.raises(InvalidName, match=r"^a dedup key has"):
        check_name("", "dedup key")
