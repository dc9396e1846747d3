"""Notes about a bounded number of names."""

from rowmq.stores.recent import Recent


def test_the_name_noted_longest_ago_is_forgotten_first() -> None:
    notes: Recent[str, int] = Recent(2)
    for name, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        notes.note(name, value)
    assert [notes.get(name, 0) for name in "abc"] == [3, 0, 4]
    assert (notes.pop("a", 0), notes.get("a", 0), len(notes)) == (3, 0, 1)
