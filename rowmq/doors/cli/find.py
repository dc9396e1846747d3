"""Looking messages up, and putting things right."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import click

from rowmq.core.errors import QueueNotFound
from rowmq.core.history import Amendment, Record
from rowmq.core.outcome import State
from rowmq.core.where import Condition
from rowmq.doors.cli.completion import complete_queue, queue_argument
from rowmq.doors.cli.confirm import confirm, yes_option
from rowmq.doors.cli.output import as_json
from rowmq.doors.cli.session import Session, with_session
from rowmq.doors.cli.shapes import failure_shape, record_shape
from rowmq.doors.cli.words import MEETS, MOMENT, all_of, moment_at, one_of
from rowmq.runtime.client import Client
from rowmq.runtime.handle import QueueHandle

COLUMNS = ("id", "queue", "state", "created_at", "attempts", "reason", "metadata", "payload")
SHOWN = 50
"""Rows of a table, if no limit is said: a table is read by somebody."""
Said = datetime | timedelta | None


@click.command()
@queue_argument(required=False)
@click.option("--state", type=one_of(State), help="Only messages in this state.")
@click.option("--where", type=MEETS, multiple=True, help="Only where metadata says so; may be repeated.")
@click.option("--since", type=MOMENT, help="Pushed then or later; a span means that long ago.")
@click.option("--until", type=MOMENT, help="Pushed before then; a span means that long ago.")
@click.option("-n", "--limit", type=click.IntRange(1), help="The most messages; in a table 50 by default.")
@click.option("--to", "target", metavar="FILE", help="Write JSON lines to a file.")
@with_session
def find(
    session: Session,
    *,
    queue: str | None,
    since: Said,
    until: Said,
    where: Sequence[Condition],
    limit: int | None,
    target: str | None,
    **options: Any,
) -> None:
    """Look up messages, finished ones too, in the order they were pushed."""
    with session.client() as client:
        if queue is not None and client.store.queues.get(queue) is None:
            raise QueueNotFound(queue)
        now = client.store.now()
        options |= {"since": moment_at(since, now, back=True), "until": moment_at(until, now, back=True)}
        whole = session.out.as_json or target is not None
        asked = limit if whole or limit else SHOWN + 1
        found = client.find(queue, where=all_of(where), limit=asked, **options)
        if target is not None:
            _write(session, found, Path(target))
        elif session.out.as_json:
            for record in found:
                session.out.document(record_shape(record))
        else:
            _show(session, list(found), limit)


@click.command()
@click.argument("id", type=click.UUID)
@with_session
def show(session: Session, *, id: UUID) -> int:
    """Show everything about one message, its failed attempts too."""
    with session.client() as client:
        record = client.get(id)
        failures = [failure_shape(each) for each in client.failures(id)]
    if record is None:
        return _none(session, id)
    session.out.details({**record_shape(record), "failures": failures})
    return 0


@click.command()
@click.argument("action", type=one_of(Amendment))
@click.argument("ids", type=click.UUID, nargs=-1, required=True, metavar="ID...")
@click.option("--to", metavar="QUEUE", shell_complete=complete_queue, help="The queue to move them to.")
@with_session
def amend(session: Session, *, action: str, ids: Sequence[UUID], to: str | None) -> int:
    """Retry, kill, move or drop messages by their ids, whoever holds them."""
    if (action == Amendment.MOVE) != (to is not None):
        raise click.UsageError("move needs --to QUEUE, and only move has it")
    with session.client() as client:
        count = client.amend(ids, action, to=to)
    session.out.result({"changed": count}, f"changed {count} of {len(ids)} messages")
    return 0 if count else 1


@click.command()
@queue_argument()
@click.option("--to", metavar="QUEUE", shell_complete=complete_queue, help="Send all of them to this queue.")
@click.option("-n", "--limit", type=click.IntRange(1), help="The most messages.")
@with_session
def redrive(session: Session, *, queue: str, to: str | None, limit: int | None) -> None:
    """Give a queue's dead and dead-lettered messages another life."""
    with session.client() as client:
        count = client.store.history.redrive(queue, to=to, limit=limit)
    session.out.result({"queue": queue, "redriven": count}, f"{count} messages of {queue!r} live again")


@click.command()
@queue_argument()
@click.option("--state", type=one_of(State), help="Only messages in this state.")
@click.option("--before", type=MOMENT, help="Only those pushed before then; a span means that long ago.")
@yes_option
@with_session
def purge(session: Session, *, queue: str, state: str | None, before: Said, yes: bool) -> None:
    """Delete what still waits in a queue (ready and scheduled), or what is in one state."""
    with session.client() as client:
        moment = moment_at(before, client.store.now(), back=True)
        if not yes:
            count = _purgeable(client, queue, state, moment)
            confirm(session.out, f"Delete {count} messages of queue {queue!r}?", yes=yes)
        deleted = QueueHandle(client, queue).purge(state=state, before=moment)
    session.out.result({"queue": queue, "deleted": deleted}, f"deleted {deleted} messages of {queue!r}")


def _purgeable(client: Client, queue: str, state: str | None, before: datetime | None) -> int:
    states = [state] if state else ["ready", "scheduled"]
    if before is None:
        stats = client.store.queues.stats(queue)
        return sum(getattr(stats, each) for each in states)
    return sum(1 for each in states for _ in client.find(queue, state=each, until=before))


def _write(session: Session, found: Iterator[Record], target: Path) -> None:
    count = 0
    with target.open("w", encoding="ascii") as file, session.out.progress(f"writing {target}") as advance:
        for record in found:
            file.write(as_json(record_shape(record)) + "\n")
            count += 1
            advance(1)
    session.out.result({"file": str(target), "written": count}, f"wrote {count} messages to {target}")


def _show(session: Session, records: Sequence[Record], limit: int | None) -> None:
    some = records if limit else records[:SHOWN]
    session.out.listing([record_shape(each) for each in some], COLUMNS, none="no message is like that")
    if len(some) < len(records):
        session.out.note(f"there are more than {SHOWN}: say --limit, or --json for all of them")


def _none(session: Session, id: UUID) -> int:
    session.out.note(f"rowmq: there is no message {id}")
    return 1
