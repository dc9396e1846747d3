"""Worker processes for tests, to be killed: ``python -m tests.runtime.crew URL [NAME=VALUE ...]``.

The handler takes a moment, so that there is always something in its hands, and says what it handled.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rowmq

if TYPE_CHECKING:
    from rowmq import ClaimedMessage

ROOT = Path(__file__).parents[2]


class Process:
    """A worker process, as the test sees it."""

    def __init__(self, url: str, **options: Any) -> None:
        said = [f"{name}={json.dumps(value)}" for name, value in options.items()]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it lives as long as the process
        self._said: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.runtime.crew", url, *said],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def ready(self) -> None:
        """Wait until it has handled a message."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self._errors.seek(0)
        assert line, self._errors.read()
        self._said.append(line.strip())

    def send(self, number: int) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def wait(self) -> tuple[int, list[str]]:
        """Its exit code, and what it said it handled."""
        assert self.process.stdout is not None
        with self._errors, self.process.stdout:
            self._said += self.process.stdout.read().split()
            return self.process.wait(60), self._said


def main(url: str, options: dict[str, Any]) -> None:
    """Work until a signal comes."""
    mq = rowmq.connect(url)
    pause = options.pop("pause", 0.001)

    @mq.handler("q")
    def handle(message: ClaimedMessage) -> None:
        time.sleep(pause)
        sys.stdout.write(f"{message.payload}\n")
        sys.stdout.flush()

    mq.work(**options)


if __name__ == "__main__":
    main(
        sys.argv[1],
        {name: json.loads(value) for name, _, value in (each.partition("=") for each in sys.argv[2:])},
    )
