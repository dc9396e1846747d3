"""Accounting for every message with Spark."""

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from rowmq.doors.cli.output import as_json
from rowmq.doors.cli.session import Session, with_session
from rowmq.doors.cli.sparking import spark_job, spark_options, store_url

if TYPE_CHECKING:
    from rowmq.pipeline.auditing.audit import Finding


@click.command()
@click.option("--from", "lake", metavar="LAKE", help="The archive's folder, to be counted too.")
@click.option("--ids", metavar="FILE", help="Write what is missing, double or broken as JSON lines.")
@spark_options
@with_session
def audit(session: Session, *, lake: str | None, ids: str | None, master: str | None, conf: Any) -> int:
    """Account for every message: owed, finished, archived, or deleted with an entry in the ledger.

    The exit code is 1 if anything is double, broken or missing.
    """
    url = store_url(session)
    with ExitStack() as stack:
        file = None if ids is None else stack.enter_context(Path(ids).open("w", encoding="ascii"))
        spark = stack.enter_context(spark_job(session, "auditing", master=master, conf=conf))
        from rowmq.pipeline.auditing.audit import audit as run  # noqa: PLC0415 - Spark is an extra

        found = run(spark, url, lake, found=None if file is None else _writer(file))
    told = {"ok": found.ok, **asdict(found)}
    session.out.details(told)
    if not found.steady:
        session.out.note("messages were deleted while they were counted; run it again when it is quieter")
    return 0 if found.ok else 1


def _writer(file: IO[str]) -> Any:
    def write(finding: "Finding") -> None:
        file.write(as_json(finding._asdict()) + "\n")

    return write
