"""The code in the documents runs, and what they name exists."""

import re
from pathlib import Path

import pytest

from rowmq import Client
from rowmq.stores.sql.store import SQLStore

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!http)([^)#]+)")
PYTHON = [(path, text) for path in DOCUMENTS for text in BLOCK.findall(path.read_text())]


@pytest.mark.parametrize(("path", "code"), PYTHON, ids=[path.name for path, _ in PYTHON])
def test_the_python_in_a_document_runs(
    path: Path, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(code, str(path), "exec"), names)  # noqa: S102 - our own documents
    for opened in names.values():
        if isinstance(opened, Client | SQLStore):
            opened.close()
    assert len(names) > 3


def test_the_readme_shows_python_that_runs() -> None:
    assert ROOT / "README.md" in {path for path, _ in PYTHON}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    broken = [link for link in LINK.findall(path.read_text()) if not (path.parent / link).exists()]
    assert broken == []
