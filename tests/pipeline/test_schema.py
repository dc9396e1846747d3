"""Columns and their types, and payloads parsed into them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from rowmq.core.errors import InvalidSetting
from rowmq.pipeline.reading.arrow_columns import maps, quick_maps, uuid_texts
from rowmq.pipeline.reading.arrow_json import parse
from rowmq.pipeline.reading.columns import columns_of
from rowmq.pipeline.reading.inference import filled, inferred
from rowmq.pipeline.schema import FAILURES, LEDGER, READ, arrow_schema, check_schema

TEXTS = pa.map_(pa.string(), pa.string())
AWKWARD = st.text(alphabet='ab,:"{}[] \\ü\n', max_size=4)


def test_each_table_has_its_columns() -> None:
    assert columns_of({}) == READ
    assert columns_of({"TABLE": "failures"}) == FAILURES
    assert columns_of({"table": "ledger"}) == LEDGER
    found = columns_of({"payload": "binary"})
    assert isinstance(found, StructType)
    assert found["payload"].dataType == BinaryType()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a int, b string", "`payload` struct<a int, b string>"),
        ("array<int>", "`payload` array<int>"),
        (" bigint ", "`payload` bigint"),
        ("a int", "`payload` struct<a int>"),
    ],
)
def test_the_payloads_schema_is_columns_or_a_type(given: str, expected: str) -> None:
    assert expected in str(columns_of({"payloadSchema": given}))


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        (StructField("nmae", StringType()), "messages have no column 'nmae'; there are seq, id, queue"),
        (StructField("seq", StringType()), "the column seq is bigint, not string; ask for that type"),
        (StructField("payload", DecimalType(5, 2)), "cannot be parsed into decimal(5,2): ask for string"),
        (StructField("payload", MapType(LongType(), LongType())), "cannot be parsed into map<bigint,bigint>"),
        (StructField("payload", ArrayType(DecimalType())), "cannot be parsed into decimal(10,0)"),
    ],
    ids=str,
)
def test_a_schema_that_does_not_fit_is_refused(field: StructField, sentence: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        check_schema(StructType([field]), "messages")
    assert sentence in str(refused.value)


def test_arrow_has_the_same_columns_with_times_in_utc() -> None:
    arrow = arrow_schema(READ)
    assert arrow.names == READ.fieldNames()
    assert arrow.field("created_at").type == pa.timestamp("us", "UTC")


STRUCT = StructType([StructField("a", IntegerType()), StructField("b", ArrayType(StringType()))])


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        (b'{"a": 1, "b": ["x", 2], "c": 3}', STRUCT, {"a": 1, "b": ["x", "2"]}),
        (b'{"a": "1"}', STRUCT, {"a": None, "b": None}),
        (b"[1]", STRUCT, None),
        (b"2147483648", IntegerType(), None),
        (b"2147483648", LongType(), 2147483648),
        (b"true", LongType(), None),
        (b"true", BooleanType(), True),
        (b"1", DoubleType(), 1.0),
        (b"1e400", DoubleType(), float("inf")),
        (b"1" * 400, DoubleType(), None),
        (b'{"k": 1.5}', MapType(StringType(), DoubleType()), [("k", 1.5)]),
        (b'"2026-01-31"', DateType(), date(2026, 1, 31)),
        (b'"2026-01-31T12:00:00"', TimestampType(), datetime(2026, 1, 31, 12, tzinfo=UTC)),
        (b'"soon"', TimestampType(), None),
        (b"{broken", STRUCT, None),
        (b"[" * 100_000, ArrayType(LongType()), None),
    ],
    ids=str,
)
def test_a_payload_is_parsed_as_far_as_it_fits(body: bytes, kind: DataType, expected: Any) -> None:
    assert parse(body, kind) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], "bigint"),
        ([1, 2.5], "double"),
        ([1, "x"], "string"),
        ([2**70], "double"),
        ([None, True], "boolean"),
        ([[], [1], [None]], "array<bigint>"),
        ([[]], "array<string>"),
        ([{"a": 1}, {"b": None, "a": 1.5}], "struct<a:double,b:string>"),
        ([{"a": {"x": [1]}}, {"a": {"y": "z"}}], "struct<a:struct<x:array<bigint>,y:string>>"),
        ([{"a": 1}, "text"], "string"),
    ],
    ids=str,
)
def test_the_type_of_payloads_is_what_all_of_them_fit(values: list[Any], expected: str) -> None:
    assert filled(inferred(values)).simpleString() == expected


def test_ids_are_written_as_uuids_are() -> None:
    ids = [uuid4() for _ in range(5)]
    raw = pa.array([id.bytes for id in ids], pa.binary())
    assert uuid_texts(raw.slice(1)).to_pylist() == [str(id) for id in ids[1:]]
    assert uuid_texts(raw.slice(0, 0)).to_pylist() == []


@given(
    st.lists(st.none() | st.dictionaries(AWKWARD, AWKWARD, max_size=3), max_size=3),
    st.sampled_from([(",", ":"), (", ", ": "), (" , ", ":"), (",", " : ")]),
)
@settings(max_examples=300, deadline=None)
def test_metadata_is_read_whatever_is_in_it(
    said: list[dict[str, str] | None], marks: tuple[str, str]
) -> None:
    texts = [
        None if each is None else json.dumps(each, ensure_ascii=False, separators=marks) for each in said
    ]
    column = pa.array(texts, pa.string())
    expected = [list((each or {}).items()) for each in said]
    quick = quick_maps(column, TEXTS)
    assert quick is None or quick.to_pylist() == expected
    assert maps(column, TEXTS).to_pylist() == expected


def test_plain_metadata_is_read_quickly() -> None:
    column = pa.array(['{"a":"b, c: d","":""}', None, '{"ü":"{}"}'], pa.string())
    quick = quick_maps(column, TEXTS)
    assert quick is not None
    assert quick.to_pylist() == [[("a", "b, c: d"), ("", "")], [], [("ü", "{}")]]
