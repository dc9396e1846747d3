"""Reporting what messages did, with Spark."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rowmq.doors.cli.output import moment_text
from rowmq.doors.cli.session import Session, with_session
from rowmq.doors.cli.sparking import (
    Said,
    dry_run_option,
    period,
    period_options,
    queue_option,
    spark_job,
    spark_options,
    store_url,
)
from rowmq.doors.cli.words import SPAN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rowmq.pipeline.reporting.report import Report


@click.command()
@click.option("--from", "lake", metavar="LAKE", help="An archive to read together with the store.")
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path),
    help="The folder that the report goes to; by default one named after the time, for the dashboard.",
)
@queue_option
@period_options("Happened")
@click.option("--every", type=SPAN, help="The step over time; one that suits the period by default.")
@click.option("--by", metavar="KEY", help="A metadata key to tell messages apart by.")
@dry_run_option
@spark_options
@with_session
def report(
    session: Session,
    *,
    lake: str | None,
    folder: Path | None,
    queue: str | None,
    since: Said,
    until: Said,
    every: timedelta | None,
    by: str | None,
    dry_run: bool,
    master: str | None,
    conf: Sequence[tuple[str, str]],
) -> None:
    """Write a page with plots, and tables, of what messages did.

    Throughput, depth, wait and service times, failures, retries, the slowest messages and errors in groups:
    by queue, over time, by consumer and by a metadata key. report.html needs nothing else; tables/ has the
    same as Parquet, CSV and JSON.
    """
    url = store_url(session)
    with session.client() as client:
        now = client.store.now()
    start, end = period(now, since, until)
    read = {"archive": lake, "queue": queue, "since": start, "until": end}
    with spark_job(session, "report", master=master, conf=conf) as spark:
        if dry_run:
            count = _count(spark, url, read)
            session.out.result({"messages": count}, f"Would report on {count:,} messages.")
            return
        from rowmq.pipeline.reporting.report import report as write  # noqa: PLC0415 - Spark is an extra

        place = folder or Path(session.config.server.reports) / f"{now:%Y-%m-%d-%H%M%S}"
        _tell(session, write(spark, url, to=place, every=every, by=by, **read))


def _count(spark: "SparkSession", url: str, read: dict[str, Any]) -> int:
    from rowmq.pipeline.reporting.report import histories  # noqa: PLC0415 - Spark is an extra

    found: int = histories(spark, url, **read)[0].count()
    return found


def _tell(session: Session, made: "Report") -> None:
    """Where the report is, and what it says in one line."""
    found, total = made.figures.period, dict(made.figures.total)
    counts = ", ".join(f"{total[name]:,} {name}" for name in ("pushed", "done", "dead", "failures"))
    said = {"report": str(made.page), "tables": str(made.page.parent / "tables")}
    times = {"since": found.since, "until": found.until, "every": found.every}
    session.out.result(
        {**said, **times, **total},
        f"{counts} from {moment_text(found.since)} to {moment_text(found.until)}: {made.page}",
    )
