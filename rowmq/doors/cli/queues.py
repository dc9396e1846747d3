"""Queues: listed, made, changed, paused and dropped."""

from typing import Any

import click

from rowmq.core.errors import QueueNotFound
from rowmq.doors.cli.completion import queue_argument
from rowmq.doors.cli.confirm import confirm, yes_option
from rowmq.doors.cli.session import InOrder, Session, common, session_of, with_session
from rowmq.doors.cli.settings import settings_of, settings_options
from rowmq.doors.cli.shapes import queue_shape, stats_shape

COLUMNS = ("name", "max_attempts", "lease", "retention", "delivery", "fifo", "dead_letter", "paused")


@click.group(cls=InOrder, invoke_without_command=True)
@common
@click.pass_context
def queues(context: click.Context, /, **_: object) -> None:
    """List the queues, or make, change, pause and drop them."""
    if context.invoked_subcommand is None:
        _list(session_of(context))


@queues.command("list")
@with_session
def list_command(session: Session) -> None:
    """List the queues and their settings."""
    _list(session)


@queues.command()
@click.argument("name")
@settings_options
@with_session
def create(session: Session, *, name: str, **settings: Any) -> None:
    """Make a queue; one that is there is changed as the options say."""
    with session.client(make=True) as client:
        known = client.store.queues.get(name)
        made = client.queue(name, **settings_of(settings, known)).settings()
    session.out.result(queue_shape(made), f"queue {name!r} {'was there' if known else 'is made'}")


@queues.command("set")
@queue_argument()
@settings_options
@with_session
def set_command(session: Session, *, queue: str, **settings: Any) -> None:
    """Change settings of a queue; the others stay."""
    with session.client() as client:
        known = client.store.queues.get(queue)
        if known is None:
            raise QueueNotFound(queue)
        changes = settings_of(settings, known)
        if not changes:
            raise click.UsageError("say which settings to change; rowmq queues set -h lists them")
        changed = client.queue(queue, **changes).settings()
    session.out.result(queue_shape(changed), f"queue {queue!r} is changed: {', '.join(sorted(changes))}")


@queues.command()
@queue_argument()
@with_session
def show(session: Session, *, queue: str) -> None:
    """Show every setting of a queue, and how full it is."""
    with session.client() as client:
        known = client.store.queues.get(queue)
        if known is None:
            raise QueueNotFound(queue)
        stats = client.store.queues.stats(queue)
    counts = {key: value for key, value in stats_shape(queue, stats).items() if key != "queue"}
    session.out.details({**queue_shape(known), **counts})


@queues.command()
@queue_argument()
@yes_option
@with_session
def drop(session: Session, *, queue: str, yes: bool) -> int:
    """Delete a queue with everything in it."""
    with session.client() as client:
        stats = client.store.queues.stats(queue)
        count = stats.ready + stats.scheduled + stats.leased + stats.done + stats.dead
        confirm(session.out, f"Delete queue {queue!r} with {count} messages in it?", yes=yes)
        client.store.queues.drop(queue)
    session.out.result({"dropped": queue, "messages": count}, f"queue {queue!r} is deleted")
    return 0


@queues.command()
@queue_argument()
@with_session
def pause(session: Session, *, queue: str) -> None:
    """Let claims find nothing in a queue; pushes go on."""
    _pause(session, queue, paused=True)


@queues.command()
@queue_argument()
@with_session
def resume(session: Session, *, queue: str) -> None:
    """Let claims find a queue's messages again."""
    _pause(session, queue, paused=False)


def _list(session: Session) -> None:
    with session.client() as client:
        found = [queue_shape(queue) for queue in client.queues()]
    session.out.listing(found, COLUMNS, none="there are no queues; make one with: rowmq queues create NAME")


def _pause(session: Session, queue: str, *, paused: bool) -> None:
    with session.client() as client:
        if client.store.queues.get(queue) is None:  # changing would make it
            raise QueueNotFound(queue)
        client.queue(queue, paused=paused)
    said = "is paused" if paused else "goes on"
    session.out.result({"queue": queue, "paused": paused}, f"queue {queue!r} {said}")
