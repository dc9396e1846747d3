"""Plots as inline SVG: no script, no library, and text that can be nothing but text."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from itertools import groupby

from rowmq.runtime.log import escaped

WIDTH, HEIGHT = 720, 240
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 10, 28
COLOURS = 8
"""How many lines a plot can tell apart; the style sheet has a colour for each."""
TICKS, LABELS = 4, 6
DOTS = 400
"""Beyond so many points a line has no dots: they would hide it, and weigh more than the rest."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a plot: a value for each time, or None where there is none."""

    name: str
    values: Sequence[float | None]


def safe(text: object) -> str:
    """Anybody's text as HTML: nothing in it is markup, and nothing invisible changes how it reads."""
    return escape(escaped(str(text)))


def line_plot(title: str, times: Sequence[datetime], lines: Sequence[Line], *, unit: str = "") -> str:
    """A figure with a line for each of the series over time; ``unit`` is ``s`` for seconds or empty."""
    return "".join(_figure(title, times, lines[:COLOURS], unit))


def bar_plot(title: str, bars: Sequence[tuple[str, float]]) -> str:
    """A figure with a horizontal bar for each name."""
    return "".join(_bars(title, bars))


def number(value: float | None, unit: str = "") -> str:
    """A number as people read it, with its unit.

    >>> number(0.0042, "s"), number(75, "s"), number(1234567), number(None)
    ('4.2 ms', '1.25 min', '1.23 M', '-')
    """
    if value is None:
        return "-"
    if unit == "s":
        return _span(value)
    for size, name in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(value) >= size:
            return f"{value / (1e3 if name == ' k' else size):.3g}{name}"
    return f"{value:.4g}"


def _span(value: float) -> str:
    for size, name in ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms")):
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value * 1e6:.3g} µs" if value else "0 s"


def _figure(title: str, times: Sequence[datetime], lines: Sequence[Line], unit: str) -> Iterator[str]:
    top = _ceiling(max((value for line in lines for value in line.values if value is not None), default=0))
    yield f'<figure class="plot"><figcaption>{safe(title)}</figcaption>'
    yield f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><title>{safe(title)}</title>'
    yield f"<desc>{safe(_said(lines, unit))}</desc>"
    yield from _grid(top, unit)
    yield from _clock(times)
    for colour, line in enumerate(lines):
        yield from _drawn(line, colour, times, top, unit)
    yield "</svg>"
    yield from _legend(lines)
    yield "</figure>"


def _said(lines: Sequence[Line], unit: str) -> str:
    """What a plot shows, for those who cannot see it: the highest and the last of each line."""
    said = []
    for line in lines:
        known = [value for value in line.values if value is not None]
        if known:
            said.append(f"{line.name}: at most {number(max(known), unit)}, at last {number(known[-1], unit)}")
    return "; ".join(said) or "nothing happened"


def _ceiling(highest: float) -> float:
    """The top of the scale: a round number not under the highest value."""
    if highest <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(highest))
    return next(factor * size for factor in (1, 2, 4, 5, 8, 10, 20) if factor * size >= highest * (1 - 1e-9))


def _grid(top: float, unit: str) -> Iterator[str]:
    for tick in range(TICKS + 1):
        value = top * tick / TICKS
        y = _y(value, top)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
        yield f'<text class="tick" x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{number(value, unit)}</text>'


def _clock(times: Sequence[datetime]) -> Iterator[str]:
    """The times under a plot, as exact as the steps are."""
    stride = max(1, math.ceil(len(times) / LABELS))
    form = _form(times)
    for step in range(0, len(times), stride):
        anchor = "start" if step == 0 else "middle"
        yield f'<text class="tick" x="{_x(step, len(times))}" y="{HEIGHT - 8}" text-anchor="{anchor}">'
        yield f"{times[step].strftime(form)}</text>"


def _form(times: Sequence[datetime]) -> str:
    if len(times) > 1 and times[1] - times[0] >= timedelta(days=1):
        return "%Y-%m-%d"
    if len(times) > 1 and times[1] - times[0] < timedelta(minutes=1):
        return "%H:%M:%S"
    return "%H:%M" if not times or times[0].date() == times[-1].date() else "%m-%d %H:%M"


def _drawn(line: Line, colour: int, times: Sequence[datetime], top: float, unit: str) -> Iterator[str]:
    """The line, broken where there is no value, with a dot that says what it is at each."""
    path = " ".join(_path(line.values, top))
    yield f'<path class="line c{colour}" d="{path}"/>' if path else ""
    known = [(step, value) for step, value in enumerate(line.values) if value is not None]
    for step, value in known if len(known) <= DOTS else ():
        x, y = _x(step, len(times)), _y(value, top)
        said = f"{line.name}, {times[step]:%Y-%m-%d %H:%M:%S}: {number(value, unit)}"
        yield f'<circle class="dot c{colour}" cx="{x}" cy="{y}" r="2.5"><title>{safe(said)}</title></circle>'


def _path(values: Sequence[float | None], top: float) -> Iterator[str]:
    for known, run in groupby(enumerate(values), key=lambda each: each[1] is not None):
        if known:
            points = [f"{_x(step, len(values))},{_y(value or 0.0, top)}" for step, value in run]
            yield "M" + " L".join(points)


def _x(step: int, count: int) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * (step / (count - 1) if count > 1 else 0.5), 1)


def _y(value: float, top: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top, 1)


def _legend(lines: Sequence[Line]) -> Iterator[str]:
    yield '<ul class="legend">'
    for colour, line in enumerate(lines):
        yield f'<li><i class="c{colour}"></i>{safe(line.name)}</li>'
    yield "</ul>"


def _bars(title: str, bars: Sequence[tuple[str, float]]) -> Iterator[str]:
    height, longest = 24 * len(bars) + 8, max((value for _, value in bars), default=0) or 1
    said = "; ".join(f"{name}: {number(value)}" for name, value in bars) or "nothing happened"
    yield f'<figure class="plot"><figcaption>{safe(title)}</figcaption>'
    yield f'<svg viewBox="0 0 {WIDTH} {height}" role="img"><title>{safe(title)}</title>'
    yield f"<desc>{safe(said)}</desc>"
    start = 24 + 6 * max((len(_short(name)) for name, _ in bars), default=0)
    for row, (name, value) in enumerate(bars):
        width, y = round((WIDTH - 60 - start) * value / longest, 1), 24 * row + 6
        yield f'<text class="tick" x="{start - 8}" y="{y + 13}" text-anchor="end">{safe(_short(name))}</text>'
        yield f'<rect class="bar c0" x="{start}" y="{y}" width="{max(width, 1)}" height="16">'
        yield f"<title>{safe(name)}: {number(value)}</title></rect>"
        yield f'<text class="tick" x="{start + 6 + width}" y="{y + 13}">{number(value)}</text>'
    yield "</svg></figure>"


def _short(name: str) -> str:
    return name if len(name) <= 56 else f"{name[:55]}…"  # noqa: PLR2004 - what fits beside a bar
