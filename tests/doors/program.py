"""The program, run in this process or as a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rowmq.doors.cli.program import run


class Ran(NamedTuple):
    """How a run ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


class Program:
    """Runs commands in one directory, here."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capture = folder, capture

    def __call__(self, *arguments: str, code: int | None = 0) -> Ran:
        self._capture.readouterr()
        got = run(list(arguments))
        ran = Ran(got, *self._capture.readouterr())
        assert code is None or got == code, ran
        assert "Traceback" not in ran.err
        return ran


def environment(**extra: str) -> dict[str, str]:
    """The variables of a process: none of ours but those given, and no port to quarrel about."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ROWMQ_")}
    return kept | {"ROWMQ_SERVER_GRPC_PORT": "0"} | extra


def process(*arguments: str, folder: Path, **extra: str) -> subprocess.Popen[str]:
    """Start the program in a directory."""
    command = [sys.executable, "-m", "rowmq", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment(**extra)
    )


def finished(*arguments: str, folder: Path, given: str | None = None, **extra: str) -> Ran:
    """Run the program in a directory to its end."""
    with process(*arguments, folder=folder, **extra) as started:
        out, err = started.communicate(given, timeout=60)
        return Ran(started.returncode, out, err)
