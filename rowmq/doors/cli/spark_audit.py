"""Accounting for every message with Spark."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from rowmq.doors.cli.output import as_json
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

if TYPE_CHECKING:
    from rowmq.pipeline.auditing.audit import Audit, Finding
    from rowmq.pipeline.auditing.scope import Scope


@click.command()
@click.option("--from", "lake", metavar="LAKE", help="The archive's folder, to be counted too.")
@queue_option
@period_options("Created")
@click.option("--ids", metavar="FILE", help="Write what is missing, double or broken as JSON lines.")
@spark_options
@dry_run_option
@with_session
def audit(session: Session, *, lake: str | None, ids: str | None, dry_run: bool, **options: Any) -> int:
    """Account for every message: owed, finished, archived, or deleted with an entry in the ledger.

    The exit code is 1 if anything is double, broken or missing, or if it is not known whether it is.
    """
    url = store_url(session)
    scope = _scope(session, options["queue"], options["since"], options["until"])
    if dry_run:
        _preview(session, url, lake, scope)
        return 0
    with ExitStack() as stack:
        file = None if ids is None else stack.enter_context(Path(ids).open("w", encoding="ascii"))
        job = spark_job(session, "auditing", master=options["master"], conf=options["conf"])
        spark = stack.enter_context(job)
        from rowmq.pipeline.auditing.audit import audit as run  # noqa: PLC0415 - Spark is an extra

        found = run(spark, url, lake, of=scope, found=None if file is None else _writer(file))
    _tell(session, found)
    return 0 if found.ok else 1


def _scope(session: Session, queue: str | None, since: Said, until: Said) -> "Scope":
    from rowmq.pipeline.session import check_spark  # noqa: PLC0415 - the pipeline is not for every command

    check_spark()  # the scope of an audit needs what comes with Spark
    from rowmq.pipeline.auditing.scope import Scope  # noqa: PLC0415 - as above

    with session.client() as client:
        start, end = period(client.store.now(), since, until)
    return Scope(queue=queue, since=start, until=end)


def _preview(session: Session, url: str, lake: str | None, scope: "Scope") -> None:
    from rowmq.pipeline.auditing.reading import reading  # noqa: PLC0415 - as above

    would = reading(url, lake, of=scope)
    said = f"would read messages {would.first_seq} to {would.last_seq} of the store, {would.ledger_entries}"
    said += f" entries of the ledger, and {would.archive_files} files of the archive"
    session.out.result(asdict(would), f"{said} with {would.archive_rows:,} messages")


def _tell(session: Session, found: "Audit") -> None:
    told = {"ok": found.ok, **asdict(found)}
    if not session.out.as_json:
        for sentence in told.pop("not_known"):
            session.out.note(sentence)
    session.out.details(told)
    if not found.steady:
        session.out.note("messages were deleted while they were counted; run it again when it is quieter")


def _writer(file: IO[str]) -> "Callable[[Finding], None]":
    def write(finding: "Finding") -> None:
        file.write(as_json(finding._asdict()) + "\n")

    return write
