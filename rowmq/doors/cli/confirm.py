"""One question before something is deleted."""

import sys

import click

from rowmq.doors.cli.output import Output
from rowmq.runtime.log import escaped

yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


def confirm(out: Output, question: str, *, yes: bool) -> None:
    """Ask once, on a terminal; where nobody can answer, --yes must have been said."""
    if yes:
        return
    if out.as_json or not sys.stdin.isatty():
        raise click.UsageError("nobody can be asked here; say --yes to delete without a question")
    if not click.confirm(escaped(question), err=True):
        raise click.Abort
