"""Where and with what a run was made."""

from __future__ import annotations

import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]


def machine() -> dict[str, str]:
    """The machine and its software."""
    return {
        "machine": f"{_cpu()}, {_memory()} GB, {platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def moment() -> dict[str, str]:
    """The commit, the time, and how busy the machine is."""
    return {
        "commit": _commit(),
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "load": " ".join(Path("/proc/loadavg").read_text().split()[:3]),
    }


def _commit() -> str:
    """The commit, and whether the code is another; pages that a run has written are not code."""
    code = ("*.py", "*.sql", "*.lua", "*.mjs")
    changed = _git("status", "--porcelain", "--", *code)
    return (_git("describe", "--always") or "unknown") + ("-dirty" if changed else "")


def _git(*asked: str) -> str:
    command = ["git", *asked]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - git
    return done.stdout.strip()


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} cores of {names[0] if names else platform.machine()}"


def _memory() -> int:
    kilobytes = int(Path("/proc/meminfo").read_text().split()[1])
    return round(kilobytes / 1024**2)
