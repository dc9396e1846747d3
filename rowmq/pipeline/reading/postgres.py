"""Reading PostgreSQL by ADBC: its binary COPY, made Arrow without Python values in between."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
from psycopg.conninfo import make_conninfo
from sqlalchemy.engine import URL

from rowmq.core.errors import StoreUnavailable
from rowmq.pipeline.reading.look import FULL, Look, Unreadable
from rowmq.stores.postgres.connecting import DEFAULTS, OURS

_SIZE = "adbc.postgresql.batch_size_hint_bytes"


def read_postgres(look: Look) -> Iterator[pa.RecordBatch]:
    """The rows of a statement, in batches bounded by their bytes."""
    dbapi, failure = _driver()
    try:
        connection = dbapi.connect(conninfo(look.url), autocommit=True)
    except failure as error:
        raise Unreadable(str(error)) from error
    with closing(connection), closing(connection.cursor()) as cursor:
        try:
            cursor.adbc_statement.set_options(**{_SIZE: str(FULL)})
            cursor.execute(look.sql)
            yield from cursor.fetch_record_batch()
        except (failure, OSError) as error:
            raise StoreUnavailable(f"PostgreSQL broke off while being read: {error}") from None


def conninfo(url: URL) -> str:
    """The URL in libpq's own words. Our session settings are for claims, and would make a bulk read slow."""
    said: dict[str, Any] = {
        "host": url.host,
        "port": url.port,
        "user": url.username,
        "password": url.password,
        "dbname": url.database,
    }
    rest = {name: value for name, value in url.query.items() if name not in OURS}
    if not all(isinstance(value, str) for value in rest.values()):
        raise Unreadable("an option of the URL is given more than once")
    return make_conninfo(
        **{name: value for name, value in (said | DEFAULTS | rest).items() if value is not None}
    )


def _driver() -> tuple[Any, type[Exception]]:
    try:
        from adbc_driver_postgresql import dbapi  # noqa: PLC0415 - an extra of its own
    except ImportError as error:
        raise Unreadable(str(error)) from None
    return dbapi, dbapi.Error
