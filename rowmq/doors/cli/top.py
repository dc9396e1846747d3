"""A live screen of the queues."""

import select
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple

import click
from rich.console import Group
from rich.live import Live
from rich.text import Text

from rowmq.core.errors import QueueNotFound, StoreError
from rowmq.doors.cli.output import Item, table
from rowmq.doors.cli.session import Session, with_session
from rowmq.doors.cli.shapes import stats_shape
from rowmq.doors.cli.words import SPAN
from rowmq.runtime.client import Client
from rowmq.runtime.log import escaped

COLUMNS = (
    "queue", "ready", "scheduled", "leased", "done", "dead", "in/s", "done/s", "oldest_age",
    "consumers", "state",
)  # fmt: skip
STATES = ("ready", "scheduled", "leased", "done", "dead")


class Look(NamedTuple):
    """What one look at the store found, and when."""

    at: float
    queues: dict[str, Item]


@click.command()
@click.option("--once", is_flag=True, help="Print one table and end.")
@click.option("--every", type=SPAN, default="1s", show_default=True, help="How often to look.")
@with_session
def top(session: Session, *, once: bool, every: timedelta) -> None:
    """Watch the queues live: how full, how fast, who consumes. Press q to end it."""
    with session.client() as client:
        if once or not (session.out.as_json or session.out.console.is_terminal):
            session.out.listing(
                rates(None, look(client)), COLUMNS[:6] + COLUMNS[8:], none="there are no queues"
            )
        elif session.out.as_json:
            _stream(session, client, every.total_seconds())
        else:
            _live(session, client, every.total_seconds())


def look(client: Client) -> Look:
    """Count every queue's messages and consumers."""
    alive = Counter(consumer.queue for consumer in client.consumers())
    found: dict[str, Item] = {}
    for queue in client.queues():
        try:
            stats = stats_shape(queue.name, client.store.queues.stats(queue.name))
        except QueueNotFound:  # dropped since it was listed
            continue
        state = "paused" if queue.paused else None
        found[queue.name] = {**stats, "consumers": alive[queue.name], "state": state}
    return Look(time.monotonic(), found)


def rates(before: Look | None, now: Look) -> list[Item]:
    """The queues with what came in and what was finished per second since the look before."""
    if before is None:
        return list(now.queues.values())
    passed = max(now.at - before.at, 0.001)
    return [_with_rates(item, before.queues.get(name), passed) for name, item in now.queues.items()]


def _with_rates(item: Item, before: Item | None, passed: float) -> Item:
    if before is None:
        return item
    grown = sum(item[state] - before[state] for state in STATES)
    done = item["done"] - before["done"]
    # Retention takes finished messages away meanwhile: then the number is too low, but never below nothing.
    return {**item, "in/s": max(grown, 0) / passed, "done/s": max(done, 0) / passed}


def _stream(session: Session, client: Client, every: float) -> None:
    before = None
    while True:
        now = look(client)
        session.out.document(rates(before, now))
        sys.stdout.flush()
        before = now
        time.sleep(every)


def _live(session: Session, client: Client, every: float) -> None:
    before: Look | None = None
    with _keys() as pressed, Live(console=session.out.console, screen=True, auto_refresh=False) as live:
        while True:
            screen, before = _screen(client, before)
            live.update(screen, refresh=True)
            if pressed(every) == "q":
                return


def _screen(client: Client, before: Look | None) -> tuple[Any, Look | None]:
    title = Text(f"{escaped(repr(client))}   {time.strftime('%H:%M:%S')}   q ends", style="dim")
    try:
        now = look(client)
    except StoreError as error:  # it may come back: stay, and say so
        return Group(title, Text(escaped(str(error)), style="red")), before
    return Group(title, table(rates(before, now), COLUMNS)), now


@contextmanager
def _keys() -> Iterator[Any]:
    """A function that waits for a key for so long and returns it, or nothing."""
    if not sys.stdin.isatty() or sys.platform == "win32":
        yield time.sleep
        return
    import termios  # noqa: PLC0415 - not every system has it, and only this needs it
    import tty  # noqa: PLC0415 - the same

    descriptor = sys.stdin.fileno()
    former = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield lambda seconds: sys.stdin.read(1) if select.select([sys.stdin], [], [], seconds)[0] else ""
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, former)
