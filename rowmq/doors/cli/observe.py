"""Following a topic."""

import secrets
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import click

from rowmq.doors.cli.completion import complete_queue
from rowmq.doors.cli.output import Output, dumps, moment_text
from rowmq.doors.cli.session import Session, with_session
from rowmq.doors.cli.shapes import claimed_shape
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.client import Client
from rowmq.runtime.config_sections import ConsumerConfig
from rowmq.runtime.consumer import Consumer

TAG = {"rowmq": "observer"}
"""On the queue of an observer, once it beats: without a beat it is one that nobody could take away."""
LOOK = 1.0


@click.command()
@click.argument("topic")
@click.option(
    "--queue", metavar="QUEUE", shell_complete=complete_queue,
    help="A subscription to keep; by default one that goes when this ends.",
)  # fmt: skip
@click.option("-n", "--limit", type=click.IntRange(1), help="End after so many messages.")
@with_session
def observe(session: Session, *, topic: str, queue: str | None, limit: int | None) -> int:
    """Print what is published to a topic as it comes, acking each message. With --json, one line each.

    End it with Ctrl-C. If no queue is bound yet, what the topic has kept comes here first.
    """
    with session.client(make=True) as client, _ended_by_signals(), _follower(client, topic, queue) as name:
        _print(session, client, name, limit, own=queue is None)
    return 0


@contextmanager
def _follower(client: Client, topic: str, queue: str | None) -> Iterator[str]:
    """The queue to read: the named one, or one of our own that is taken away afterwards."""
    if queue is not None:
        client.topic(topic).subscribe(queue)
        yield queue
        return
    _clear(client)
    name = f"observe {topic[:150]} {socket.gethostname()[:64]} {secrets.token_hex(4)}"
    client.queue(name, retention=0, max_age=3600)
    try:
        client.store.topics.bind(topic, name)
        yield name
    finally:
        client.store.queues.drop(name)


def _print(session: Session, client: Client, name: str, limit: int | None, *, own: bool) -> None:
    left = limit
    with _consumer(client, name, session.config.consumer, limit) as consumer:
        if own:
            client.queue(name, tags=TAG)
        while left is None or left > 0:
            for message in consumer.pop(wait=LOOK)[:left]:
                _show(session.out, message)
                message.ack()
                left = None if left is None else left - 1


def _consumer(client: Client, name: str, config: ConsumerConfig, limit: int | None) -> Consumer:
    return client.queue(name).consumer(
        # One at a time towards a limit: what is claimed beyond it would have to be given back.
        config.batch if limit is None else 1,
        config.beat,
        check_every=config.check_every,
        missed=config.missed,
    )


def _show(out: Output, message: ClaimedMessage) -> None:
    shape = claimed_shape(message)
    if out.as_json:
        out.document(shape)
    else:
        about = f" {dumps(shape['metadata'])}" if shape["metadata"] else ""
        out.line(f"{moment_text(message.created_at)} {message.id}{about} {dumps(shape['payload'])}")
    sys.stdout.flush()


def _clear(client: Client) -> None:
    """Take away the queues of observers that were killed."""
    alive = {consumer.queue for consumer in client.consumers()}
    for queue in client.queues():
        if dict(queue.tags) == TAG and queue.name not in alive:
            client.store.queues.drop(queue.name)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM end it as Ctrl-C does: tidily."""

    def heard(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGTERM, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)
