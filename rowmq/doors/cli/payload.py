"""What is pushed or published, as it was typed or as it stands in a file."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

import click

from rowmq.core.errors import InvalidMessage
from rowmq.core.message import Message, check_json
from rowmq.doors.cli.words import MOMENT, PAIR, SPAN, moment_at
from rowmq.runtime.client import Client
from rowmq.runtime.options import new_message

BATCH = 500
"""Messages pushed together from a stream, if nothing else is said."""
WHAT = (
    click.option("--text", is_flag=True, help="The payload is text, not JSON."),
    click.option("--binary", is_flag=True, help="The payload is bytes, not JSON."),
    click.option("--file", metavar="FILE", help="Read the one payload from a file; - is standard input."),
    click.option(
        "--from", "source", metavar="FILE", help="A payload from each line, JSON; - is standard input."
    ),
)
HOW = (
    click.option("--delay", type=SPAN, help="Hide it for that long."),
    click.option("--at", type=MOMENT, help="Hide it until then."),
    click.option("--priority", type=click.IntRange(0, 9), help="0 to 9, higher first."),
    click.option("--deadline", type=MOMENT, help="By when it should be handled."),
    click.option("--key", metavar="KEY", help="The same key within the window is the same message."),
    click.option("--window", type=SPAN, help="How long the key counts; 5 minutes by default."),
    click.option("--group", metavar="GROUP", help="Messages of one group are delivered in order."),
    click.option("-m", "--metadata", type=PAIR, multiple=True, help="Metadata; may be repeated."),
)


def payload_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what can be pushed, and what can be said about it."""
    for option in reversed((*WHAT, *HOW)):
        function = option(function)
    return function


def said_about(client: Client, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a push, by the store's clock where they are relative."""
    said = {name: value for name, value in options.items() if value is not None and value != ()}
    for name in ("at", "deadline"):
        if name in said:
            said[name] = moment_at(said[name], client.store.now())
    if "metadata" in said:
        said["metadata"] = dict(said["metadata"])
    return said


def one_message(
    payload: str | None,
    file: str | None,
    *,
    text: bool,
    binary: bool,
    about: Mapping[str, Any],
    id: UUID | None,
) -> Message:
    """The message; JSON is kept byte for byte as it was written."""
    raw = _raw(payload, file)
    if binary:
        return new_message(raw, about, id=id)
    if text:
        return new_message(_decoded(raw), about, id=id)
    return replace(new_message(None, about, id=id), body=_checked(raw))


def what_of(options: dict[str, Any]) -> dict[str, Any]:
    """Take what is pushed out of a command's options; what is left is said about it."""
    return {name: options.pop(name, None) for name in ("payload", "file", "text", "binary", "id")}


def check_stream(what: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Refuse what only one message can have."""
    for name in ("file", "text", "binary", "id", "key"):
        if what.get(name) or about.get(name):
            raise click.UsageError(f"--{name} is for one message, not for a stream of JSON lines")


def streamed(source: str | None, payload: str | None) -> str | None:
    """The file that payloads are to be read from line by line, if that was asked for."""
    if source is not None and payload is not None:
        raise click.UsageError("give a payload or --from, not both")
    return "-" if payload == "-" else source


@contextmanager
def opened(source: str) -> Iterator[BinaryIO]:
    """A file to read, or standard input."""
    if source == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(source).open("rb") as file:
            yield file
    except OSError as error:
        raise click.UsageError(f"{source} cannot be read: {error.strerror}") from None


def lines_of(file: BinaryIO) -> Iterator[tuple[int, Any]]:
    """The JSON values of a file's lines, and the numbers of the lines; empty ones are passed over."""
    for number, line in enumerate(file, start=1):
        if line.strip():
            yield number, _line(line, number)


def _line(line: bytes, number: int) -> Any:
    try:
        return json.loads(check_json(line.strip()))
    except InvalidMessage as error:
        raise InvalidMessage(f"line {number}: {error}") from None


def _raw(payload: str | None, file: str | None) -> bytes:
    if (payload is None) == (file is None):
        raise click.UsageError("give one payload: as an argument, with --file, or - and --from for a stream")
    if payload is not None:
        return payload.encode(errors="surrogateescape")
    with opened(str(file)) as stream:
        return stream.read()


def _checked(raw: bytes) -> bytes:
    try:
        return check_json(raw.strip())
    except InvalidMessage as error:
        raise InvalidMessage(f"{error}; say --text if it is meant as text") from None


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise InvalidMessage("the payload is not UTF-8 text; say --binary") from None
