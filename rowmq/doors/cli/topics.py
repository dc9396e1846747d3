"""Topics: listed, published to, and bound to queues."""

from typing import Any

import click

from rowmq.core.message import Message
from rowmq.doors.cli.completion import queue_argument
from rowmq.doors.cli.observers import inboxes_by_queue, topic_shape
from rowmq.doors.cli.payload import (
    BATCH,
    check_stream,
    lines_of,
    one_message,
    opened,
    payload_options,
    said_about,
    streamed,
    what_of,
)
from rowmq.doors.cli.session import Session, with_session
from rowmq.doors.cli.settings import settings_of, settings_options
from rowmq.runtime.client import Client
from rowmq.runtime.options import new_message


@click.command()
@with_session
def topics(session: Session) -> None:
    """List the topics, the queues bound to them, and the consumers that observe them over gRPC."""
    with session.client() as client:
        inboxes = inboxes_by_queue(client.queues())
        found = [topic_shape(topic, queues, inboxes) for topic, queues in client.topics().items()]
    session.out.listing(found, ("topic", "queues", "consumers"), none="no queue is bound to a topic")


@click.command()
@click.argument("topic")
@click.argument("payload", required=False)
@payload_options
@with_session
def publish(session: Session, *, topic: str, **options: Any) -> None:
    """Publish a message to every queue bound to a topic, or one for each line of a file.

    With no queue bound it is kept for the first.
    """
    source = streamed(options.pop("source"), options["payload"])
    what = what_of(options)
    with session.client() as client:
        about = said_about(client, options)
        if source is None:
            count, reached = 1, client.outgoing.publish(topic, [one_message(**what, about=about)])
        else:
            check_stream(what, about)
            count, reached = _publish_lines(session, client, topic, source, about)
    kept = "" if reached else ", where it is kept: no queue is bound"
    session.out.result(
        {"topic": topic, "published": count, "queues": reached},
        f"published {count} messages to {topic!r}, {reached} queues{kept}",
    )


@click.command()
@click.argument("topic")
@queue_argument()
@settings_options
@with_session
def subscribe(session: Session, *, topic: str, queue: str, **settings: Any) -> None:
    """Bind a queue, which is made if need be, to a topic."""
    with session.client(make=True) as client:
        changes = settings_of(settings, client.store.queues.get(queue))
        client.topic(topic).subscribe(queue, **changes)
    session.out.result(
        {"topic": topic, "queue": queue}, f"queue {queue!r} gets what is published to {topic!r}"
    )


@click.command()
@click.argument("topic")
@queue_argument()
@with_session
def unsubscribe(session: Session, *, topic: str, queue: str) -> int:
    """Unbind a queue from a topic; its messages stay."""
    with session.client() as client:
        bound = client.topic(topic).unsubscribe(queue)
    said = "gets no more of" if bound else "was not bound to"
    session.out.result(
        {"topic": topic, "queue": queue, "unbound": bound}, f"queue {queue!r} {said} {topic!r}"
    )
    return 0 if bound else 1


def _publish_lines(
    session: Session, client: Client, topic: str, source: str, about: dict[str, Any]
) -> tuple[int, int]:
    count = reached = 0
    batch: list[Message] = []
    with session.out.progress(f"publishing to {topic}") as advance, opened(source) as file:
        for _, payload in lines_of(file):
            batch.append(new_message(payload, about))
            count += 1
            if len(batch) == BATCH:
                reached, batch = client.outgoing.publish(topic, batch), []
                advance(BATCH)
        reached = client.outgoing.publish(topic, batch) if batch else reached
    return count, reached
