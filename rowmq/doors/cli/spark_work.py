"""Working on Spark's executors."""

import os
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

import click

from rowmq.core.outcome import State
from rowmq.doors.cli.completion import complete_queue
from rowmq.doors.cli.loading import load_client
from rowmq.doors.cli.session import Session, with_session
from rowmq.doors.cli.sparking import (
    Said,
    dry_run_option,
    period,
    period_options,
    spark_job,
    spark_options,
)
from rowmq.doors.cli.words import MEETS, SPAN, all_of
from rowmq.runtime.client import Client
from rowmq.runtime.foreground import on_signal

COUNTED = ("done", "retried", "dead", "released")
PASSED = ("mode", "tasks", "concurrency", "batch", "lease", "stop_when_empty", "where", "max_age", "period")


@click.command("spark-work")
@click.argument("target", metavar="MODULE:NAME")
@click.option(
    "--mode", type=click.Choice(["workers", "microbatch"]), default="workers", show_default=True,
    help="Whether each task claims by itself, or the driver claims batches and acks each after its job.",
)  # fmt: skip
@click.option(
    "-q", "--queue", "queues", multiple=True, shell_complete=complete_queue,
    help="Work on this queue only; may be repeated. All with a handler or a task by default.",
)  # fmt: skip
@click.option("--tasks", type=click.IntRange(min=1), help="How many tasks run; as many as fit by default.")
@click.option(
    "-c", "--concurrency", type=click.IntRange(min=1), default=8, show_default=True,
    help="How many handlers run at once in each worker.",
)  # fmt: skip
@click.option(
    "--batch", type=click.IntRange(1, 100_000), default=10_000, show_default=True,
    help="How many messages a micro-batch has at most.",
)  # fmt: skip
@click.option("--lease", type=SPAN, help="How long a message is held before others may have it.")
@click.option("--where", type=MEETS, multiple=True, help="Only where metadata says so; may be repeated.")
@click.option("--max-age", type=SPAN, help="Only messages that are not older.")
@period_options("Created")
@click.option("--stop-when-empty", is_flag=True, help="Stop once there is nothing left.")
@spark_options
@dry_run_option
@with_session
def spark_work(
    session: Session, *, target: str, queues: Sequence[str], dry_run: bool, **options: Any
) -> None:
    """Run the handlers and tasks of a client on Spark's executors until a signal comes.

    MODULE:NAME is a client, as for work; executors must be able to import it too. At the first SIGINT or
    SIGTERM what runs is finished; a second one ends the process.
    """
    if session.url is not None:  # for a module that leaves the URL to its surroundings
        os.environ["ROWMQ_URL"] = session.url
    load = partial(load_client, target)
    client = load()
    served = client.worker(*queues).queues
    options["period"] = _period(client, options.pop("since"), options.pop("until"))
    options["where"] = all_of(options["where"])
    if dry_run:
        _show_waiting(session, client, served, options)
        return
    counts = _work(session, client, load, served, options)
    said = {"queues": list(served), **{name: counts[name] for name in COUNTED}}
    session.out.result(said, ", ".join(f"{counts[name]} {name}" for name in COUNTED))


def _period(client: Client, since: Said, until: Said) -> tuple[datetime | None, datetime | None]:
    if since is None and until is None:
        return None, None  # a worker's token need not have the right to ask for the store's time
    return period(client.store.now(), since, until)


def _work(session: Session, client: Client, load: Any, queues: Sequence[str], options: Any) -> Counter[str]:
    from rowmq.pipeline.handlers.work import work  # noqa: PLC0415 - Spark is an extra

    over = threading.Event()

    def heard() -> None:
        threading.Thread(target=over.set).start()  # the signal may have interrupted this one within the event

    said = {name: options[name] for name in PASSED}
    with (
        on_signal(heard),  # while Spark starts
        spark_job(session, "work", master=options["master"], conf=options["conf"]) as spark,
        on_signal(heard),  # again: Spark's own gives up
    ):
        return work(spark, client, load, *queues, until=over, **said)


def _show_waiting(session: Session, client: Client, queues: Sequence[str], options: Any) -> None:
    names = {queue.name for queue in client.queues()}
    waiting = [
        {"queue": name, "ready": _ready(client, name, options) if name in names else 0} for name in queues
    ]
    session.out.listing(waiting, ["queue", "ready"], none="there is nothing to work on")


def _ready(client: Client, queue: str, options: Any) -> int:
    """How many messages could be worked on now; with conditions they have to be looked at."""
    (since, until), max_age = options["period"], options["max_age"]
    if not (options["where"] or since or until or max_age):
        return client.store.queues.stats(queue).ready
    oldest = None if max_age is None else client.store.now() - max_age
    since = max((each for each in (since, oldest) if each is not None), default=None)
    found = client.find(queue, state=State.READY, where=options["where"], since=since, until=until)
    return sum(1 for _ in found)
