"""Cells and rows of the report: medians with their ranges, ratios, ties."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.peers.figures import Ratio, Record
from benchmarks.peers.plots import number

NONE = "-"


def spread(record: Record | None) -> str:
    """A median, and in brackets the least and the most of its rounds."""
    if record is None or record.median is None:
        return NONE
    least, most = number(min(record.known)), number(max(record.known))
    return number(record.median) if least == most else f"{number(record.median)} ({least}-{most})"


def times(found: Ratio | None, *, tie: bool = True) -> str:
    """A ratio with its range, and whether it is a tie."""
    if found is None:
        return NONE
    said = f"{found.median:.2f}" + (f" ({found.least:.2f}-{found.most:.2f})" if found.rounds > 1 else "")
    return f"{said}, a tie" if tie and found.is_tie else said


def count(record: Record | None) -> str:
    """A number of messages, which is not a measurement and has all its digits."""
    return NONE if record is None or record.median is None else f"{record.median:,.0f}"


def head(*names: str) -> Iterator[str]:
    """The head of a table."""
    yield row(*names)
    yield "|" + "|".join("---" for _ in names) + "|"


def row(*cells: object) -> str:
    """A row of a table."""
    return "| " + " | ".join(line(str(cell)) for cell in cells) + " |"


def line(text: str) -> str:
    """Text that stays on its line and in its cell."""
    return " ".join(text.replace("|", "\\|").split())
