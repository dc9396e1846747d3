"""The program, in a directory of its own."""

import os
from pathlib import Path

import pytest

from tests.doors.program import Program


@pytest.fixture
def rowmq(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """Run commands in a new directory, with nothing of ours in the environment."""
    for name in [name for name in os.environ if name.startswith("ROWMQ_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return Program(tmp_path, capsys)
