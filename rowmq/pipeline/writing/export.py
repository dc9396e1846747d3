"""Exporting: the messages of a queue become files."""

from datetime import datetime
from typing import TYPE_CHECKING

from pyspark.sql.functions import to_json

from rowmq.pipeline.registration import register
from rowmq.pipeline.schema import MESSAGES
from rowmq.pipeline.writing.files import CSV_OPTIONS, Form, counted, form_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOMENT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
"""How times are written in files that are text."""


def messages_of(
    spark: "SparkSession",
    url: str,
    *,
    queue: str | None = None,
    state: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> "DataFrame":
    """The messages of a queue, or of all, in a state, or in any, created in [since, until)."""
    register(spark)
    options = {
        "url": url,
        "queue": queue,
        "state": state,
        "since": since and since.isoformat(),
        "until": until and until.isoformat(),
    }
    given = {name: value for name, value in options.items() if value is not None}
    return spark.read.format("rowmq").schema(MESSAGES).options(**given).load()


def export(
    messages: "DataFrame",
    path: str,
    *,
    form: str | None = None,
    overwrite: bool = False,
    files: int | None = None,
) -> int:
    """Write messages to a folder of files, as Parquet, CSV or JSON lines, and return how many they were.

    ``files`` is how many; without it each task writes its own. A folder that is there is refused unless it
    is to be overwritten. Raises InvalidSetting if nothing tells what the files are to be.
    """
    chosen = form_of(path, form)
    rows, seen = counted(_fit(messages, chosen))
    parts = rows if files is None else rows.repartition(files)
    mode = "overwrite" if overwrite else "error"  # whose longer name Spark Connect does not know
    writer = parts.write.mode(mode).option("timestampFormat", MOMENT)
    options = CSV_OPTIONS if chosen is Form.CSV else {}
    writer.options(**options).format(chosen.value).save(path)
    return int(seen.get["rows"])


def _fit(messages: "DataFrame", form: Form) -> "DataFrame":
    """What CSV has no columns for becomes JSON text."""
    if form is not Form.CSV:
        return messages
    return messages.withColumn("metadata", to_json("metadata"))
