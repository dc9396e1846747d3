"""Messages from files, into files, and from other systems, in bulk."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click

from rowmq.core.errors import QueueNotFound
from rowmq.core.outcome import State
from rowmq.doors.cli.completion import complete_queue
from rowmq.doors.cli.session import Session, with_session
from rowmq.doors.cli.sparking import (
    dry_run_option,
    period,
    period_options,
    queue_option,
    spark_job,
    spark_options,
    store_url,
)
from rowmq.doors.cli.words import one_of

SYSTEMS = ("pgq", "gqs", "hq", "gq", "gomq")
FORMS = ("parquet", "csv", "json")
Said = datetime | timedelta | None
format_option = click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="What the files are; otherwise the path's ending tells.",
)


@click.command()
@click.option("--from", "source", required=True, metavar="PATH", help="A file or a folder; * stands for any.")
@click.option("-q", "--queue", shell_complete=complete_queue, help="The queue to push to.")
@click.option("--topic", help="The topic to publish to.")
@format_option
@click.option(
    "--whole/--columns", default=None,
    help="Each row a payload, or rows with a column payload; by default what they look like.",
)  # fmt: skip
@click.option("--text", is_flag=True, help="Payloads are any text, not JSON.")
@click.option("--new-ids", is_flag=True, help="Leave out the ids in the files.")
@click.option("--once", metavar="NAME", help="Do nothing if a load of this name has been done.")
@dry_run_option
@spark_options
@with_session
def load(
    session: Session, *, source: str, master: str | None, conf: Any, dry_run: bool, **options: Any
) -> None:
    """Push the rows of Parquet, CSV or JSON lines files, all of them or none.

    rowmq load --from orders.parquet --queue orders
    """
    queue, topic = options.pop("queue"), options.pop("topic")
    if (queue is None) == (topic is None):
        raise click.UsageError("say where the messages go: either --queue or --topic")
    url, said = store_url(session), {name: options.pop(name) for name in ("text", "once")}
    _check_queue(session, queue)
    with spark_job(session, "load", master=master, conf=conf) as spark:
        from rowmq.pipeline.writing.load import load, rows_of, was_loaded  # noqa: PLC0415 - Spark is an extra

        if said["once"] is not None and was_loaded(url, said["once"]):
            session.out.result(_loaded(source, queue, topic, 0), f"a load {said['once']!r} was done before")
            return
        rows = rows_of(spark, absolute(source), **options)
        count = rows.count() if dry_run else load(rows, url, queue=queue, topic=topic, **said)
    to = f"queue {queue!r}" if queue else f"topic {topic!r}"
    session.out.result(
        _loaded(source, queue, topic, count, dry_run=dry_run),
        f"would load {count:,} rows into {to}" if dry_run else f"loaded {count:,} rows into {to}",
    )


@click.command()
@click.option("--to", "target", required=True, metavar="PATH", help="The folder to write.")
@queue_option
@click.option("--state", type=one_of(State), help="Only messages in this state.")
@period_options("Pushed")
@format_option
@click.option(
    "--files", type=click.IntRange(1), help="How many files; as many as there are tasks by default."
)
@click.option("--overwrite", is_flag=True, help="Replace what is there.")
@dry_run_option
@spark_options
@with_session
def export(
    session: Session,
    *,
    target: str,
    since: Said,
    until: Said,
    master: str | None,
    conf: Any,
    dry_run: bool,
    **options: Any,
) -> None:
    """Write messages, finished ones too, to Parquet, CSV or JSON lines files.

    rowmq export --queue orders --to orders.parquet
    """
    url, queue, state = store_url(session), options.pop("queue"), options.pop("state")
    _check_queue(session, queue)
    with session.client() as client:
        first, last = period(client.store.now(), since, until)
    with spark_job(session, "export", master=master, conf=conf) as spark:
        from rowmq.pipeline.writing.export import export, messages_of  # noqa: PLC0415 - Spark is an extra

        rows = messages_of(spark, url, queue=queue, state=state, since=first, until=last)
        count = rows.count() if dry_run else export(rows, absolute(target), **options)
    session.out.result(
        {"to": target, "queue": queue, "exported": 0 if dry_run else count, "rows": count},
        f"would export {count:,} messages to {target}"
        if dry_run
        else f"exported {count:,} messages to {target}",
    )


@click.command("import")
@click.argument("system", type=click.Choice(SYSTEMS))
@click.option("--from", "source", required=True, metavar="URL", help="The other system's database.")
@click.option("-q", "--queue", help="Only the queue of this name there; all of them by default.")
@click.option("--to", metavar="QUEUE", shell_complete=complete_queue, help="The queue here, if it is one.")
@click.option("--parse", is_flag=True, help="Bytes that are JSON text become JSON.")
@dry_run_option
@spark_options
@with_session
def import_command(
    session: Session,
    *,
    system: str,
    source: str,
    master: str | None,
    conf: Any,
    dry_run: bool,
    **options: Any,
) -> None:
    """Move messages over from pgq, gqs, hq, gq or GOMQ, in whatever state they are.

    It may be run again: what is here already stays as it is. Stop the other system before.
    """
    url, parse = store_url(session), options.pop("parse")
    with session.client() as client:
        now = client.store.now()
    with spark_job(session, "import", master=master, conf=conf) as spark:
        from rowmq.pipeline.importing.moving import look, move, places_of, rows_of  # noqa: PLC0415 - Spark is an extra

        found = []
        for place in places_of(system, source, **options):
            rows = rows_of(spark, system, source, place, now, parse=parse)
            found.append((look(rows, place) if dry_run else move(rows, url, place))._asdict())
    session.out.listing(found, ("name", "to", "rows", "done", "dead"), none="there is nothing to import")


def _loaded(
    source: str, queue: str | None, topic: str | None, rows: int, *, dry_run: bool = False
) -> dict[str, Any]:
    return {"from": source, "queue": queue, "topic": topic, "rows": rows, "loaded": 0 if dry_run else rows}


def absolute(path: str) -> str:
    """A path of this machine, from its root: Spark may have been started elsewhere. Addresses stay."""
    return path if "://" in path else str(Path(path).absolute())


def _check_queue(session: Session, queue: str | None) -> None:
    """A queue that is not there is said at once, before Spark starts."""
    with session.client() as client:
        if queue is not None and client.store.queues.get(queue) is None:
            raise QueueNotFound(queue)
