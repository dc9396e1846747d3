"""What is to be read from the tables of an SQL store."""

from typing import NamedTuple

from sqlalchemy.engine import URL

FULL = 8 * 2**20
"""Bytes that a batch should have at most, unless one message alone has more."""
MOST_ROWS = 16_384


class Look(NamedTuple):
    """A statement, the columns it gives, and the seqs it looks at."""

    url: URL
    sql: str
    columns: list[str]
    first: int
    last: int


class Unreadable(Exception):
    """The fast driver is not there or cannot do it, and nothing was read: another way may."""


def rows_of(largest: int) -> int:
    """How many rows a batch may have if a payload has so many bytes at most."""
    return max(1, min(MOST_ROWS, FULL // max(largest, 1)))
