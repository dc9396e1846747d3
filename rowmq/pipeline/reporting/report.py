"""A report of what messages did: figures from store and archive together, a page, and tables as files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from rowmq.core.errors import QueueNotFound
from rowmq.core.history import Record
from rowmq.pipeline.opening import absolute, store_at
from rowmq.pipeline.registration import register
from rowmq.pipeline.reporting.page import Figures, page
from rowmq.pipeline.reporting.tables import Row, not_writable, write_tables
from rowmq.runtime.log import redacted, redacted_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXCERPT = 200
"""Characters of a payload that a report shows."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was written, and what it says."""

    page: Path
    tables: Sequence[Path]
    figures: Figures


def report(spark: "SparkSession", url: str, *, to: str | Path, **asked: Any) -> Report:
    """Write the page ``report.html`` and a folder ``tables`` into a folder, and return what they say.

    Takes what :func:`figures` takes. Raises what that raises, and InvalidSetting if the folder cannot be
    written.
    """
    folder = Path(to)
    check_writable(folder)
    found = figures(spark, url, **asked)
    written = write_tables(found.tables, folder / "tables")
    path = folder / "report.html"
    path.write_text(page(found), encoding="utf-8")
    return Report(path, written, found)


def figures(
    spark: "SparkSession",
    url: str,
    *,
    archive: str | None = None,
    queue: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    every: timedelta | None = None,
    by: str | None = None,
) -> Figures:
    """Measure what happened from ``since`` on and before ``until``; everything there is by default.

    A message that is in the store and in the archive counts once, as it is in the store. ``every`` is the
    step over time and ``by`` a metadata key to tell messages apart by. Raises QueueNotFound, and
    InvalidSetting if the period or the archive cannot be.
    """
    from rowmq.pipeline.reporting.figures import figures_of  # noqa: PLC0415 - Spark is an extra

    messages, failures = histories(spark, url, archive=archive, queue=queue, since=since, until=until)
    found = figures_of(messages, failures, queue=queue, since=since, until=until, every=every, by=by)
    slowest = _with_payloads(spark, url, archive, found.tables["slowest"])
    read = " and ".join(redacted_text(each) for each in (redacted(url), archive) if each)
    return replace(found, tables={**found.tables, "slowest": slowest}, read=read)


def histories(
    spark: "SparkSession",
    url: str,
    *,
    archive: str | None = None,
    queue: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> tuple["DataFrame", "DataFrame"]:
    """Messages and failed attempts of store and archive together, each once.

    Only messages that were unfinished at some time of the period: those created before ``until`` and not
    finished before ``since``. Raises QueueNotFound for a queue that neither has.
    """
    from rowmq.pipeline.reporting.histories import archived, joined, stored  # noqa: PLC0415 - Spark is an extra

    register(spark)
    there = queue is None or store_at(absolute(url)).queues.get(queue) is not None
    if not there and archive is None:
        raise QueueNotFound(str(queue))
    parts = [stored(spark, absolute(url), queue)] if there else []
    if archive is not None:
        parts.append(archived(spark, archive, queue, since))
    return joined(parts, since, until)


def check_writable(folder: Path) -> None:
    """Make the folder, or raise InvalidSetting if nothing can be written there, before all the counting."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".rowmq"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise not_writable(folder, error) from error


def _with_payloads(spark: "SparkSession", url: str, archive: str | None, rows: Sequence[Row]) -> list[Row]:
    """The rows with the beginnings of their payloads: looked up for these few, not read for all."""
    store = store_at(absolute(url))
    records = {row["id"]: store.history.get(UUID(row["id"])) for row in rows}
    known = {id: _excerpt(record) for id, record in records.items() if record is not None}
    missing = [id for id in records if id not in known]
    if archive is not None and missing:
        from rowmq.pipeline.reporting.histories import payloads  # noqa: PLC0415 - Spark is an extra

        known |= payloads(spark, archive, missing, EXCERPT)
    return [{**row, "payload": known.get(row["id"])} for row in rows]


def _excerpt(record: Record) -> str | None:
    if record.body is None:
        return None
    if record.binary:
        return f"{len(record.body)} bytes"
    return record.body.decode(errors="replace")[:EXCERPT]
