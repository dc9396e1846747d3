"""Archiving with Spark."""

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

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

    from rowmq.pipeline.lake.archive import Slice


@click.command()
@click.option("--to", "lake", required=True, metavar="LAKE", help="The archive's folder; made if need be.")
@queue_option
@period_options("Finished")
@click.option("--compact", is_flag=True, help="Gather small files of the archive afterwards.")
@click.option("--keep-for", type=SPAN, help="Then delete from the archive what was finished longer ago.")
@spark_options
@dry_run_option
@with_session
def archive(session: Session, *, lake: str, dry_run: bool, **options: Any) -> None:
    """Move finished messages to Parquet files, by day and queue, with Spark.

    They leave the store once the files were read back. What a killed run has left is finished first.
    """
    url = store_url(session)
    with spark_job(session, "archiving", master=options["master"], conf=options["conf"]) as spark:
        chosen = _slice(session, options["queue"], options["since"], options["until"])
        if dry_run:
            _preview(session, spark, url, chosen)
        else:
            _run(session, spark, url, lake, chosen, options["keep_for"], compacts=options["compact"])


def _slice(session: Session, queue: str | None, since: Said, until: Said) -> "Slice":
    from rowmq.pipeline.lake.archive import Slice  # noqa: PLC0415 - Spark is an extra

    with session.client() as client:
        start, end = period(client.store.now(), since, until)
    return Slice(queue=queue, since=start, until=end)


def _preview(session: Session, spark: "SparkSession", url: str, chosen: "Slice") -> None:
    from rowmq.pipeline.lake.archive import archivable  # noqa: PLC0415 - Spark is an extra

    rows = [row.asDict() for row in archivable(spark, url, chosen).collect()]
    rows = [{"day": row["dt"].isoformat(), "queue": row["queue"], "rows": row["rows"]} for row in rows]
    session.out.listing(rows, ("day", "queue", "rows"), none="there is nothing to archive")


def _run(
    session: Session,
    spark: "SparkSession",
    url: str,
    lake: str,
    chosen: "Slice",
    keep_for: timedelta | None,
    *,
    compacts: bool,
) -> None:
    from rowmq.pipeline.lake.archive import archive as run  # noqa: PLC0415 - Spark is an extra
    from rowmq.pipeline.lake.upkeep import compact, let_go  # noqa: PLC0415 - the same

    done = run(spark, url, lake, of=chosen)
    told: dict[str, Any] = {"archive": lake, **asdict(done)}
    said = (
        f"archived {done.rows} messages to {lake} ({done.bytes:,} bytes); {done.pruned} have left the store"
    )
    if compacts:
        made = compact(spark, url, lake)
        told["compacted"] = asdict(made)
        said += f"; {made.files_before} small files became {made.files_after}"
    if keep_for is not None:
        with session.client() as client:
            gone = let_go(url, lake, (client.store.now() - keep_for).date())
        told["let_go"] = asdict(gone)
        said += f"; {gone.rows} messages of {gone.days} days were let go"
    session.out.result(told, said)
