"""Schedules: listed, added, paused and dropped."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal

import click

from rowmq.core.errors import ScheduleNotFound
from rowmq.doors.cli.completion import complete_queue
from rowmq.doors.cli.session import InOrder, Session, common, session_of, with_session
from rowmq.doors.cli.shapes import schedule_shape
from rowmq.doors.cli.words import PAIR, SPAN, json_value

COLUMNS = ("name", "queue", "cron", "every", "timezone", "catch_up", "next_at", "paused", "payload")


@click.group(cls=InOrder, invoke_without_command=True)
@common
@click.pass_context
def schedules(context: click.Context, /, **_: object) -> None:
    """List the schedules, or add, pause and drop them."""
    if context.invoked_subcommand is None:
        _list(session_of(context))


@schedules.command("list")
@with_session
def list_command(session: Session) -> None:
    """List the schedules and when they fire next."""
    _list(session)


@schedules.command()
@click.argument("name")
@click.argument("payload", default="null")
@click.option("--queue", required=True, shell_complete=complete_queue, help="The queue to push to.")
@click.option("--cron", metavar="CRON", help="Five fields, such as '0 9 * * 1-5', or @daily.")
@click.option("--every", type=SPAN, help="Or how often.")
@click.option("--timezone", default="UTC", show_default=True, help="The zone of --cron's times.")
@click.option("--catch-up", type=click.Choice(["one", "all", "none"]), default="one", show_default=True,
              help="What becomes of ticks that passed while no worker ran.")  # fmt: skip
@click.option("--text", is_flag=True, help="The payload is text, not JSON.")
@click.option("--priority", type=click.IntRange(0, 9), help="0 to 9, higher first.")
@click.option("--group", metavar="GROUP", help="Messages of one group are delivered in order.")
@click.option("-m", "--metadata", type=PAIR, multiple=True, help="Metadata; may be repeated.")
@with_session
def add(
    session: Session,
    *,
    name: str,
    payload: str,
    text: bool,
    metadata: Sequence[tuple[str, str]],
    every: timedelta | None,
    catch_up: Literal["one", "all", "none"],
    **options: Any,
) -> None:
    """Have a message pushed by the clock, as long as any worker runs. The same name again replaces it."""
    value = payload if text else json_value(payload)
    said = {key: value for key, value in options.items() if value is not None}
    with session.client() as client:
        made = client.schedule(
            name, payload=value, every=every, catch_up=catch_up, metadata=dict(metadata), **said
        )
    shape = schedule_shape(made)
    session.out.result(shape, f"schedule {name!r} fires next at {made.next_at:%Y-%m-%d %H:%M:%S} UTC")


@schedules.command()
@click.argument("name")
@with_session
def pause(session: Session, *, name: str) -> None:
    """Let a schedule fire no more until it is resumed."""
    with session.client() as client:
        client.pause_schedule(name)
    session.out.result({"schedule": name, "paused": True}, f"schedule {name!r} is paused")


@schedules.command()
@click.argument("name")
@with_session
def resume(session: Session, *, name: str) -> None:
    """Let a schedule fire again."""
    with session.client() as client:
        client.resume_schedule(name)
    session.out.result({"schedule": name, "paused": False}, f"schedule {name!r} goes on")


@schedules.command()
@click.argument("name")
@with_session
def drop(session: Session, *, name: str) -> None:
    """Delete a schedule; what it has pushed stays."""
    with session.client() as client:
        if not client.drop_schedule(name):
            raise ScheduleNotFound(name)
    session.out.result({"dropped": name}, f"schedule {name!r} is deleted")


def _list(session: Session) -> None:
    with session.client() as client:
        found = [schedule_shape(each) for each in client.schedules()]
    session.out.listing(found, COLUMNS, none="there are no schedules; add one with: rowmq schedules add")
