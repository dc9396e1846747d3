"""How lists of numbers are written for MariaDB and MySQL, and how values of any size come back."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymysql.cursors import Cursor

from rowmq.stores.mysql.cursor import RowCursor, among
from rowmq.stores.mysql.dialect import style
from tests.servers import connect_mysql


def test_numbers_in_a_row_are_a_range() -> None:
    assert among("seq", [3, 1, 2, 4, 5, 6, 8, 7]) == "seq BETWEEN 1 AND 8"


def test_single_numbers_are_a_list() -> None:
    assert among("p.seq", [9, 1, 5]) == "p.seq IN (1,5,9)"


def test_ranges_and_what_is_left_are_one_condition() -> None:
    numbers = [*range(1, 11), 20, *range(31, 41)]
    assert among("seq", numbers) == "(seq BETWEEN 1 AND 10 OR seq BETWEEN 31 AND 40 OR seq IN (20))"


@given(st.lists(st.integers(1, 60), min_size=1))
def test_a_condition_holds_for_these_numbers_alone(numbers: list[int]) -> None:
    every = "WITH RECURSIVE every(seq) AS (SELECT 0 UNION ALL SELECT seq + 1 FROM every WHERE seq < 70)"
    with closing(sqlite3.connect(":memory:")) as connection:
        found = connection.execute(f"{every} SELECT seq FROM every WHERE 1 AND {among('seq', numbers)}")
        assert [seq for (seq,) in found] == sorted(set(numbers))


def test_a_list_is_named_together_with_its_column() -> None:
    assert style("p.seq IN :seqs AND x = :x") == "%(p.seq IN seqs)s AND x = %(x)s"


@pytest.mark.parametrize("size", [0, 1, 250, 251, 252, 65_535, 65_536, 5_000_000])
def test_a_value_of_any_size_comes_back(mysql_server_url: str, size: int) -> None:
    columns = f"1, REPEAT(CAST('a' AS BINARY), {size}), NULL, -2, REPEAT('ä', {size}), 1.5, 2.5e0"
    with connect_mysql(mysql_server_url) as connection:
        with connection.cursor(Cursor) as theirs, connection.cursor(RowCursor) as ours:
            theirs.execute(f"SELECT {columns}")
            ours.execute(f"SELECT {columns}")
            expected, found = theirs.fetchone(), ours.fetchone()
        assert found is not None
        assert [_text(value) for value in found] == [_text(value) for value in expected or ()]


def _text(value: object) -> object:
    return value.decode() if isinstance(value, bytes) else value
