"""Clients that are programs of their own: what they need, and what they print."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.servers import ServerMissingError, skip_or_fail

HERE = Path(__file__).parent
ENVIRONMENT = Path(sys.prefix)
PATIENCE = 280


def found(path: Path) -> Path:
    """The path, if the set-up has installed what should be there."""
    if not path.exists():
        skip_or_fail(ServerMissingError(f"{path.name} is not installed: run make clients"))
    return path


def printed(command: Sequence[str | Path], folder: Path, **environment: str) -> str:
    """What a command prints; it must end well."""
    known = {
        "AWS_ACCESS_KEY_ID": "anybody",
        "AWS_SECRET_ACCESS_KEY": "anything",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(folder / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials"),
        "AWS_PAGER": "",
    }
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, **known, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout
