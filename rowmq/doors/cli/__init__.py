"""The command line: what is typed, translated into calls of a client. See docs/cli.md."""

from rowmq.doors.cli.program import cli, main

__all__ = ["cli", "main"]
