"""Reading MariaDB and MySQL by connectorx."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from sqlalchemy.engine import URL

from rowmq.core.errors import StoreUnavailable
from rowmq.pipeline.reading.look import Look, Unreadable, rows_of
from rowmq.pipeline.reading.statement import longest_body

_PLAIN = ("charset", "connect_timeout", "read_timeout", "write_timeout", "program_name")
"""Options of a URL that can be left out here; TLS and sockets cannot."""


def read_mysql(look: Look) -> Iterator[pa.RecordBatch]:
    """The rows of a statement, in batches bounded by their bytes."""
    read, url = _driver(), address(look.url)
    try:
        largest = read(url, longest_body(look.first, look.last), return_type="arrow")["size"][0].as_py()
    except RuntimeError as error:
        raise Unreadable(str(error)) from None
    try:
        yield from read(url, look.sql, return_type="arrow_stream", batch_size=rows_of(largest or 0))
    except (RuntimeError, OSError) as error:
        raise StoreUnavailable(f"the database broke off while being read: {error}") from None


def address(url: URL) -> str:
    """The URL as connectorx takes it."""
    if set(url.query) - set(_PLAIN):
        raise Unreadable("a URL with options that connectorx does not have")
    return url.set(drivername="mysql", query={}).render_as_string(hide_password=False)


def _driver() -> Any:
    try:
        import connectorx  # noqa: PLC0415 - an extra of its own
    except ImportError as error:
        raise Unreadable(str(error)) from None
    return connectorx.read_sql
