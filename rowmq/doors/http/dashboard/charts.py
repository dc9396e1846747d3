"""Lines over time as SVG made here: no script, no style but classes, and a table for who cannot see them."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from itertools import groupby

from markupsafe import Markup

from rowmq.doors.http.dashboard import words

WIDTH, HEIGHT = 240.0, 64.0
"""A chart's own units: it is stretched to whatever room there is, and its lines are not."""
SPARK_WIDTH, SPARK_HEIGHT = 118.0, 28.0
CLOCK_LABELS = 4
LEAST = 1e-9
"""What is less than this is nothing."""
Form = Callable[[float], str]
Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its name, a value for each time or None, and which of the five tones it has."""

    name: str
    values: Values
    tone: int = 1


def plain(value: float) -> str:
    """A number on a scale.

    >>> plain(1250), plain(0.5), plain(2_000_000), plain(0)
    ('1.25 k', '0.5', '2 M', '0')
    """
    for size, name in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{name}"
    return f"{value:.3g}"


def seconds(value: float) -> str:
    """Seconds on a scale.

    >>> seconds(0.2513), seconds(90)
    ('250 ms', '1 min 30 s')
    """
    return words.about(timedelta(seconds=value))


def spark(values: Sequence[float], tone: str, said: str) -> Markup:
    """A line as small as a word, which says ``said`` to who asks; one that is flat at zero is pale.

    The line and the area under it are one path, whose other edges are beyond the edges of the picture.
    """
    top = max(values, default=0)
    line = " ".join(_points(values, top or 1.0, SPARK_WIDTH, SPARK_HEIGHT - 1))
    beyond = SPARK_HEIGHT + 3
    return _made(
        f'<svg class="spark {tone if top else "still"}" viewBox="0 0 {SPARK_WIDTH:g} {SPARK_HEIGHT:g}"'
        f' preserveAspectRatio="none" role="img"><title>{escape(said)}</title>'
        f'<path d="M-3,{beyond:g} {line} {SPARK_WIDTH + 3:g},{beyond:g}"/></svg>'
    )


def chart(title: str, times: Sequence[datetime], lines: Sequence[Line], form: Form = plain) -> Markup:
    """What stands in a figure of class ``chart``: its caption, the lines with their scales, and the table."""
    return _made("".join(_chart(title, times, lines, form)))


def ceiling(highest: float) -> float:
    """The top of a scale: a round number not under the highest value.

    >>> ceiling(0), ceiling(7), ceiling(130)
    (1.0, 8.0, 200.0)
    """
    if highest < LEAST:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(highest))
    return next(factor * unit for factor in (1, 2, 4, 5, 8, 10, 20) if factor * unit >= highest * (1 - 1e-9))


def _made(text: str) -> Markup:
    """Markup that is made of numbers, our own words, and what ``escape`` was given."""
    return Markup(text)  # noqa: S704 - the one place, and nothing comes here that was not escaped


def _chart(title: str, times: Sequence[datetime], lines: Sequence[Line], form: Form) -> Iterator[str]:
    top = ceiling(max((value for line in lines for value in line.values if value is not None), default=0))
    yield f"<figcaption><span>{escape(title)}</span>{_legend(lines, form)}</figcaption>"
    yield f'<div class="plot"><div class="scale" aria-hidden="true">{_scale(top, form)}</div>'
    yield f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none" role="img">'
    yield f"<title>{escape(f'{title}: {_said(lines, form)}')}</title>"
    yield from map(_grid, (0, 0.5, 1))
    for line in lines:
        yield _drawn(line, top, area=line is lines[0])
    yield from _steps(times, lines, form)
    yield f'</svg></div><div class="clock" aria-hidden="true">{_clock(times)}</div>'
    yield _table(times, lines, form)


def _legend(lines: Sequence[Line], form: Form) -> str:
    """The name of each line and its last value."""
    parts = [
        f'<span class="tone-{line.tone}"><span>{escape(line.name)} <b>{_last(line, form)}</b></span></span>'
        for line in lines
    ]
    return f'<span class="legend">{"".join(parts)}</span>'


def _last(line: Line, form: Form) -> str:
    known = [value for value in line.values if value is not None]
    return form(known[-1]) if known else words.NOTHING


def _said(lines: Sequence[Line], form: Form) -> str:
    """What a chart shows: the highest and the last of each line."""
    known = [(line, [each for each in line.values if each is not None]) for line in lines]
    said = [
        f"{line.name} at most {form(max(values))}, at last {form(values[-1])}"
        for line, values in known
        if values
    ]
    return "; ".join(said) or "nothing happened"


def _scale(top: float, form: Form) -> str:
    return "".join(f"<span>{form(value)}</span>" for value in (top, top / 2, 0.0))


def _grid(share: float) -> str:
    y = f"{HEIGHT * share:g}"
    return f'<line class="grid" x1="0" x2="{WIDTH:g}" y1="{y}" y2="{y}"/>'


def _drawn(line: Line, top: float, *, area: bool) -> str:
    """The line, broken where there is no value; under the first one the area, too."""
    runs = list(_runs(line.values, top))
    path = " ".join("M" + " L".join(points) for points in runs)
    shade = f'<path class="area" d="{" ".join(map(_shaded, runs))}"/>' if area and runs else ""
    return f'<g class="tone-{line.tone}">{shade}<path d="{path}"/></g>'


def _shaded(points: Sequence[str]) -> str:
    """The area between a stretch of a line and the ground."""
    left, right = (points[end].partition(",")[0] for end in (0, -1))
    return f"M{left},{HEIGHT:g} L{' L'.join(points)} L{right},{HEIGHT:g} Z"


def _runs(values: Values, top: float) -> Iterator[list[str]]:
    """The points of each stretch that has values; one alone is drawn as a dot, by going nowhere."""
    points = _points(values, top, WIDTH, HEIGHT)
    for known, run in groupby(enumerate(values), key=lambda each: each[1] is not None):
        if known:
            found = [points[place] for place, _ in run]
            yield found if len(found) > 1 else found * 2


def _points(values: Values, top: float, width: float, height: float) -> list[str]:
    step = width / max(1, len(values) - 1)
    return [
        f"{place * step:.4g},{height - (height - 1) * (value or 0.0) / top:.3g}"
        for place, value in enumerate(values)
    ]


def _steps(times: Sequence[datetime], lines: Sequence[Line], form: Form) -> Iterator[str]:
    """Over each time something to point at, that says what was then."""
    width = WIDTH / max(1, len(times) - 1)
    for place, time in enumerate(times):
        values = [(line.name, line.values[place]) for line in lines]
        said = ", ".join(f"{name} {form(value)}" for name, value in values if value is not None)
        yield (
            f'<rect class="step" x="{(place - 0.5) * width:.4g}" y="0" width="{width:.4g}"'
            f' height="{HEIGHT:g}"><title>{time:%H:%M}: {escape(said or words.NOTHING)}</title></rect>'
        )


def _clock(times: Sequence[datetime]) -> str:
    """Some of the times, evenly spread."""
    count = min(CLOCK_LABELS, len(times) - 1)
    chosen = (
        [times[round(place * (len(times) - 1) / count)] for place in range(count + 1)] if count > 0 else []
    )
    return "".join(f"<span>{time:%H:%M}</span>" for time in chosen)


def _table(times: Sequence[datetime], lines: Sequence[Line], form: Form) -> str:
    """The same in numbers, newest first, without the times at which nothing was."""
    heads = "".join(f'<th scope="col" class="n">{escape(line.name)}</th>' for line in lines)
    rows = [
        f'<tr><th scope="row">{times[place]:%H:%M}</th>{_cells(lines, place, form)}</tr>'
        for place in range(len(times) - 1, -1, -1)
        if any(line.values[place] for line in lines)
    ]
    return (
        '<details><summary>Numbers</summary><div class="scroll" tabindex="0"><table><thead><tr>'
        f'<th scope="col">UTC</th>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div></details>'
    )


def _cells(lines: Sequence[Line], place: int, form: Form) -> str:
    values = (line.values[place] for line in lines)
    return "".join(
        f'<td class="n">{words.NOTHING if value is None else form(value)}</td>' for value in values
    )
