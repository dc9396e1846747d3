"""Lines over time as SVG made here: no script, no style but classes, and a table for who cannot see them."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from markupsafe import Markup, escape

from rowmq.doors.http.dashboard import words

WIDTH, HEIGHT = 240.0, 64.0
"""A chart's own units: it is stretched to whatever room there is, and its lines are not."""
SPARK_WIDTH, SPARK_HEIGHT = 120.0, 28.0
CLOCK_LABELS = 4
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

    >>> seconds(0.25), seconds(90)
    ('250 ms', '1 min 30 s')
    """
    return words.took(timedelta(seconds=value))


def spark(values: Sequence[float], tone: str, said: str) -> Markup:
    """A line as small as a word, which says ``said`` to who asks; one that is flat at zero is pale."""
    top = max(values, default=0)
    points = _points(values, top or 1.0, SPARK_WIDTH, SPARK_HEIGHT)
    area = f"M0,{SPARK_HEIGHT:g} L" + " L".join(points) + f" L{SPARK_WIDTH:g},{SPARK_HEIGHT:g} Z"
    return Markup(
        '<svg class="spark {}" viewBox="0 0 {:g} {:g}" preserveAspectRatio="none" role="img">'
        '<title>{}</title><path class="area" d="{}"/><path d="{}"/></svg>'
    ).format(
        tone if top else "still",
        SPARK_WIDTH,
        SPARK_HEIGHT,
        said,
        area if top else "",
        "M" + " L".join(points),
    )


def chart(title: str, times: Sequence[datetime], lines: Sequence[Line], form: Form = plain) -> Markup:
    """What stands in a figure of class ``chart``: its caption, the lines with their scales, and the table."""
    return Markup("").join(_chart(title, times, lines, form))


def ceiling(highest: float) -> float:
    """The top of a scale: a round number not under the highest value.

    >>> ceiling(0), ceiling(7), ceiling(130)
    (1.0, 8.0, 200.0)
    """
    if highest <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(highest))
    return next(factor * unit for factor in (1, 2, 4, 5, 8, 10, 20) if factor * unit >= highest * (1 - 1e-9))


def _chart(title: str, times: Sequence[datetime], lines: Sequence[Line], form: Form) -> Iterator[Markup]:
    top = ceiling(max((value for line in lines for value in line.values if value is not None), default=0))
    yield Markup("<figcaption><span>{}</span>{}</figcaption>").format(title, _legend(lines, form))
    yield Markup('<div class="plot"><div class="scale" aria-hidden="true">{}</div>').format(_scale(top, form))
    yield Markup(
        '<svg viewBox="0 0 {:g} {:g}" preserveAspectRatio="none" role="img"><title>{}</title>'
    ).format(WIDTH, HEIGHT, f"{title}: {_said(lines, form)}")
    yield from map(_grid, (0, 0.5, 1))
    for line in lines:
        yield _drawn(line, top, area=line is lines[0])
    yield from _steps(times, lines, form)
    yield Markup('</svg></div><div class="clock" aria-hidden="true">{}</div>').format(_clock(times))
    yield _table(times, lines, form)


def _legend(lines: Sequence[Line], form: Form) -> Markup:
    """The name of each line and its last value."""
    each = Markup('<span class="tone-{}"><span>{} <b>{}</b></span></span>')
    parts = [each.format(line.tone, line.name, _last(line, form)) for line in lines]
    return Markup('<span class="legend">{}</span>').format(Markup("").join(parts))


def _last(line: Line, form: Form) -> str:
    known = [value for value in line.values if value is not None]
    return form(known[-1]) if known else words.NOTHING


def _said(lines: Sequence[Line], form: Form) -> str:
    """What a chart shows: the highest and the last of each line."""
    peaks = {
        line.name: max((each for each in line.values if each is not None), default=None) for line in lines
    }
    said = [
        f"{line.name} at most {form(peak)}, at last {_last(line, form)}"
        for line in lines
        if (peak := peaks[line.name]) is not None
    ]
    return "; ".join(said) or "nothing happened"


def _scale(top: float, form: Form) -> Markup:
    return Markup("").join(Markup("<span>{}</span>").format(form(value)) for value in (top, top / 2, 0.0))


def _grid(share: float) -> Markup:
    return Markup('<line class="grid" x1="0" x2="{:g}" y1="{:g}" y2="{:g}"/>').format(
        WIDTH, HEIGHT * share, HEIGHT * share
    )


def _drawn(line: Line, top: float, *, area: bool) -> Markup:
    """The line, broken where there is no value; under the first one the area, too."""
    runs = list(_runs(line.values, top))
    path = " ".join("M" + " L".join(points) for points in runs)
    below = " ".join(map(_shaded, runs))
    shade = Markup('<path class="area" d="{}"/>').format(below) if area and below else ""
    return Markup('<g class="tone-{}">{}<path d="{}"/></g>').format(line.tone, shade, path)


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
        f"{place * step:.4g},{height - (height - 1) * (value or 0.0) / top:.4g}"
        for place, value in enumerate(values)
    ]


def _steps(times: Sequence[datetime], lines: Sequence[Line], form: Form) -> Iterator[Markup]:
    """Over each time something to point at, that says what was then."""
    width = WIDTH / max(1, len(times) - 1)
    for place, time in enumerate(times):
        values = [(line.name, line.values[place]) for line in lines]
        said = ", ".join(f"{name} {form(value)}" for name, value in values if value is not None)
        yield Markup(
            '<rect class="step" x="{:.4g}" y="0" width="{:.4g}" height="{:g}"><title>{}</title></rect>'
        ).format((place - 0.5) * width, width, HEIGHT, f"{time:%H:%M}: {said or words.NOTHING}")


def _clock(times: Sequence[datetime]) -> Markup:
    """Some of the times, evenly spread."""
    count = min(CLOCK_LABELS, len(times) - 1)
    chosen = (
        [times[round(place * (len(times) - 1) / count)] for place in range(count + 1)] if count > 0 else []
    )
    return Markup("").join(Markup("<span>{}</span>").format(f"{time:%H:%M}") for time in chosen)


def _table(times: Sequence[datetime], lines: Sequence[Line], form: Form) -> Markup:
    """The same in numbers, newest first, without the times at which nothing was."""
    heads = Markup("").join(Markup('<th scope="col" class="n">{}</th>').format(line.name) for line in lines)
    rows = [
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(f"{time:%H:%M}", _cells(lines, place, form))
        for place, time in reversed(list(enumerate(times)))
        if any(line.values[place] for line in lines)
    ]
    return Markup(
        '<details><summary>Numbers</summary><div class="scroll" tabindex="0"><table><thead><tr>'
        '<th scope="col">UTC</th>{}</tr></thead><tbody>{}</tbody></table></div></details>'
    ).format(heads, Markup("").join(rows))


def _cells(lines: Sequence[Line], place: int, form: Form) -> Markup:
    values = (line.values[place] for line in lines)
    shown = (words.NOTHING if value is None else form(value) for value in values)
    return Markup("").join(Markup('<td class="n">{}</td>').format(escape(each)) for each in shown)
