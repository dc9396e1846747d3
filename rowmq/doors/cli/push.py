"""Pushing: one message, or a stream of them."""

import contextlib
from typing import Any

import click

from rowmq.core.errors import RowMQError
from rowmq.doors.cli.completion import queue_argument
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
from rowmq.doors.cli.words import SPAN
from rowmq.runtime.client import Client
from rowmq.runtime.config_sections import ProducerConfig
from rowmq.runtime.handle import QueueHandle
from rowmq.runtime.producer import Producer

LAST_CHANCE = 5.0
"""Seconds for what is still in the buffer when a stream ends badly."""


@click.command()
@queue_argument()
@click.argument("payload", required=False)
@payload_options
@click.option("--id", type=click.UUID, help="Your own id for the message.")
@click.option("--create", is_flag=True, help="Make the queue if there is none.")
@click.option(
    "--batch", type=click.IntRange(1), help="With --from: messages pushed together; 500 by default."
)
@click.option(
    "--retry-for", type=SPAN, default="30s", help="With --from: how long to wait for a store that is away."
)
@with_session
def push(session: Session, *, queue: str, create: bool, **options: Any) -> None:
    """Push a message to a queue, or one for each line of a file.

    PAYLOAD is JSON: rowmq push emails '{"to": "ada@example.com"}'
    """
    batch, retry_for = options.pop("batch"), options.pop("retry_for")
    source = streamed(options.pop("source"), options["payload"])
    what = what_of(options)
    with session.client(make=create) as client:
        if create:
            client.queue(queue)
        about = said_about(client, options)
        if source is None:
            (id,) = client.outgoing.push_messages(queue, [one_message(**what, about=about)])
            session.out.result({"queue": queue, "id": id}, str(id))
            return
        check_stream(what, about)
        with session.out.progress(f"pushing to {queue}") as advance, opened(source) as file:
            producer = _producer(client, queue, session.config.producer, batch, retry_for.total_seconds())
            count = _push_lines(producer, lines_of(file), about, advance)
    session.out.result({"queue": queue, "pushed": count}, f"pushed {count:,} messages to {queue!r}")


def _producer(
    client: Client, queue: str, config: ProducerConfig, batch: int | None, retry_for: float
) -> Producer:
    handle = QueueHandle(client, queue)
    handle.settings()  # a queue that is not there is said at once, not with the first batch
    size = batch or (config.batch if config.batch > 1 else BATCH)
    return handle.producer(size, config.linger, buffer=max(config.buffer, size), retry_for=retry_for)


def _push_lines(producer: Producer, lines: Any, about: dict[str, Any], advance: Any) -> int:
    count = 0
    try:
        for _, payload in lines:
            producer.push(payload, **about)
            count += 1
            advance(1)
        producer.close()
    except BaseException as error:
        with contextlib.suppress(RowMQError):
            producer.close(LAST_CHANCE)
        error.add_note(f"{count} messages were read before that")
        raise
    return count
