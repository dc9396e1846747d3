"""Files of messages: which kind they are, and how their columns become those of the sink."""

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pyspark.sql import Observation
from pyspark.sql.functions import coalesce, col, count, from_json, lit, struct

from rowmq.core.errors import InvalidSetting
from rowmq.pipeline.schema import MESSAGES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


class Form(StrEnum):
    """The form of a file."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


SUFFIXES = {
    ".parquet": Form.PARQUET,
    ".csv": Form.CSV,
    ".json": Form.JSON,
    ".jsonl": Form.JSON,
    ".ndjson": Form.JSON,
}
CSV_OPTIONS = {"header": "true", "multiLine": "true", "quote": '"', "escape": '"'}
"""As other programs write and read it: quotes inside quotes are doubled, and a value may have many lines."""
LIKE_MESSAGES = {
    "payload": "string",
    "binary": "boolean",
    "id": "string",
    "metadata": "map<string,string>",
    "at": "timestamp",
    "scheduled_for": "timestamp",
    "priority": "int",
    "deadline": "timestamp",
    "key": "string",
    "group": "string",
}
"""The columns that a file of messages may have; what else an export holds is not for the sink."""
EXPORTED = {*MESSAGES.fieldNames()}
"""The columns of an export."""


def form_of(path: str, said: str | None) -> Form:
    """The form that was said, or the one that the path's ending tells; InvalidSetting if neither does."""
    if said is not None:
        return Form(said)
    bare = path.rstrip("/*").removesuffix(".gz")
    found = next((form for suffix, form in SUFFIXES.items() if bare.endswith(suffix)), None)
    if found is None:
        raise InvalidSetting(
            f"{path!r} does not tell what it is: say --format parquet, csv or json, or end it with"
            f" {', '.join(SUFFIXES)}"
        )
    return found


def read_files(spark: "SparkSession", path: str, form: Form, *, whole: bool | None) -> "DataFrame":
    """A file's rows as the sink takes them: as messages with their columns, or each ``whole`` row a payload.

    Without a word about it rows are messages if they have a payload, and beside it only what messages have.
    """
    if form is Form.JSON:
        return _json(spark, path, whole=whole)
    reader = spark.read.options(**CSV_OPTIONS) if form is Form.CSV else spark.read
    rows = reader.format(form.value).load(path)
    return _payloads(rows) if _is_whole(rows.columns, whole=whole) else as_messages(rows)


def _json(spark: "SparkSession", path: str, *, whole: bool | None) -> "DataFrame":
    """Lines that are payloads stay as they are, to the byte."""
    lines = spark.read.text(path).where("trim(value) <> ''")
    if whole is None:
        first = lines.head()
        whole = first is None or _is_whole(_keys(first[0]), whole=None)
    if whole:
        return lines.withColumnRenamed("value", "payload")
    columns = ", ".join(f"`{name}` {kind}" for name, kind in LIKE_MESSAGES.items())
    rows = spark.read.schema(columns).option("mode", "FAILFAST").json(path)
    return as_messages(rows)


def _keys(line: str) -> list[str]:
    try:
        read = json.loads(line)
    except ValueError:
        return []
    return list(read) if isinstance(read, dict) else []


def _is_whole(columns: list[str], *, whole: bool | None) -> bool:
    if whole is not None:
        return whole
    return "payload" not in columns or bool(set(columns) - set(LIKE_MESSAGES) - EXPORTED)


def _payloads(rows: "DataFrame") -> "DataFrame":
    return rows.select(struct("*").alias("payload"))


def as_messages(rows: "DataFrame") -> "DataFrame":
    """The columns that the sink has, each with the type it must have; the rest is left out."""
    types = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    if "payload" not in types:
        raise InvalidSetting(
            f"these rows have no payload, only {', '.join(types)}: say --whole to push each of them"
        )
    named = {name: _cast(name, types[name]) for name in LIKE_MESSAGES if name in types}
    if "scheduled_for" in named:
        scheduled = named.pop("scheduled_for")
        named["at"] = coalesce(named["at"], scheduled) if "at" in named else scheduled
    return rows.select([column.alias(name) for name, column in named.items()])


def _cast(name: str, kind: str) -> "Column":
    wanted = LIKE_MESSAGES[name]
    if name == "payload" or kind == wanted:
        return col(f"`{name}`")
    if name == "metadata":
        return from_json(col(name), wanted, {"mode": "FAILFAST"})
    return col(f"`{name}`").cast(wanted)


def counted(rows: "DataFrame") -> tuple["DataFrame", Any]:
    """The rows, and what tells how many there were once they are written."""
    seen = Observation()
    return rows.observe(seen, count(lit(1)).alias("rows")), seen
