"""Lists reach PostgreSQL as they are, whichever way they are sent."""

from __future__ import annotations

from contextlib import closing
from typing import Any
from uuid import UUID

import psycopg
import pytest

from rowmq.stores.postgres.arrays import array
from rowmq.stores.postgres.connecting import set_up

LISTS: dict[str, list[Any]] = {
    "bigint": [0, -1, 2**63 - 1, -(2**63)],
    "boolean": [True, False],
    "bytea": [b"", b"\0", b"x" * 100_000],
    "uuid": [UUID(int=0), UUID(int=2**128 - 1)],
    "text": ["", "it's", "日本語"],
}


def returned(url: str, kind: str, values: list[Any]) -> Any:
    with closing(psycopg.connect(url.replace("+psycopg", ""))) as connection:
        set_up(connection)
        row = connection.execute(f"SELECT CAST(%s AS {kind}[])", [array(values)]).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_of_one_type_arrives_as_it_is(postgres_url: str, kind: str) -> None:
    assert returned(postgres_url, kind, LISTS[kind]) == LISTS[kind]


@pytest.mark.parametrize("kind", LISTS)
def test_so_does_one_with_gaps(postgres_url: str, kind: str) -> None:
    assert returned(postgres_url, kind, [*LISTS[kind], None]) == [*LISTS[kind], None]


@pytest.mark.parametrize("kind", LISTS)
def test_so_does_an_empty_one(postgres_url: str, kind: str) -> None:
    assert returned(postgres_url, kind, []) == []
