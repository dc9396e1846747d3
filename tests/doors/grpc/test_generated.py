"""The code that protoc wrote is what it would write today."""

from importlib.resources import files
from pathlib import Path

import pytest
from grpc_tools import protoc

ROOT = Path(__file__).parents[3]
KNOWN = files("grpc_tools") / "_proto"
PROTOS = ("rowmq/doors/grpc/routeguide", "rowmq/stores/grpc/rowmq")


@pytest.mark.parametrize("name", PROTOS)
def test_the_generated_code_is_current(name: str, tmp_path: Path) -> None:
    where = ["", f"-I{ROOT}", f"-I{KNOWN}", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    assert protoc.main([*where, f"{name}.proto"]) == 0
    for suffix in ("_pb2.py", "_pb2.pyi"):
        written = (tmp_path / (name + suffix)).read_text()
        assert (ROOT / (name + suffix)).read_text() == written, f"{name}{suffix} is old; run: make proto"
