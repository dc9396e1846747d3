from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowmq.core.errors import InvalidMessage, InvalidName
from rowmq.core.message import (
    LARGEST_BODY,
    LARGEST_METADATA,
    Message,
    check_json,
    collapse,
    decode,
    derived_id,
    dump_metadata,
    encode,
)

AWARE = datetime(2026, 1, 1, tzinfo=UTC)
NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001 naive on purpose
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
JSON = st.recursive(SCALARS, lambda part: st.lists(part) | st.dictionaries(st.text(), part), max_leaves=20)


def message(**options: Any) -> Message:
    return Message(**{"id": uuid4(), "body": b"1", **options})


# Validation.


def test_a_message_needs_no_more_than_an_id_and_a_body() -> None:
    plain = message()
    assert (plain.binary, plain.metadata, plain.priority) == (False, {}, 0)
    assert (plain.delay, plain.at, plain.deadline, plain.key, plain.group) == (None, None, None, None, None)
    assert plain.window == timedelta(minutes=5)


@pytest.mark.parametrize(
    "options",
    [
        {"body": b""},
        {"body": bytes(LARGEST_BODY)},
        {"metadata": {"k": "v" * (LARGEST_METADATA - 1)}},
        {"metadata": {"k": ""}},
        {"priority": 9},
        {"delay": timedelta(0)},
        {"delay": timedelta(days=3650)},
        {"at": AWARE},
        {"deadline": AWARE},
        {"window": timedelta(microseconds=1)},
        {"key": "k" * 255, "group": "g" * 255},
    ],
    ids=lambda options: str(options)[:30],
)
def test_a_message_may_be_as_large_and_late_as_allowed(options: dict[str, Any]) -> None:
    message(**options)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"body": bytes(LARGEST_BODY + 1)}, f"at most {LARGEST_BODY} bytes, this one has {LARGEST_BODY + 1}"),
        ({"metadata": {"k": "v" * LARGEST_METADATA}}, f"at most {LARGEST_METADATA} bytes"),
        ({"metadata": {"é": "é" * (LARGEST_METADATA // 2)}}, f"at most {LARGEST_METADATA} bytes"),
        ({"metadata": {"k": 1}}, "strings to strings, but 'k' has 1"),
        ({"metadata": {1: "v"}}, "strings to strings, but 1 has 'v'"),
        ({"metadata": {"": "v"}}, "no empty key"),
        ({"metadata": {"a\0": "v"}}, "no NUL"),
        ({"metadata": {"k": "\0"}}, "no NUL character, but 'k' does"),
        ({"metadata": {"k": "\ud83d"}}, "no lone surrogates, but 'k' does"),
        ({"metadata": {"\ud83d": "v"}}, "no lone surrogates"),
        ({"priority": 10}, "from 0 to 9, not 10"),
        ({"priority": -1}, "from 0 to 9, not -1"),
        ({"priority": 1.5}, "whole number"),
        ({"priority": None}, "whole number"),
        ({"delay": timedelta(1), "at": AWARE}, "a delay or a time, not both"),
        ({"delay": timedelta(microseconds=-1)}, "between 0 and 3650 days"),
        ({"delay": timedelta(days=3650, microseconds=1)}, "between 0 and 3650 days"),
        ({"window": timedelta(0)}, "longer than 0"),
        ({"at": NAIVE}, "time needs a time zone"),
        ({"deadline": NAIVE}, "deadline needs a time zone"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_message_is_refused_with_the_reason(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidMessage, match=complaint):
        message(**options)


@pytest.mark.parametrize("options", [{"key": ""}, {"group": ""}, {"key": "a\n"}, {"group": "x" * 256}])
def test_keys_and_groups_are_names(options: dict[str, str]) -> None:
    with pytest.raises(InvalidName):
        message(**options)


# Payloads.


@given(JSON)
def test_any_json_value_comes_back_as_it_was(payload: object) -> None:
    body, binary = encode(payload)
    assert not binary
    assert decode(body, binary=False) == payload


@given(st.binary())
def test_any_bytes_come_back_as_they_were(payload: bytes) -> None:
    assert encode(payload) == (payload, True)
    assert decode(payload, binary=True) == payload


@pytest.mark.parametrize(
    "payload", [b"x", bytearray(b"x"), memoryview(b"x")], ids=["bytes", "bytearray", "memoryview"]
)
def test_everything_made_of_bytes_is_binary(payload: object) -> None:
    assert encode(payload) == (b"x", True)


@pytest.mark.parametrize(
    ("payload", "body"),
    [
        (None, "null"),
        ("", '""'),
        ({"z": 1, "a": [True, None]}, '{"z":1,"a":[true,null]}'),
        ("é🎉", '"é🎉"'),
        (10**30, "1" + "0" * 30),
        (1.0, "1.0"),
    ],
)
def test_json_text_is_short_and_plain(payload: object, body: str) -> None:
    assert encode(payload) == (body.encode(), False)


def test_a_lone_surrogate_is_escaped_and_comes_back() -> None:
    body, binary = encode({"é": "\ud83d"})
    assert (body, binary) == (b'{"\\u00e9":"\\ud83d"}', False)
    assert decode(body, binary=binary) == {"é": "\ud83d"}


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "payload",
    [float("nan"), float("inf"), {"a": object()}, {1, 2}, {(1, 2): 3}, nested(100_000)],
    ids=["nan", "inf", "object", "set", "tuple key", "deep"],
)
def test_what_is_neither_json_nor_bytes_is_refused(payload: object) -> None:
    with pytest.raises(InvalidMessage, match="bytes or a JSON value"):
        encode(payload)


@pytest.mark.parametrize("body", [b"1", b' {"a": 1.0} ', b'"\\ud83d"', '"é"'.encode()])
def test_json_text_passes_as_it_stands(body: bytes) -> None:
    assert check_json(body) is body


@pytest.mark.parametrize(
    "body", [b"", b"{", b"NaN", b"[Infinity]", b"-Infinity", b"\xff", b"1 2", b"[" * 100_000]
)
def test_what_is_not_json_text_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidMessage, match="not JSON"):
        check_json(body)


# Ids, keys and metadata.


def test_a_derived_id_depends_on_both_parts_and_on_nothing_else() -> None:
    one, two = UUID(int=1), UUID(int=2)
    assert derived_id(one, "a") == derived_id(one, "a")
    assert len({derived_id(id_, name) for id_ in (one, two) for name in ("a", "b")} | {one, two}) == 6


def test_messages_without_keys_are_all_kept() -> None:
    given_ = [message() for _ in range(3)]
    assert collapse(given_) == (given_, [0, 1, 2])


def test_repeated_keys_collapse_to_their_first_message() -> None:
    a, b, plain, a2, b2 = (message(key=key) for key in ("a", "b", None, "a", "b"))
    assert collapse([a, b, a2, plain, b2]) == ([a, b, plain], [0, 1, 0, 2, 1])
    assert collapse([]) == ([], [])


def test_metadata_is_dumped_in_its_own_order() -> None:
    assert dump_metadata({}) is None
    text = dump_metadata({"z": "é", "a": '"'})
    assert text == '{"z":"é","a":"\\""}'
    assert json.loads(text) == {"z": "é", "a": '"'}
