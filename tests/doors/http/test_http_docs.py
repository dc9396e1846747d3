"""docs/http.md: its commands run against a server and print what it says they do."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doors.http.serving import serving
from tests.doors.program import environment

TEXT = (Path(__file__).parents[3] / "docs" / "http.md").read_text()
BLOCKS = re.findall(r"```(sh|json)\n(.*?)```", TEXT, re.DOTALL)
HERE = "http://127.0.0.1:9999"
ANYTHING = "..."


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    if shutil.which("curl") is None:
        assert not os.environ.get("CI"), "curl is missing"
        pytest.skip("curl is missing")
    with serving(f"sqlite:///{tmp_path / 'queue.db'}") as url:
        yield url


def script(url: str) -> str:
    """All commands in order, with a mark after each block; a mark that a document cannot contain."""
    parts = []
    for number, (kind, text) in enumerate(BLOCKS):
        if kind == "sh":
            commands = text.replace("curl -s", "curl -m 30 -Ss").replace(HERE, url)
            parts.append(f"{commands}\nprintf '\\n\\036%s\\n' {number}\n")
    return "set -euo pipefail\n" + "".join(parts)


def told(url: str, folder: Path) -> dict[int, str]:
    """What each block of commands printed, by its number; ours is the rowmq that it runs."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", script(url)],  # noqa: S607 - whichever bash there is
        cwd=folder,
        env=environment(PATH=path, ROWMQ_TOKEN="any"),  # noqa: S106 - no token is asked for
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    pieces = re.split(r"\n\036(\d+)\n", ran.stdout)
    return {int(number): text for text, number in zip(pieces[::2], pieces[1::2], strict=False)}


def agrees(expected: Any, found: Any) -> bool:
    """Whether what was found is what was expected, where that says more than dots."""
    if expected == ANYTHING:
        return True
    if isinstance(expected, dict) and isinstance(found, dict):
        return set(expected) == set(found) and all(agrees(expected[name], found[name]) for name in expected)
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(agrees, expected, found))
    return bool(expected == found)


def last_json(text: str) -> Any:
    """The last JSON document of many that stand side by side."""
    decoder, place, found = json.JSONDecoder(), 0, None
    text = text.strip()
    while place < len(text):
        found, end = decoder.raw_decode(text, place)
        place = len(text) - len(text[end:].lstrip())
    return found


def test_the_commands_run_and_print_what_the_document_says(url: str, tmp_path: Path) -> None:
    printed = told(url, tmp_path)
    expected = [(number, json.loads(text)) for number, (kind, text) in enumerate(BLOCKS) if kind == "json"]
    assert len(expected) > 7
    for number, shape in expected:
        found = last_json(printed[number - 1])
        assert agrees(shape, found), f"{BLOCKS[number - 1][1]}\nprinted {found}\nand not {shape}"
    problems = [text for text in printed.values() if '"status":' in text]
    assert len(problems) == 1, problems
    lines = (tmp_path / "messages.ndjson").read_text().splitlines()
    assert len(lines) >= 2500
    assert json.loads(lines[-1])["state"] == "ready"


def test_every_code_and_path_in_the_document_exists() -> None:
    from rowmq.core import errors  # noqa: PLC0415 - the same
    from rowmq.doors.http import native, problem  # noqa: PLC0415 - only this test compares

    codes = set(re.findall(r"`([A-Z][a-z]+[A-Z]\w+|Forbidden|Unauthorized|Stopping)`", TEXT))
    assert codes <= {*problem.CODES.values(), *vars(errors)}
    paths = [re.sub(r"{\w+}", "[^/]+", route.path) for route in native.family().routes]
    named = set(re.findall(r"9999(/v1/[^\s?'\"]+)", TEXT))
    assert [path for path in named if not any(re.fullmatch(each, path) for each in paths)] == []
