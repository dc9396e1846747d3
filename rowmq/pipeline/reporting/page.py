"""The page of a report: one HTML file that needs nothing else, and in which nothing can run."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from rowmq.pipeline.reporting.period import Period
from rowmq.pipeline.reporting.plot import COLOURS, Line, bar_plot, line_plot, number, safe
from rowmq.pipeline.reporting.tables import COUNTS, PERCENTILES, TABLES, Kind, Row

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""A browser runs and fetches nothing here, whatever a message says."""
DETAILED, SHOWN, LONGEST = 20, 100, 400
"""How many queues have plots of their own, rows a table shows, and characters a cell shows."""
MONO = ("id", "payload", "example", "error")
HEADINGS = {
    "by_queue": "Queues",
    "by_consumer": "Consumers",
    "by_metadata": "Metadata",
    "slowest": "Slowest messages",
    "errors": "Errors, grouped",
}
MEANINGS = {
    "pushed, done, dead": "messages pushed and finished in the period",
    "failures": "attempts that failed in the period",
    "retries": "attempts beyond the first of messages finished in the period",
    "wait": "from when a message could first be claimed until its first attempt",
    "service": "how long the last attempt of a finished message took",
    "depth": "messages pushed and not finished at the end of a step",
    "ready, scheduled, leased": "messages unfinished when the report was made",
}


@dataclass(frozen=True, slots=True)
class Figures:
    """What a report says: where it looked, when, and the tables."""

    period: Period
    tables: Mapping[str, Sequence[Row]]
    read: str = ""
    """Which store and archive it is about, without passwords."""
    by: str | None = None
    """The metadata key that by_metadata goes by."""
    made_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def total(self) -> Row:
        """The one row of the total."""
        return self.tables["total"][0]


def page(figures: Figures) -> str:
    """The whole page."""
    return "".join(_page(figures))


def _page(figures: Figures) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    yield '<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">'
    yield f"<title>RowMQ report</title><style>{_style()}</style></head><body>"
    yield from _head(figures)
    yield from _plots(figures)
    yield from _queues(figures)
    for name, heading in HEADINGS.items():
        yield from _section(heading, name, figures)
    yield from _foot()


def _style() -> str:
    return files("rowmq.pipeline.reporting").joinpath("report.css").read_text()


def _head(figures: Figures) -> Iterator[str]:
    period, total = figures.period, figures.total
    yield f'<main><h1>RowMQ report</h1><p class="scope">{safe(figures.read)}<br>'
    yield f"{_moment(period.since)} to {_moment(period.until)}, in steps of {safe(period.every)};"
    yield f' made {_moment(figures.made_at)}</p><dl class="tiles">'
    waiting = sum(total[state] for state in ("ready", "scheduled", "leased"))
    said = {name: total[name] for name in COUNTS} | {"unfinished": waiting}
    for name, value in said.items():
        yield f"<div><dt>{name}</dt><dd>{value:,}</dd></div>"
    yield f"<div><dt>wait p95</dt><dd>{number(total['wait_p95'], 's')}</dd></div>"
    yield f"<div><dt>service p95</dt><dd>{number(total['service_p95'], 's')}</dd></div></dl>"


def _plots(figures: Figures) -> Iterator[str]:
    """What happened over time: the busiest queues by name, and percentiles of everything."""
    times = figures.period.times
    rows = figures.tables["by_time"]
    queues = _busiest(figures, COLOURS)
    by_queue = {name: _of_queue(figures, name) for name in queues}
    yield '<h2>Over time</h2><div class="plots">'
    for measure, title in (("done", "Throughput: messages done"), ("depth", "Depth: messages unfinished")):
        lines = [Line(name, filled(by_queue[name], figures.period, measure)) for name in queues]
        yield line_plot(title, times, lines)
    for what in ("wait", "service"):
        yield line_plot(
            f"{what.title()} time, all queues", times, _percentiles(rows, figures, what), unit="s"
        )
    lines = [Line(name, filled(rows, figures.period, name)) for name in ("failures", "dead", "pushed")]
    yield line_plot("Failures: attempts failed and messages dead", times, lines[:2])
    yield line_plot("Retries", times, [Line("retries", filled(rows, figures.period, "retries"))])
    yield line_plot("Pushed", times, lines[2:])
    yield bar_plot("Attempts that messages needed", _attempts(figures))
    yield bar_plot("Most frequent errors", _frequent(figures)) + "</div>"


def _queues(figures: Figures) -> Iterator[str]:
    """The busiest queues one by one, to be opened."""
    yield "<h2>Queue by queue</h2>"
    for name in _busiest(figures, DETAILED):
        rows, times = _of_queue(figures, name), figures.period.times
        yield f'<details><summary>{safe(name)}</summary><div class="plots">'
        counts = [Line(each, filled(rows, figures.period, each)) for each in (*COUNTS, "depth")]
        yield line_plot(f"{name}: messages", times, counts)
        for what in ("wait", "service"):
            yield line_plot(f"{name}: {what} time", times, _percentiles(rows, figures, what), unit="s")
        yield "</div></details>"


def filled(rows: Sequence[Row], period: Period, measure: str) -> list[float | None]:
    """A measure for each step: counts are 0 where nothing happened, the depth stays, the rest is unknown."""
    known = {row["time"]: row[measure] for row in rows}
    missing: float | None = 0 if measure in COUNTS or measure == "depth" else None
    values: list[float | None] = []
    for time in period.times:
        values.append(known.get(time, missing))
        if measure == "depth":
            missing = values[-1]
    return values


def _percentiles(rows: Sequence[Row], figures: Figures, what: str) -> list[Line]:
    return [Line(name, filled(rows, figures.period, f"{what}_{name}")) for name in PERCENTILES]


def _busiest(figures: Figures, most: int) -> list[str]:
    rows = sorted(figures.tables["by_queue"], key=lambda row: -(row["pushed"] + row["done"] + row["dead"]))
    return [row["queue"] for row in rows[:most]]


def _of_queue(figures: Figures, name: str) -> list[Row]:
    return [row for row in figures.tables["by_queue_and_time"] if row["queue"] == name]


def _attempts(figures: Figures) -> list[tuple[str, float]]:
    counts: Counter[int] = Counter()
    for row in figures.tables["attempts"]:
        counts[row["attempts"]] += row["messages"]
    return [(str(attempts), counts[attempts]) for attempts in sorted(counts)[:DETAILED]]


def _frequent(figures: Figures) -> list[tuple[str, float]]:
    counts: Counter[str] = Counter()
    for row in figures.tables["errors"]:
        counts[row["error"]] += row["failures"]
    return [*counts.most_common(10)]


def _section(heading: str, name: str, figures: Figures) -> Iterator[str]:
    if name not in figures.tables:
        return
    rows, columns = figures.tables[name], TABLES[name]
    extra = f" {safe(figures.by)}" if name == "by_metadata" else ""
    yield f'<h2>{heading}{extra}</h2><div class="scroll"><table id="{name}">'
    yield f"<caption>{_caption(len(rows))}</caption><thead><tr>"
    for column, kind in columns.items():
        yield f'<th scope="col"{_looks(column, kind)}>{column.replace("_", " ")}</th>'
    yield "</tr></thead><tbody>"
    for row in rows[:SHOWN]:
        cells = (f"<td{_looks(c, k)}>{_cell(row.get(c), k)}</td>" for c, k in columns.items())
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def _caption(count: int) -> str:
    if count > SHOWN:
        return f"The first {SHOWN} of {count:,}; the others are in the files beside this page"
    return f"{count:,} rows" if count else "There is nothing to show"


def _looks(column: str, kind: Kind) -> str:
    if kind in {Kind.COUNT, Kind.SECONDS}:
        return ' class="n"'
    return ' class="mono"' if column in MONO else ""


def _cell(value: Any, kind: Kind) -> str:
    if value is None:
        return "-"
    if kind is Kind.TIME:
        return _moment(value)
    if kind is Kind.SECONDS:
        return number(value, "s")
    if kind is Kind.COUNT:
        return f"{value:,}"
    return safe(value if len(value) <= LONGEST else f"{value[:LONGEST]}…")


def _moment(moment: datetime) -> str:
    text = moment.astimezone(UTC)
    return f'<time datetime="{text:%Y-%m-%dT%H:%M:%SZ}">{text:%Y-%m-%d %H:%M:%S}</time>'


def _foot() -> Iterator[str]:
    yield "</main><footer><p>Times are UTC. The tables are beside this page as Parquet, CSV and JSON.</p><dl>"
    for word, meaning in MEANINGS.items():
        yield f"<dt>{word}</dt><dd>{meaning}</dd>"
    yield "</dl></footer></body></html>\n"
