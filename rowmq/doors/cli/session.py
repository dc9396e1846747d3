"""What every command starts from: where the store is, and how to print."""

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from rowmq.core.errors import StoreUnavailable
from rowmq.doors.cli.output import Output
from rowmq.runtime.client import Client, connect
from rowmq.runtime.config import Config, load


class Session:
    """One run of a command: its configuration, its store and its output."""

    def __init__(self, url: str | None, *, as_json: bool) -> None:
        self.url = url
        self.out = Output(as_json=as_json)

    @functools.cached_property
    def config(self) -> Config:
        """The configuration, with --url in it."""
        return load({"url": self.url})

    @contextmanager
    def client(self, *, make: bool = False) -> Iterator[Client]:
        """A client of the store; only those that ``make`` something make its file and tables, too."""
        url = self.config.url
        if not make:
            check_there(url)
        with connect(url, migrate=make) as client:
            yield client


class InOrder(click.Group):
    """A group that lists its commands in the order they were added: the order of the flow."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The commands' names."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what click would make a failure when nobody reads on is not one here."""
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            raise ReaderGone from None
        return answer


class ReaderGone(Exception):
    """Whoever read our output has seen enough."""


def common(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --url and --json, which may stand anywhere on the line."""
    url = click.option("--url", metavar="URL", help="The store's URL; or ROWMQ_URL, or url in rowmq.toml.")
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
    return url(as_json(function))


def with_session(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --url and --json and call with the Session they make, before the command's own options."""

    @common
    @functools.wraps(function)
    def called(*, url: str | None, as_json: bool, **options: Any) -> Any:  # noqa: ARG001 - read from the context
        return function(session_of(click.get_current_context()), **options)

    return called


def session_of(context: click.Context) -> Session:
    """The session of a command: what it was told itself, or else what the groups before it were."""
    chain: list[click.Context] = []
    step: click.Context | None = context
    while step is not None:
        chain.append(step)
        step = step.parent
    urls = [each.params.get("url") for each in chain]
    return Session(
        next((url for url in urls if url), None), as_json=any(each.params.get("as_json") for each in chain)
    )


def check_there(url: str) -> None:
    """Refuse a SQLite file that does not exist: asking about a store must not make one."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        return  # opening it says what is wrong
    path = parsed.database
    if (
        parsed.drivername.startswith("sqlite")
        and path not in (None, "", ":memory:")
        and not Path(path).exists()
    ):
        raise StoreUnavailable(f"there is no file {path}; make the store with rowmq init, or say --url")


def queue_names(context: click.Context) -> list[str]:
    """The names of the store's queues."""
    with session_of(context).client() as client:
        return [queue.name for queue in client.queues()]
