"""Loading: the rows of files become messages, all of them or none."""

from typing import TYPE_CHECKING

from rowmq.pipeline.opening import store_at
from rowmq.pipeline.registration import register
from rowmq.pipeline.writing.files import counted, form_of, read_files
from rowmq.pipeline.writing.staging import stages_of, transaction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def rows_of(
    spark: "SparkSession",
    path: str,
    *,
    form: str | None = None,
    whole: bool | None = None,
    new_ids: bool = False,
) -> "DataFrame":
    """What would be loaded, as the sink takes it. With ``new_ids`` the ids in the files are left out.

    Raises InvalidSetting if nothing tells what the files are, or their rows are no messages.
    """
    rows = read_files(spark, path, form_of(path, form), whole=whole)
    return rows.drop("id") if new_ids else rows


def was_loaded(url: str, once: str) -> bool:
    """Whether a load of this name has counted. A store without stages does not know, and says no."""
    stages = stages_of(store_at(url))
    return stages is not None and stages.last(transaction(once)) is not None


def load(
    rows: "DataFrame",
    url: str,
    *,
    queue: str | None = None,
    topic: str | None = None,
    text: bool = False,
    once: str | None = None,
) -> int:
    """Push rows to a queue or publish them to a topic, and return how many they were.

    All of them count together. ``text`` takes payloads that are text for text, whatever it is; with ``once``,
    a name, a load that counted under this name before is left out.
    """
    register(rows.sparkSession)
    options = {"url": url, "queue": queue, "topic": topic, "txnId": once, "json": "false" if text else "true"}
    given = {name: value for name, value in options.items() if value is not None}
    watched, seen = counted(rows)
    watched.write.format("rowmq").options(**given).mode("append").save()
    return int(seen.get["rows"])
