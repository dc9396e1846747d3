"""The figures of a report, counted by Spark; only what is counted comes back from it."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from rowmq.pipeline.reporting.events import LONGEST_EXAMPLE, events, lives, pattern
from rowmq.pipeline.reporting.page import Figures
from rowmq.pipeline.reporting.period import EPOCH, Period, step_for
from rowmq.pipeline.reporting.tables import COUNTS, PERCENTILES, TABLES, WAITING, Kind, Row

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_ROWS, SLOWEST, GROUPS = 1000, 50, 200
"""How many consumers or values, slow messages and groups of errors a report has at most."""
ACCURACY = 10_000
"""A percentile's rank is right to one part in so many."""
MICROSECOND = timedelta(microseconds=1)
DONE_FIRST = ("done", "dead", "failures", "pushed")


def figures_of(
    messages: "DataFrame",
    failures: "DataFrame",
    *,
    queue: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    every: timedelta | None = None,
    by: str | None = None,
) -> Figures:
    """What happened to these messages from ``since`` on and before ``until``, in steps of ``every``.

    Without these: from the first thing that happened to the last, in steps that suit. ``by`` is a metadata
    key to tell messages apart by. With ``queue`` only the failures in that queue count. Raises
    InvalidSetting if the period cannot be.
    """
    failures = failures.persist()
    lived = lives(messages, failures, by).persist()
    try:
        failed = failures if queue is None else failures.where(F.col("queue") == queue)
        happened = events(lived, failed)
        period = _period(happened, since, until, every)
        within = happened.where(_within("at", period))
        tables = _tables(lived, failed.where(_within("ended_at", period)), within, period)
        if by is not None:
            tables["by_metadata"] = _top(within.withColumn("value", F.col("label")), "value")
    finally:
        lived.unpersist()
        failures.unpersist()
    return Figures(period, tables, by=by)


def _tables(
    lived: "DataFrame", failures: "DataFrame", happened: "DataFrame", period: Period
) -> dict[str, list[Row]]:
    states = _states(lived, period)
    tables = _cubed(happened, period, states)
    finished = lived.where(_within("finished_at", period))
    tables["by_consumer"] = _top(happened.where("consumer IS NOT NULL"), "consumer")
    tables["attempts"] = _rows(
        finished.groupBy("queue", "attempts")
        .agg(F.count("*").alias("messages"))
        .orderBy("queue", "attempts"),
        "attempts",
    )
    tables["slowest"] = _rows(_slowest(finished), "slowest")
    tables["errors"] = _rows(_errors(failures), "errors")
    return tables


def _period(
    happened: "DataFrame", since: datetime | None, until: datetime | None, every: timedelta | None
) -> Period:
    """The period asked for; where it is open, from the first event or to the last one within it."""
    if since is None or until is None:
        first, last = (
            happened.where(_bounds("at", since, until)).agg(_micros(F.min("at")), _micros(F.max("at"))).head()
        )
        since = since or _moment(first) or (until or datetime.now(UTC)) - timedelta(hours=1)
        until = until or (_moment(last) or since + timedelta(hours=1)) + MICROSECOND
    return Period(since, until, every or step_for(until - since))


def _states(lived: "DataFrame", period: Period) -> dict[str, dict[str, int]]:
    """For each queue what is unfinished now by state, and how much was unfinished when the period began."""
    open_then = (F.col("created_at") < _literal(period.since)) & (
        F.col("finished_at").isNull() | (F.col("finished_at") >= _literal(period.since))
    )
    counted = {state: F.count_if(F.col("state") == state) for state in WAITING}
    counted["before"] = F.count_if(open_then)
    rows = lived.groupBy("queue").agg(*(column.alias(name) for name, column in counted.items())).collect()
    return {row["queue"]: {name: row[name] for name in counted} for row in rows}


def _cubed(
    happened: "DataFrame", period: Period, states: Mapping[str, Mapping[str, int]]
) -> dict[str, list[Row]]:
    """Total, by queue, by time and by both, from one pass."""
    step = F.expr(f"unix_micros(at) div {period.every // MICROSECOND}").alias("step")
    cube = happened.select("*", step).cube("step", "queue")
    rows = [row.asDict() for row in cube.agg(F.grouping_id().alias("level"), *_measures()).collect()]
    levels = {level: [row for row in rows if row["level"] == level] for level in range(4)}
    whole = {name: sum(each[name] for each in states.values()) for name in (*WAITING, "before")}
    total = levels[3] or [dict.fromkeys(COUNTS, 0)]
    known = {row["queue"]: row for row in levels[2]}
    quiet: dict[str, Any] = dict.fromkeys(COUNTS, 0)
    still = dict.fromkeys(WAITING, 0)
    by_queue = [
        {"queue": name} | known.get(name, quiet) | dict(states.get(name, still))
        for name in sorted({*known, *states})
    ]
    return {
        "total": _shaped([row | whole for row in total], "total"),
        "by_queue": _shaped(by_queue, "by_queue"),
        "by_time": _deep(levels[1], period, {None: whole["before"]}, "by_time"),
        "by_queue_and_time": _deep(
            levels[0], period, {name: each["before"] for name, each in states.items()}, "by_queue_and_time"
        ),
    }


def _deep(
    rows: list[dict[str, Any]], period: Period, before: Mapping[str | None, int], table: str
) -> list[Row]:
    """The rows in order of time with the depth at the end of each step: what came less what was finished."""
    depth, deep = dict(before), []
    for row in sorted(rows, key=lambda row: (row["queue"] or "", row["step"])):
        queue = row["queue"]
        depth[queue] = depth.get(queue, 0) + row["pushed"] - row["done"] - row["dead"]
        deep.append(row | {"time": period.time(row["step"]), "depth": depth[queue]})
    return _shaped(deep, table)


def _measures() -> list["Column"]:
    """What is measured of every group of events alike."""
    counted = {"failures": "failure"}
    counts = [
        F.count_if(F.col("what") == counted.get(name, name)).alias(name)
        for name in COUNTS
        if name != "retries"
    ]
    retries = F.coalesce(F.sum("retries"), F.lit(0)).alias("retries")
    spans = [
        F.percentile_approx(what, share, ACCURACY).alias(f"{what}_{name}")
        for what in ("wait", "service")
        for name, share in PERCENTILES.items()
    ]
    return [*counts, retries, *spans]


def _top(happened: "DataFrame", key: str) -> list[Row]:
    """The busiest consumers or values of a metadata key, by queue."""
    order = [F.desc(name) for name in DONE_FIRST]
    found = happened.groupBy("queue", key).agg(*_measures()).orderBy(*order, "queue", key).limit(MOST_ROWS)
    return _rows(found, f"by_{'metadata' if key == 'value' else key}")


def _slowest(finished: "DataFrame") -> "DataFrame":
    slow = finished.where("service IS NOT NULL").orderBy(F.desc("service"), "id").limit(SLOWEST)
    return slow.select(*(name for name in TABLES["slowest"] if name != "payload"))


def _errors(failures: "DataFrame") -> "DataFrame":
    """Errors that differ only in numbers and ids, together, with the latest of them as an example."""
    kinds = failures.select("*", pattern(F.col("error")).alias("kind"))
    grouped = kinds.groupBy("queue", F.col("kind").alias("error")).agg(
        F.count("*").alias("failures"),
        F.count_distinct("id").alias("messages"),
        F.min("ended_at").alias("first_at"),
        F.max("ended_at").alias("last_at"),
        F.substring(F.max_by("error", F.struct("ended_at", "id")), 1, LONGEST_EXAMPLE).alias("example"),
    )
    return grouped.orderBy(F.desc("failures"), "queue", "error").limit(GROUPS)


def _rows(frame: "DataFrame", table: str) -> list[Row]:
    """The rows of a small frame, with times that say they are UTC: as plain ones they would be local time."""
    times = [name for name in frame.columns if TABLES[table].get(name) is Kind.TIME]
    sent = frame.select(
        *(_micros(F.col(name)).alias(name) if name in times else name for name in frame.columns)
    )
    found = (row.asDict() for row in sent.collect())
    return _shaped([row | {name: _moment(row[name]) for name in times} for row in found], table)


def _shaped(rows: Iterable[Mapping[str, Any]], table: str) -> list[Row]:
    """The rows with the columns of their table, in its order, and no others."""
    return [{name: row.get(name) for name in TABLES[table]} for row in rows]


def _within(column: str, period: Period) -> "Column":
    return _bounds(column, period.since, period.until)


def _bounds(column: str, since: datetime | None, until: datetime | None) -> "Column":
    inside = F.col(column).isNotNull()
    if since is not None:
        inside &= F.col(column) >= _literal(since)
    return inside if until is None else inside & (F.col(column) < _literal(until))


def _literal(moment: datetime) -> "Column":
    return F.timestamp_micros(F.lit((moment - EPOCH) // MICROSECOND))


def _micros(column: "Column") -> "Column":
    return F.unix_micros(column)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else EPOCH + timedelta(microseconds=micros)
