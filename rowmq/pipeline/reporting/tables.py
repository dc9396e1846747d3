"""The tables of a report: what their columns are, and how they are written to files."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from rowmq.core.errors import InvalidSetting

Row = Mapping[str, Any]
FORMATS = ("parquet", "csv", "json")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet would take the rest of a text for a formula after."""


class Kind(StrEnum):
    """What a column holds, which decides its type in files and its looks on the page."""

    TEXT = "string"
    COUNT = "int64"
    SECONDS = "double"
    TIME = "timestamp"


COUNTS = {"pushed": Kind.COUNT, "done": Kind.COUNT, "dead": Kind.COUNT, "failures": Kind.COUNT}
COUNTS |= {"retries": Kind.COUNT}
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
SPANS = {f"{what}_{name}": Kind.SECONDS for what in ("wait", "service") for name in PERCENTILES}
MEASURES = COUNTS | SPANS
"""What is measured of everything alike, in the order of the columns."""
QUEUE, STEP = {"queue": Kind.TEXT}, {"time": Kind.TIME}
WAITING = {"ready": Kind.COUNT, "scheduled": Kind.COUNT, "leased": Kind.COUNT}
DEPTH = {"depth": Kind.COUNT}
TABLES: dict[str, dict[str, Kind]] = {
    "total": MEASURES | WAITING,
    "by_queue": QUEUE | MEASURES | WAITING,
    "by_time": STEP | MEASURES | DEPTH,
    "by_queue_and_time": QUEUE | STEP | MEASURES | DEPTH,
    "by_consumer": QUEUE | {"consumer": Kind.TEXT} | MEASURES,
    "by_metadata": QUEUE | {"value": Kind.TEXT} | MEASURES,
    "attempts": QUEUE | {"attempts": Kind.COUNT, "messages": Kind.COUNT},
    "slowest": {
        "id": Kind.TEXT,
        "queue": Kind.TEXT,
        "state": Kind.TEXT,
        "consumer": Kind.TEXT,
        "attempts": Kind.COUNT,
        "finished_at": Kind.TIME,
        "wait": Kind.SECONDS,
        "service": Kind.SECONDS,
        "payload": Kind.TEXT,
    },
    "errors": {
        "queue": Kind.TEXT,
        "error": Kind.TEXT,
        "failures": Kind.COUNT,
        "messages": Kind.COUNT,
        "first_at": Kind.TIME,
        "last_at": Kind.TIME,
        "example": Kind.TEXT,
    },
}
"""The tables of a report and their columns; what is missing in a row is null."""


def write_tables(tables: Mapping[str, Sequence[Row]], folder: Path) -> list[Path]:
    """Write each table as Parquet, CSV and JSON into a folder; the files. Raises InvalidSetting."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in tables.items():
            for form, write in (("parquet", _parquet), ("csv", _csv), ("json", _json)):
                path = folder / f"{name}.{form}"
                path.write_bytes(write(rows, TABLES[name]))
                written.append(path)
    except OSError as error:
        raise not_writable(folder, error) from error
    return written


def not_writable(path: Path, error: OSError) -> InvalidSetting:
    """The error that says a report cannot be written there, and what to do."""
    why = error.strerror or str(error)
    return InvalidSetting(f"the report cannot be written to {path} ({why}): name another folder")


def _parquet(rows: Sequence[Row], columns: Mapping[str, Kind]) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 - as Spark, only where it is needed
    import pyarrow.parquet as pq  # noqa: PLC0415 - the same

    types = {Kind.TIME: pa.timestamp("us", tz="UTC"), Kind.TEXT: pa.string()}
    types |= {Kind.COUNT: pa.int64(), Kind.SECONDS: pa.float64()}
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema), sink, compression="zstd")
    return sink.getvalue()


def _csv(rows: Sequence[Row], columns: Mapping[str, Kind]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(row.get(name)) for name in columns] for row in rows)
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    """A value as it stands in CSV; a text that a spreadsheet would run is made text by an apostrophe."""
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return _iso(value) if isinstance(value, datetime) else value


def _json(rows: Sequence[Row], columns: Mapping[str, Kind]) -> bytes:
    lines = (json.dumps({name: row.get(name) for name in columns}, default=_iso) for row in rows)
    return ("[" + ",\n ".join(lines) + "]\n").encode()


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
