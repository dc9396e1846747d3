"""Each system in an environment of its own, by the names of its packages, outside of what git keeps."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.peers.catalogue import System

HERE = Path(__file__).parent
HOMES = HERE.parent / ".peers"
MARK = "installed.json"


class CannotBeHad(Exception):
    """A system cannot be installed on this machine; the reason says what is missing."""


def install(system: System) -> None:
    """Make its environment, unless it is there with the same packages."""
    home = HOMES / system.home
    mark = home / MARK
    if not system.packages or (mark.exists() and json.loads(mark.read_text()) == list(system.packages)):
        return
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    (_install_node if system.is_node else _install_python)(system, home)
    mark.write_text(json.dumps(system.packages))


def command(system: System) -> list[str]:
    """How its adapter is started."""
    script = str(HERE / "adapters" / system.adapter)
    return [str(interpreter(system)), script, *system.arguments]


def interpreter(system: System) -> Path:
    """Its environment's, or ours."""
    home = HOMES / system.home
    if system.is_node:
        return home / "node_modules" / ".bin" / "node"
    if not system.packages or system.store == "sqs":
        return Path(sys.executable)
    return home / "bin" / "python"


def environment(system: System) -> dict[str, str]:
    """What its adapter finds in its environment: where its packages are, and what adapters share."""
    paths = {"PEERS_HOME": str(HOMES / system.home), "PYTHONPATH": str(HERE.parent.parent)}
    return os.environ | paths | {"PYTHONWARNINGS": "ignore"}


def _install_python(system: System, home: Path) -> None:
    _run([_python(system), "-m", "venv", str(home)])
    _run([str(home / "bin" / "pip"), "install", "--quiet", *system.packages])


def _install_node(system: System, home: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise CannotBeHad("npm is missing: install the package npm")
    (home / "package.json").write_text('{"private": true}')
    _run([npm, "install", "--no-audit", "--no-fund", "--silent", *system.packages], cwd=home)


def _python(system: System) -> str:
    """A Python new enough for it: ours, or another one of this machine."""
    oldest = system.python or (3, 0)
    candidates = [sys.executable, *map(str, sorted(Path.home().glob(".pyenv/versions/*/bin/python3")))]
    candidates += [found for minor in (12, 13, 14) if (found := shutil.which(f"python3.{minor}"))]
    for candidate in candidates:
        asked = [candidate, "-c", f"import sys, venv, ensurepip; sys.exit(sys.version_info < {oldest})"]
        if subprocess.run(asked, capture_output=True, check=False).returncode == 0:  # noqa: S603 - Pythons
            return candidate
    raise CannotBeHad(f"it needs Python {oldest[0]}.{oldest[1]} or later, and none was found")


def _run(asked: list[str], cwd: Path | None = None) -> None:
    done = subprocess.run(asked, cwd=cwd, capture_output=True, text=True, check=False)  # noqa: S603 - packages
    if done.returncode:
        raise CannotBeHad(f"{' '.join(asked[1:])} failed: {done.stderr.strip()[-500:]}")
