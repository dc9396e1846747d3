"""What a benchmark prints is written between its marks on the page of results."""

import re
from pathlib import Path

import pytest

from benchmarks.publish import PAGE, between, main, marks, name_of

ROOT = PAGE.parents[1]
SMALL = ["worker", "--store", "sqlite", "--messages", "1000", "--rounds", "1"]


@pytest.fixture
def page(tmp_path: Path) -> Path:
    page = tmp_path / "results.md"
    first, last = marks(name_of(SMALL))
    page.write_text(f"before\n{first}\nold\n{last}\nafter\n")
    return page


def test_a_benchmark_writes_its_table_with_commit_time_and_machine(page: Path) -> None:
    assert main(SMALL, page) == 0
    first, last = marks(name_of(SMALL))
    begin, _, rest = page.read_text().partition(f"{first}\n")
    text, _, end = rest.partition(f"\n{last}")
    assert (begin, end) == ("before\n", "\nafter\n")
    assert re.match(r"Commit \S+, 20\d\d-.* UTC, load .*; \d+ cores of .*\.\n\n\| store \|", text)
    assert "| sqlite | 1000 | 1,000 |" in text
    assert "old" not in text


def test_a_benchmark_that_fails_leaves_the_page_as_it_was(page: Path) -> None:
    before = page.read_text()
    wrong = [*SMALL, "--wrong"]
    with pytest.raises(ValueError, match="no place for worker store sqlite"):
        main(wrong, page)
    page.write_text(before.replace("rounds 1", "rounds 1 wrong"))
    kept = page.read_text()
    assert main(wrong, page) == 2
    assert page.read_text() == kept


def test_pages_have_a_place_for_everything_that_is_published() -> None:
    published = re.findall(r"benchmarks\.publish (.+)", (ROOT / "Makefile").read_text())
    assert len(published) > 5
    for part in ["peers", *(name_of(each.split()) for each in published)]:
        assert "new" in between(PAGE.read_text(), part, "new")
    assert "new" in between((ROOT / "README.md").read_text(), "peers", "new")
