"""The code that protoc wrote is what it would write today."""

from pathlib import Path

import pytest
from grpc_tools import protoc

ROOT = Path(__file__).parents[3]
PROTOS = ("rowmq/doors/grpc/routeguide", "rowmq/stores/grpc/rowmq")


@pytest.mark.parametrize("name", PROTOS)
def test_the_generated_code_is_current(name: str, tmp_path: Path) -> None:
    assert (
        protoc.main(["", f"-I{ROOT}", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", f"{name}.proto"])
        == 0
    )
    for suffix in ("_pb2.py", "_pb2.pyi"):
        written = (tmp_path / (name + suffix)).read_text()
        assert (ROOT / (name + suffix)).read_text() == written, f"run: make proto ({name}{suffix} is old)"
