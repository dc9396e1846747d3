"""Charts as SVG files that stand alone: bars, whiskers for the spread of the rounds, light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

WIDTH, ROW, NAMES, VALUES = 760, 24, 190, 110
STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #1b2330 } .head { font-weight: 600 } .dim { fill: #566274 }
.bar { fill: #94a3b8 } .ours { fill: #2563eb } .limit { fill: #cbd5e1 }
.range { stroke: #1b2330; stroke-width: 1.2 }
.paper { fill: #fff }
@media (prefers-color-scheme: dark) { text { fill: #e4e8ef } .dim { fill: #9aa7b8 } .bar { fill: #64748b }
.ours { fill: #60a5fa } .limit { fill: #334155 } .range { stroke: #e4e8ef } .paper { fill: #12161d } }
</style>"""


class Bar(NamedTuple):
    """One bar: a median with the least and the most of its rounds; its kind is its colour."""

    name: str
    value: float
    least: float
    most: float
    kind: str = "bar"


class Panel(NamedTuple):
    """Bars that share a scale, under a title."""

    title: str
    bars: Sequence[Bar]


def chart(title: str, panels: Sequence[Panel], unit: str = "") -> str:
    """A file with a panel under another, each with its own scale."""
    height = 40 + sum(ROW * (len(panel.bars) + 2) for panel in panels)
    said = "; ".join(
        f"{panel.title}: {', '.join(_said(bar, unit) for bar in panel.bars)}" for panel in panels
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>{escape(title)}</title><desc>{escape(said)}</desc>{STYLE}",
            f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
            f'<text class="head" x="12" y="24">{escape(title)}</text>',
            *_panels(panels, unit),
            "</svg>\n",
        ]
    )


def _panels(panels: Sequence[Panel], unit: str) -> Iterator[str]:
    top = 40
    for panel in panels:
        yield f'<text class="head dim" x="12" y="{top + 17}">{escape(panel.title)}</text>'
        scale = (WIDTH - NAMES - VALUES) / (max((bar.most for bar in panel.bars), default=0) or 1)
        for place, bar in enumerate(panel.bars, start=1):
            yield from _bar(bar, top + ROW * place, scale, unit)
        top += ROW * (len(panel.bars) + 2)


def _bar(bar: Bar, y: int, scale: float, unit: str) -> Iterator[str]:
    width, middle = max(bar.value * scale, 1), y + ROW / 2
    low, high = NAMES + bar.least * scale, NAMES + bar.most * scale
    yield f'<text x="{NAMES - 8}" y="{y + 17}" text-anchor="end">{escape(bar.name)}</text>'
    yield f'<rect class="{bar.kind}" x="{NAMES}" y="{y + 4}" width="{width:.1f}" height="{ROW - 8}"/>'
    if bar.most > bar.least:
        yield f'<line class="range" x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>'
    end, said = max(high, NAMES + width) + 6, escape(f"{number(bar.value)}{unit}")
    yield f'<text class="dim" x="{end:.1f}" y="{y + 17}">{said}</text>'


def _said(bar: Bar, unit: str) -> str:
    return f"{bar.name} {number(bar.value)}{unit}"


def number(value: float) -> str:
    """A number as people read it.

    >>> number(31234.5), number(74.2), number(1.234), number(0.215)
    ('31,200', '74', '1.2', '0.21')
    """
    if value >= 1000:  # noqa: PLR2004 - three digits are more than such a figure has
        return f"{float(f'{value:.3g}'):,.0f}"
    if value >= 10:  # noqa: PLR2004 - as above
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}"
