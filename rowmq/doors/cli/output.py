"""What commands print: tables for people, JSON for machines, and nothing that could steer a terminal."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any
from uuid import UUID

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from rowmq.runtime.log import escaped

Item = Mapping[str, Any]
ENDLESS = 100_000
"""The width of what is no terminal: nothing is cut or folded for a program that reads it."""
PAYLOADS = ("payload", "result")
"""What is shown as JSON, whatever it is: the number 1 is not the text "1"."""
SHORTEST = 0.001
STYLES = {
    "ready": "cyan", "scheduled": "blue", "leased": "yellow", "done": "green", "dead": "red",
    "ok": "green", "warning": "yellow", "broken": "red bold", "paused": "yellow",
}  # fmt: skip


class Output:
    """Where a command's results go, as people or as machines want them."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        terminal = sys.stdout.isatty()
        self.console = Console(
            markup=False, highlight=False, emoji=False, width=None if terminal else ENDLESS
        )

    def result(self, value: Any, sentence: str) -> None:
        """One JSON document, or a sentence."""
        if self.as_json:
            self.document(value)
        else:
            self.line(sentence)

    def document(self, value: Any) -> None:
        """One JSON document, which is one line of ASCII, as in a stream of them."""
        click.echo(as_json(value))

    def line(self, text: str) -> None:
        """A line of text."""
        click.echo(escaped(text))

    def note(self, text: str) -> None:
        """A line beside the results, on standard error."""
        click.echo(escaped(text), err=True)

    def listing(self, items: Sequence[Item], columns: Sequence[str], *, none: str) -> None:
        """One JSON list with everything, or a table with some columns, or a sentence that there is none."""
        if self.as_json:
            self.document(list(items))
        elif items:
            self.print(table(items, columns))
        else:
            self.line(none)

    def details(self, item: Item) -> None:
        """One JSON document, or a line for each of its fields."""
        if self.as_json:
            self.document(item)
            return
        grid = Table.grid(padding=(0, 2))
        for name, value in item.items():
            grid.add_row(Text(escaped(name), style="bold"), cell(name, value))
        self.print(grid)

    def print(self, renderable: Any) -> None:
        """Something of rich's; what is no terminal gets no trailing blanks."""
        if self.console.is_terminal:
            self.console.print(renderable)
            return
        with self.console.capture() as capture:
            self.console.print(renderable)
        for line in capture.get().splitlines():
            click.echo(line.rstrip())

    @contextmanager
    def progress(self, what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """A progress bar on standard error, if that is a terminal; call what it gives with each advance."""
        if self.as_json or not sys.stderr.isatty():
            yield lambda _: None
            return
        count = MofNCompleteColumn() if total else TextColumn("{task.completed:,.0f}")
        parts = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), count, TimeElapsedColumn())
        with Progress(*parts, console=Console(stderr=True, markup=False), transient=True) as bar:
            task = bar.add_task(escaped(what), total=total)
            yield lambda count: bar.advance(task, count)


def table(items: Sequence[Item], columns: Sequence[str]) -> Table:
    """A table of some columns; numbers to the right."""
    made = Table(box=SIMPLE_HEAD if sys.stdout.isatty() else None, pad_edge=False, header_style="bold")
    for name in columns:
        numbers = any(type(item.get(name)) in (int, float) for item in items)
        made.add_column(Text(name), justify="right" if numbers else "left", overflow="fold")
    for item in items:
        made.add_row(*(cell(name, item.get(name)) for name in columns))
    return made


def cell(name: str, value: Any) -> Text:
    """A value as people read it, coloured by what it says; text of others is never markup."""
    text = escaped(dumps(value) if name in PAYLOADS else _shown(value))
    style = STYLES.get(text, "")
    if name in STYLES and isinstance(value, int):
        style = STYLES[name] if value else "dim"
    return Text(text, style=style)


def as_json(value: Any) -> str:
    """JSON in ASCII, so that no terminal is steered by it."""
    return json.dumps(value, default=plain)


def dumps(value: Any) -> str:
    """JSON for people's eyes, to be escaped before they see it."""
    return json.dumps(value, ensure_ascii=False, default=plain)


def plain(value: Any) -> Any:
    """What JSON has no word for: moments as ISO 8601, spans as seconds, ids as text."""
    if isinstance(value, datetime):
        return moment_text(value, "auto")
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return dict(value)
    return value.value if isinstance(value, Enum) else str(value)


def moment_text(moment: datetime, to: str = "milliseconds") -> str:
    """A moment in UTC, to the millisecond or as exactly as it is known."""
    return moment.astimezone(UTC).isoformat(timespec=to).replace("+00:00", "Z")


def span_text(span: timedelta) -> str:
    """A span as the command line takes it: ``1d2h``, ``5m``, ``1.5s``; at most two units of it."""
    left, parts = span.total_seconds(), []
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        count, left = divmod(left, length)
        parts += [f"{count:.0f}{unit}"] if count else []
    if left >= 1 and len(parts) < 2:  # noqa: PLR2004 - two units
        parts.append(f"{left:.3g}s")
    return "".join(parts[:2]) or (f"{left * 1000:.3g}ms" if left >= SHORTEST else "0s")


def _shown(value: Any) -> str:
    if value is None or value == {}:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, timedelta):
        return span_text(value)
    if isinstance(value, datetime):
        return moment_text(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, str | UUID):
        return str(value)
    return dumps(value)
