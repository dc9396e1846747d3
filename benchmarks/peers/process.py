"""What processes and their children have used so far, from /proc."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(roots: Iterable[int], without: Iterable[int] = ()) -> float:
    """CPU time of these processes and all below them but some, those that have ended included."""
    return sum(_cpu(pid) for pid in tree(roots) - tree(without))


def shared_memory(pids: Iterable[int]) -> int:
    """The memory of these processes, what they share with each other counted once, in bytes."""
    return sum(_field(pid, "smaps_rollup", "Pss:") * 1024 for pid in pids)


def written(roots: Iterable[int]) -> int:
    """Bytes that these processes and those below them handed to write()."""
    return sum(_field(pid, "io", "wchar:") for pid in tree(roots))


def tree(roots: Iterable[int]) -> set[int]:
    """These processes and all below them."""
    below: dict[int, list[int]] = defaultdict(list)
    for folder in PROC.glob("[0-9]*"):
        fields = _stat(int(folder.name))
        if fields:
            below[int(fields[1])].append(int(folder.name))
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        found.add(pid)
        waiting += below[pid]
    return found


def _cpu(pid: int) -> float:
    # User and system time, and that of children who have ended and been waited for.
    return sum(map(int, _stat(pid)[11:15])) / TICKS


def _stat(pid: int) -> list[str]:
    """The fields after the name, which may contain anything."""
    return _read(pid, "stat").rpartition(")")[2].split()


def _field(pid: int, file: str, name: str) -> int:
    for line in _read(pid, file).splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0


def _read(pid: int, file: str) -> str:
    try:
        return (PROC / str(pid) / file).read_text()
    except OSError:  # it has ended, or is somebody else's
        return ""
