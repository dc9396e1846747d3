"""An adapter's process, as the runner sees it: questions, answers, and the ticks in between."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
from types import TracebackType
from typing import Any, Self

from benchmarks.peers.catalogue import System
from benchmarks.peers.install import HERE, command, environment

PATIENCE = 900.0
"""Seconds for an answer: seeding millions takes minutes."""
END = 2000
"""Bytes of what a process printed that are shown when it fails."""


class Refused(Exception):
    """The system does not offer what was asked of it."""


class AdapterFailed(Exception):
    """An adapter failed; the message ends with what it printed."""


class Adapter:
    """One process of one system."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.ticks: list[tuple[int, int]] = []
        self._stray = ""
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(  # noqa: S603 - our own adapters
            command(system),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment(system),
            cwd=HERE.parent.parent,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process, above those it starts."""
        return self._process.pid

    @property
    def done(self) -> int:
        """How many messages its handlers have had, as of the last tick."""
        return self.ticks[-1][1] if self.ticks else 0

    def ask(self, action: str, **given: Any) -> dict[str, Any]:
        """Ask and wait for the answer."""
        self.tell(action, **given)
        return self.answer()

    def tell(self, action: str, **given: Any) -> None:
        """Ask without waiting."""
        if self._process.stdin is None:
            raise AdapterFailed(f"{self.system.name} has no input")
        try:
            self._process.stdin.write(json.dumps({"do": action, **given}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise AdapterFailed(f"{self.system.name} has ended: {self.printed()}") from error

    def answer(self) -> dict[str, Any]:
        """Wait for the answer."""
        try:
            found = self._answers.get(timeout=PATIENCE)
        except queue.Empty:
            raise AdapterFailed(f"{self.system.name} does not answer: {self.printed()}") from None
        if found is None or "failed" in found:
            said = (found or {}).get("failed", "it has ended")
            raise AdapterFailed(f"{self.system.name}: {said}\n{self.printed()}")
        if "refused" in found:
            raise Refused(found["refused"])
        return found

    def _read(self) -> None:
        for line in self._process.stdout or ():
            found = _object(line)
            if found is None:
                self._stray += line
            elif "tick" in found:
                self.ticks.append((found["tick"][0], found["tick"][1]))
            else:
                self._answers.put(found)
        self._answers.put(None)

    def printed(self) -> str:
        """The end of what it printed, by whichever way."""
        file = self._errors.fileno()
        # Read in place: the process writes where its file stands, which is ours too.
        said = os.pread(file, END, max(0, os.fstat(file).st_size - END))
        return said.decode(errors="replace") + self._stray[-END:]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(1)
        for file in (self._process.stdout, self._errors):
            if file is not None:
                file.close()


def _object(line: str) -> dict[str, Any] | None:
    """A line of the protocol; None for what a system printed by itself."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
