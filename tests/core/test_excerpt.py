"""Long texts keep both their ends."""

from hypothesis import given
from hypothesis import strategies as st

from rowmq.core.excerpt import GAP, cut


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    assert cut("a" * 100 + "z" * 100, 23) == "a" * 10 + GAP + "z" * 10
    assert cut("short", 23) == "short"


@given(st.text(), st.integers(5, 50))
def test_what_is_cut_is_never_longer_than_it_may_be(text: str, longest: int) -> None:
    found = cut(text, longest)
    assert len(found) <= longest
    assert found == text or GAP in found
