"""How payloads are shown, whatever is in them."""

import doctest
import json
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowmq.doors.http.dashboard import failure, payload, queue
from rowmq.doors.http.dashboard import tree as tree_module
from rowmq.doors.http.dashboard.payload import LONGEST_DUMP, LONGEST_TEXT, Kind, lines, shown
from rowmq.doors.http.dashboard.tree import DEEPEST, LONGEST_VALUE, MOST_NODES, Node, tree_of


def tree(text: str) -> Node:
    found = tree_of(text.encode())
    assert found is not None
    return found


def nodes(node: Node) -> list[Node]:
    return [node, *(inner for child in node.children for inner in nodes(child))]


@pytest.mark.parametrize("module", [payload, tree_module, failure, queue], ids=lambda module: module.__name__)
def test_the_examples_are_true(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def test_json_is_a_tree_of_its_values() -> None:
    found = tree('{"to": "ada", "tries": [1, null, true], "none": {}}')
    assert (found.sort, found.count, found.opened) == ("object", 3, True)
    assert [(each.key, each.sort, each.text) for each in found.children] == [
        ("to", "string", "ada"),
        ("tries", "array", ""),
        ("none", "object", ""),
    ]
    assert [each.text for each in found.children[1].children] == ["1", "null", "true"]


@pytest.mark.parametrize(
    "number", ["1.0", "1e400", "-0", "123456789012345678901234567890", "9" * 1999, "1E5"]
)
def test_a_number_is_shown_as_it_is_written(number: str) -> None:
    assert tree(f"[{number}]").children[0].text == number


def test_both_fields_of_a_name_are_shown() -> None:
    assert [each.text for each in tree('{"a": 1, "a": 2}').children] == ["1", "2"]


def test_a_large_tree_is_cut_and_says_by_how_much() -> None:
    found = tree(json.dumps(list(range(10_000))))
    assert len(found.children) == MOST_NODES - 1
    assert found.left == 10_000 - len(found.children)


def test_room_is_shared_by_the_whole_tree() -> None:
    found = tree(json.dumps([list(range(100))] * 100))
    assert len(nodes(found)) == MOST_NODES
    assert sum(each.left for each in nodes(found)) > 0


def test_a_deep_tree_is_cut_and_says_so() -> None:
    found = tree("[" * 500 + "]" * 500)
    assert len(nodes(found)) == DEEPEST + 1
    assert nodes(found)[-1].left == 1


def test_what_is_too_deep_to_be_read_is_shown_as_text() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    found = shown(deep, binary=False)
    assert (found.tree, found.kind, found.size) == (None, Kind.JSON, 200_000)
    assert found.text is not None
    assert len(found.text) == LONGEST_TEXT
    assert found.text_cut


def test_a_long_text_is_cut_and_says_by_how_much() -> None:
    leaf = tree(json.dumps({"k" * 9000: "x" * 5000})).children[0]
    assert (len(leaf.text), leaf.cut) == (LONGEST_VALUE, 3000)
    assert len(leaf.key or "") == LONGEST_VALUE


def test_large_json_is_not_read_for_a_page_but_its_beginning_is_shown() -> None:
    body = json.dumps(["x" * 100] * 10_000).encode()
    found = shown(body, binary=False)
    assert (found.tree, found.size, found.text_cut) == (None, len(body), True)
    assert (found.text or "").startswith('["xxx')


def test_bytes_are_shown_in_hexadecimal() -> None:
    found = shown(bytes(range(256)), binary=True)
    assert (found.kind, found.text, found.tree) == (Kind.BYTES, None, None)
    rows = (found.dump or "").splitlines()
    assert len(rows) == 16
    assert rows[4] == "00000040  40 41 42 43 44 45 46 47  48 49 4a 4b 4c 4d 4e 4f  |@ABCDEFGHIJKLMNO|"
    assert rows[15].endswith("|................|")


def test_many_bytes_are_cut() -> None:
    found = shown(bytes(range(256)) * 400, binary=True)
    assert len((found.dump or "").splitlines()) == LONGEST_DUMP // 16
    assert (found.dump_cut, found.size) == (True, 102_400)


def test_text_in_bytes_is_shown_as_text_too() -> None:
    found = shown("grüße\n42".encode(), binary=True)
    assert (found.kind, found.text) == (Kind.TEXT, "grüße\n42")
    assert found.dump is not None


def test_an_object_in_bytes_is_shown_as_a_tree_and_a_number_as_text() -> None:
    assert shown(b'{"a": 1}', binary=True).kind is Kind.JSON
    assert shown(b"42", binary=True).kind is Kind.TEXT
    assert shown(b"42", binary=False).kind is Kind.JSON


def test_a_dropped_payload_is_called_that() -> None:
    assert shown(None, binary=False).kind is Kind.DROPPED


def test_an_empty_payload_is_an_empty_text() -> None:
    found = shown(b"", binary=True)
    assert (found.kind, found.text, found.size) == (Kind.TEXT, "", 0)


@pytest.mark.parametrize("hidden", ["\u202e", "\u2028", "\ud800", "\x1b", "\u200b", "\x7f"])
def test_nothing_hides_in_a_text_or_a_tree(hidden: str) -> None:
    assert tree(json.dumps([hidden])).children[0].text == f"⟨U+{ord(hidden):04X}⟩"
    assert lines(f"a{hidden}\nb") == f"a⟨U+{ord(hidden):04X}⟩\nb"


@given(st.binary() | st.text().map(str.encode), st.booleans())
def test_whatever_it_is_can_be_shown_and_sent(body: bytes, binary: bool) -> None:
    found = shown(body, binary=binary)
    assert found.size == len(body)
    assert found.tree is not None or found.text is not None or found.dump is not None
    texts = [each.text + (each.key or "") for each in ([] if found.tree is None else nodes(found.tree))]
    "".join([*texts, found.text or "", found.dump or ""]).encode()
