"""Figures of a report that nobody measured, for tests of its page."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rowmq.pipeline.reporting.page import Figures
from rowmq.pipeline.reporting.period import Period
from rowmq.pipeline.reporting.tables import TABLES, Kind, Row

START = datetime(2026, 5, 1, 9, tzinfo=UTC)
HOSTILE = "<script>document.title='run'</script>\"'><img src=x onerror=alert(1)>\u202e\x1b[2J</title></style>"


def row(table: str, **given: Any) -> Row:
    """A row with every column of its table: what is not given is 0, nothing or the start."""
    blank = {Kind.TEXT: None, Kind.COUNT: 0, Kind.SECONDS: None, Kind.TIME: START}
    return {name: blank[kind] for name, kind in TABLES[table].items()} | given


def figures(text: str = "emails", hours: int = 3) -> Figures:
    """Figures of one queue and some hours, with one text wherever somebody else's text can be."""
    times = [START + timedelta(hours=hour) for hour in range(hours)]
    each = [
        {
            "done": 10 + hour,
            "depth": hours - hour,
            "failures": hour,
            "retries": hour,
            "wait_p50": 0.5,
            "wait_p95": 2.0,
        }
        | {
            "wait_p99": 3.0,
            "service_p50": 0.01 * (hour + 1),
            "service_p95": 0.2,
            "service_p99": 0.3,
            "pushed": 9,
        }
        for hour in range(hours)
    ]
    steps = list(zip(times, each, strict=True))
    tables: dict[str, list[Row]] = {
        "total": [
            row("total", pushed=27, done=33, dead=1, failures=3, wait_p95=2.0, service_p95=0.2, ready=4)
        ],
        "by_queue": [row("by_queue", queue=text, pushed=27, done=33)],
        "by_time": [row("by_time", time=time, **values) for time, values in steps],
        "by_queue_and_time": [
            row("by_queue_and_time", queue=text, time=time, **values) for time, values in steps
        ],
        "by_consumer": [row("by_consumer", queue=text, consumer=text, done=33)],
        "by_metadata": [row("by_metadata", queue=text, value=text, done=33)],
        "attempts": [row("attempts", queue=text, attempts=1, messages=30)],
        "slowest": [
            row("slowest", id=text, queue=text, consumer=text, payload=text, service=1.5, state="done")
        ],
        "errors": [row("errors", queue=text, error=text, example=text, failures=3, messages=2)],
    }
    period = Period(START, START + timedelta(hours=hours), timedelta(hours=1))
    return Figures(period, tables, read=text, by=text, made_at=START)
