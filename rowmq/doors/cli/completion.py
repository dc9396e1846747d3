"""Shell completion: commands, options, and the names of queues."""

import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem, get_completion_class

from rowmq.doors.cli.session import Session, queue_names, with_session

Command = TypeVar("Command", bound=Callable[..., Any])
SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_ROWMQ_COMPLETE"
PATIENCE = 1.0
"""Seconds that a store has to answer somebody who has just pressed the tab key."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@with_session
def completion(session: Session, *, shell: str) -> None:
    """Print what makes a shell complete rowmq's commands, options and queues.

    bash: rowmq completion bash > ~/.local/share/bash-completion/completions/rowmq
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"there is no completion for {shell}")
    from rowmq.doors.cli.program import cli  # noqa: PLC0415 - the program has this command in it

    script = kind(cli, {}, "rowmq", VARIABLE).source()
    session.out.document({"script": script}) if session.out.as_json else click.echo(script)


def complete_queue(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The queues whose names begin so; none if the store does not answer at once."""
    del parameter
    found: list[str] = []

    def look() -> None:
        with contextlib.suppress(Exception):  # whatever is wrong, somebody is typing: silence is the answer
            found.extend(queue_names(context))

    asking = threading.Thread(target=look, daemon=True)
    asking.start()
    asking.join(PATIENCE)
    return [CompletionItem(name) for name in list(found) if name.startswith(incomplete)]


def queue_argument(**options: Any) -> Callable[[Command], Command]:
    """A QUEUE argument, completed from the store."""
    return click.argument("queue", shell_complete=complete_queue, **options)
