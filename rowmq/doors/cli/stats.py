"""How full queues are, and who consumes them."""

from collections.abc import Sequence

import click

from rowmq.doors.cli.completion import queue_argument
from rowmq.doors.cli.observers import inboxes_by_queue, observer_shape
from rowmq.doors.cli.session import Session, with_session
from rowmq.doors.cli.shapes import consumer_shape, stats_shape

COLUMNS = ("queue", "ready", "scheduled", "leased", "done", "dead", "oldest_age")


@click.command()
@queue_argument(nargs=-1)
@with_session
def stats(session: Session, *, queue: Sequence[str]) -> None:
    """Count the messages of queues by state; all queues by default."""
    with session.client() as client:
        names = queue or [each.name for each in client.queues()]
        found = [stats_shape(name, client.store.queues.stats(name)) for name in names]
    session.out.listing(found, COLUMNS, none="there are no queues; make one with: rowmq queues create NAME")


@click.command()
@queue_argument(required=False)
@with_session
def consumers(session: Session, *, queue: str | None) -> None:
    """List the consumers that are alive, of one queue or all, and those that observe over gRPC."""
    with session.client() as client:
        alive = client.consumers(queue)
        inboxes = inboxes_by_queue(client.queues()) if alive else {}
    found = [consumer_shape(each) | observer_shape(each, inboxes.get(each.queue)) for each in alive]
    observing = ("consumer", "key", "last_action") if any(each["key"] for each in found) else ()
    columns = ("queue", "name", "born_at", "alive_until", *observing)
    session.out.listing(found, columns, none="nobody is consuming")
