"""A type checker takes what is right in what users write, and refuses what is wrong."""

import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
USAGE = Path(__file__).parent / "usage.py"
MARK = re.compile(r"# error: ([\w|-]+)")
FOUND = re.compile(r":(\d+): error: .*\[([\w-]+)\]$", re.MULTILINE)


def test_wrong_calls_are_refused_and_right_ones_are_not() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(USAGE)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=280)
    found = {(int(line), code) for line, code in FOUND.findall(ran.stdout)}
    wanted = {
        (number, code)
        for number, line in enumerate(USAGE.read_text().splitlines(), 1)
        for mark in MARK.findall(line)
        for code in mark.split("|")
    }
    assert found == wanted, ran.stdout + ran.stderr
    assert len(wanted) > 20


def test_the_package_says_that_it_is_typed_and_ships_whole() -> None:
    assert (files("rowmq") / "py.typed").is_file()
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert "rowmq" in wheel["packages"]
    assert "exclude" not in wheel
