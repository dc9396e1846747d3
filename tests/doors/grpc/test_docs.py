"""The code in the documents runs, and what they list is all there is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rowmq
from rowmq.doors.grpc import native
from rowmq.doors.grpc.status import TABLE
from tests.doors.http.serving import served
from tests.servers import ServerMissingError, free_port, skip_or_fail

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
OURS, GOMQS = ROOT / "docs/grpc.md", ROOT / "docs/from-gomq.md"
MODULES = ROOT / ".venv/javascript_grpc/node_modules"


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    found = free_port()
    with served("-d", "queue.db", "--grpc-port", str(found), folder=tmp_path):
        yield found


def code(path: Path, language: str, port: int) -> str:
    (text,) = re.findall(rf"```{language}\n(.*?)```", path.read_text(), re.DOTALL)
    assert "127.0.0.1:10001" in text
    return str(text).replace("10001", str(port))


def said(command: list[str], **environment: str) -> str:
    ran = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize(("path", "printed"), [(OURS, "{'order': 7}\n"), (GOMQS, "[('orders', b'7')]\n")])
def test_the_python_in_a_document_runs(path: Path, printed: str, port: int) -> None:
    assert said([sys.executable, "-c", code(path, "py", port)]) == printed


def test_the_javascript_in_the_document_runs(port: int) -> None:
    node = shutil.which("node")
    if node is None or not MODULES.exists():
        skip_or_fail(ServerMissingError("the JavaScript client of gRPC is not installed; run: make clients"))
    assert said([node, "-e", code(OURS, "js", port)], NODE_PATH=str(MODULES)) == "published\n"
    with rowmq.connect(f"grpc://127.0.0.1:{port}") as mq:
        mq.topic("orders").subscribe("billing")
        assert [each.payload for each in mq.queue("billing").claim()] == [b"7"]


def test_every_call_and_every_status_is_in_the_document() -> None:
    text = OURS.read_text()
    assert [each.name for each in native.METHODS if f"`{each.name}`" not in text] == []
    assert [code.name for code, _ in TABLE.values() if f"`{code.name}`" not in text] == []
