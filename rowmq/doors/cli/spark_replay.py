"""Replaying from an archive with Spark."""

from dataclasses import asdict
from hashlib import sha256
from typing import Any

import click

from rowmq.core.outcome import State
from rowmq.doors.cli.completion import complete_queue
from rowmq.doors.cli.session import Session, with_session
from rowmq.doors.cli.sparking import (
    dry_run_option,
    period,
    period_options,
    spark_job,
    spark_options,
    store_url,
)


@click.command()
@click.option("--from", "lake", required=True, metavar="LAKE", help="The archive's folder.")
@click.option(
    "-q", "--queue", required=True, shell_complete=complete_queue,
    help="The queue whose archived messages are replayed.",
)  # fmt: skip
@click.option("--to", required=True, metavar="QUEUE", shell_complete=complete_queue, help="Where they go.")
@click.option("--state", type=click.Choice(["done", "dead"]), help="Only messages that ended so.")
@period_options("Finished")
@click.option("--name", metavar="NAME", help="Another name makes another replay of the same messages.")
@spark_options
@dry_run_option
@with_session
def replay(
    session: Session, *, lake: str, dry_run: bool, master: str | None, conf: Any, **options: Any
) -> None:
    """Push messages of an archive again, each once, with Spark.

    Saying the same again is the same replay: a killed one is finished, and what it has pushed is not
    pushed again.
    """
    url = store_url(session)
    with spark_job(session, "replaying", master=master, conf=conf) as spark:
        from rowmq.pipeline.lake.replay import replay as run  # noqa: PLC0415 - Spark is an extra
        from rowmq.pipeline.lake.replay import replayable  # noqa: PLC0415 - the same

        again = _again(session, options)
        if dry_run:
            count = replayable(spark, lake, again)
            told = {"id": again.id, "messages": count}
            session.out.result(told, f"the archive has {count} such messages, with those replayed before")
            return
        done = run(spark, url, lake, again)
    session.out.result(
        {"queue": again.queue, "to": again.to, **asdict(done)},
        f"pushed {done.pushed} messages to {again.to!r}; {done.seen} had been pushed before, and of"
        f" {done.dropped} the payload was not kept (replay {done.id})",
    )


def _again(session: Session, options: dict[str, Any]) -> Any:
    from rowmq.pipeline.lake.replay import Again  # noqa: PLC0415 - Spark is an extra

    with session.client() as client:
        since, until = period(client.store.now(), options["since"], options["until"])
    state = State(options["state"]) if options["state"] else None
    name = options["name"] or _name(options)
    return Again(queue=options["queue"], to=options["to"], state=state, since=since, until=until, name=name)


def _name(options: dict[str, Any]) -> str:
    """A name made of what was typed."""
    words = [str(options[each]) for each in ("queue", "to", "state", "since", "until")]
    return sha256(repr(words).encode()).hexdigest()[:16]
