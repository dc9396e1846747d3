"""Messages come from files and go into files as they are."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import rowmq
from rowmq.core.history import Record
from rowmq.core.outcome import State
from rowmq.pipeline.writing.export import export, messages_of
from rowmq.pipeline.writing.files import Form, form_of
from rowmq.pipeline.writing.load import load, rows_of
from tests.doors.program import Program

FORMS = ("parquet", "csv", "json")
TRICKY = 'He said "no",\nthen \\"yes\\" ; \u2028 \U0001f600 \x00'


@pytest.fixture
def mq(sqlite_url: str) -> Iterator[rowmq.Client]:
    with rowmq.connect(sqlite_url) as client:
        client.queue("q")
        client.queue("r")
        yield client


@pytest.fixture
def program(
    spark: SparkSession,
    tmp_path: Path,
    sqlite_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Program:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROWMQ_URL", sqlite_url)
    assert SparkSession.getActiveSession() is spark  # which the program then uses
    return Program(tmp_path, capsys)


def said(record: Record) -> dict[str, Any]:
    names = ("id", "body", "binary", "metadata", "priority", "group", "key", "deadline", "scheduled_for")
    return {name: getattr(record, name) for name in names}


def bodies(mq: rowmq.Client, queue: str = "q") -> list[bytes]:
    return sorted(record.body or b"" for record in mq.find(queue))


def test_the_ending_of_a_path_tells_what_it_is_unless_it_is_said() -> None:
    assert [form_of(path, None) for path in ("a.parquet", "b.csv.gz", "c/d.jsonl/", "e.csv/*")] == [
        Form.PARQUET,
        Form.CSV,
        Form.JSON,
        Form.CSV,
    ]
    assert form_of("a.parquet", "csv") is Form.CSV
    with pytest.raises(rowmq.InvalidSetting, match=r"'a\.txt' does not tell.*--format"):
        form_of("a.txt", None)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_exported_can_be_loaded_and_is_the_same(
    spark: SparkSession, mq: rowmq.Client, sqlite_url: str, tmp_path: Path, form: str
) -> None:
    queue, path = mq.queue("q"), str(tmp_path / f"out.{form}")
    queue.push(
        {"text": TRICKY, "n": [1, 2.5, None]}, metadata={"a": 'x"y,\n'}, priority=3, key="k", delay=3600
    )
    queue.push(b"\x00\xff\n", group="g", deadline=rowmq.connect(sqlite_url).store.now())
    queue.push("")
    before = [said(record) for record in mq.find("q")]
    assert export(messages_of(spark, sqlite_url, queue="q"), path) == 3
    other = f"sqlite:///{tmp_path / 'other.db'}"
    with rowmq.connect(other) as there:
        there.queue("q")
        assert load(rows_of(spark, path), other, queue="q") == 3
        after = sorted((said(record) for record in there.find("q")), key=lambda row: str(row["id"]))
    assert after == sorted(before, key=lambda row: str(row["id"]))


def test_rows_of_other_programs_become_payloads(
    spark: SparkSession, mq: rowmq.Client, sqlite_url: str, tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text('name,age\n"Ada, Countess",36\nBob,\n')
    (tmp_path / "lines.jsonl").write_text('{"b": 1.50, "a": null}\n\n[1]\n"x"\n')
    spark.createDataFrame([(1, [2])], "x int, y array<int>").write.parquet(str(tmp_path / "some.parquet"))
    for name in ("people.csv", "lines.jsonl", "some.parquet"):
        load(rows_of(spark, str(tmp_path / name)), sqlite_url, queue="q")
    assert bodies(mq) == sorted(
        [
            b'{"name":"Ada, Countess","age":"36"}',
            b'{"name":"Bob","age":null}',
            b'{"b": 1.50, "a": null}',
            b"[1]",
            b'"x"',
            b'{"x":1,"y":[2]}',
        ]
    )


def test_lines_with_a_payload_are_messages_with_their_columns(
    spark: SparkSession, mq: rowmq.Client, sqlite_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "messages.jsonl"
    path.write_text('{"payload": {"to": "ada"}, "priority": 9, "metadata": {"k": "v"}}\n{"payload": [1]}\n')
    load(rows_of(spark, str(path)), sqlite_url, queue="q")
    first, second = mq.find("q")
    assert (first.body, first.priority, first.metadata) == (b'{"to": "ada"}', 9, {"k": "v"})
    assert (second.body, second.priority, second.metadata) == (b"[1]", 0, {})
    load(rows_of(spark, str(path), whole=True), sqlite_url, queue="r")
    assert b'{"payload": [1]}' in bodies(mq, "r")


def test_a_load_with_a_name_is_done_once_and_ids_make_another_harmless(
    spark: SparkSession, mq: rowmq.Client, sqlite_url: str, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text("1\n2\n")
    for _ in range(2):
        load(rows_of(spark, str(tmp_path / "a.jsonl")), sqlite_url, queue="q", once="monday")
    assert bodies(mq) == [b"1", b"2"]
    export(messages_of(spark, sqlite_url, queue="q"), str(tmp_path / "b.json"))
    load(rows_of(spark, str(tmp_path / "b.json")), sqlite_url, queue="q")
    assert bodies(mq) == [b"1", b"2"]
    load(rows_of(spark, str(tmp_path / "b.json"), new_ids=True), sqlite_url, queue="q")
    assert bodies(mq) == [b"1", b"1", b"2", b"2"]


def test_the_program_loads_and_exports(mq: rowmq.Client, program: Program, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("1\n2\n3\n")
    dry = program("load", "--from", "a.jsonl", "-q", "q", "--dry-run", "--json").json
    assert (dry["loaded"], dry["rows"], bodies(mq)) == (0, 3, [])
    named = ("load", "--from", "a.jsonl", "-q", "q", "--once", "monday")
    assert program(*named).out == "loaded 3 rows into queue 'q'\n"
    assert program(*named).out == "a load 'monday' was done before\n"
    assert len(bodies(mq)) == 3
    mq.queue("q").claim(limit=1)[0].ack()
    assert program("export", "-q", "q", "--to", "done.csv", "--state", "done").out == (
        "exported 1 messages to done.csv\n"
    )
    dry = program("export", "--to", "all.json", "--dry-run", "--json", "--since", "1h").json
    assert (dry["rows"], (tmp_path / "all.json").exists()) == (3, False)
    program("export", "--to", "all.json", "--files", "1")
    (file,) = (tmp_path / "all.json").glob("part-*")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted((line["payload"], line["state"]) for line in lines) == [
        ("1", State.DONE),
        ("2", State.READY),
        ("3", State.READY),
    ]


def test_the_program_publishes_what_it_loads(mq: rowmq.Client, program: Program, tmp_path: Path) -> None:
    mq.topic("t").subscribe("r")
    (tmp_path / "a.csv").write_text("payload\nhello\n")
    program("load", "--from", "a.csv", "--topic", "t", "--text")
    assert bodies(mq, "r") == [b'"hello"']


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("load", "--from", "a.jsonl"), 2, "either --queue or --topic"),
        (("load", "--from", "a.jsonl", "-q", "none"), 1, "there is no queue 'none'"),
        (("load", "--from", "a.txt", "-q", "q"), 2, "say --format parquet, csv or json"),
        (("load", "--from", "none.jsonl", "-q", "q"), 1, "none.jsonl"),
        (("load", "--from", "a.jsonl", "-q", "q"), 2, "the payload is not JSON"),
        (("load", "--from", "a.jsonl", "--columns", "-q", "q"), 1, "Spark could not do it"),
        (("export", "-q", "none", "--to", "x.csv"), 1, "there is no queue 'none'"),
        (("export", "-q", "q", "--to", "a.jsonl"), 1, "a.jsonl"),
    ],
)
def test_the_program_says_in_a_sentence_what_is_wrong(
    mq: rowmq.Client, program: Program, tmp_path: Path, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    (tmp_path / "a.jsonl").write_text("1\nhello\n")
    ran = program(*arguments, code=code)
    assert sentence in ran.err
    assert len(ran.err.strip().splitlines()) <= 3
    assert bodies(mq) == []
