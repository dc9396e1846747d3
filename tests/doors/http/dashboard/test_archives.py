"""The archive's batches and the reports: what is read of them, and that nothing else is served."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from rowmq.doors.http.dashboard import lake, reports
from rowmq.doors.http.dashboard.lake import Stage, shelf
from rowmq.doors.http.launch import settings_of
from rowmq.pipeline.lake.folder import Lake
from rowmq.pipeline.lake.manifest import Batches, Expired, Manifest, Part, Plan
from rowmq.pipeline.reporting.page import page
from rowmq.runtime.client import Client
from rowmq.runtime.config import load
from tests.doors.http.dashboard.visiting import Visitor
from tests.doors.http.serving import served, serving
from tests.pipeline.figures_sample import figures

WHEN = datetime(2026, 5, 1, tzinfo=UTC)


def plan(name: str, queue: str | None = None) -> Plan:
    return Plan(batch=name, first_seq=1, last_seq=9, before=WHEN, queue=queue)


def manifest(name: str, rows: int = 5, queue: str | None = None, replaces: tuple[str, ...] = ()) -> Manifest:
    part = Part(path="dt=2026-05-01/x", rows=rows, bytes=2048, checksum="0-0", first_seq=1, last_seq=9)
    return Manifest(
        batch=name,
        plan=plan(name, queue),
        rows=rows,
        bytes=2048,
        checksum="00000000deadbeef-0000000000000001",
        first_seq=1,
        last_seq=9,
        files=[part],
        replaces=replaces,
        expired=[Expired(count=2, first_seq=1, last_seq=2)],
    )


@pytest.fixture
def batches(tmp_path: Path) -> Batches:
    """The batches of a lake, written as Spark's jobs write them."""
    made = Lake(str(tmp_path / "lake"))
    made.prepare()
    return Batches(made)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of reports, and secrets beside it."""
    root = tmp_path / "reports"
    for name in ("monday", "tuesday <b>"):
        (root / name).mkdir(parents=True)
        (root / name / "report.html").write_text(page(figures()), encoding="utf-8")
    os.utime(root / "monday" / "report.html", (0, 1_000_000))
    (tmp_path / "report.html").write_text("secret")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "report.html").write_text("secret")
    return root


@pytest.fixture
def archivist(mq: Client, tmp_path: Path, folder: Path) -> Iterator[Visitor]:
    """A visitor of a server that knows the folders."""
    with serving(mq, archive=str(tmp_path / "lake"), reports=str(folder)) as url, Visitor(url) as visitor:
        yield visitor


def test_batches_are_read_as_the_archive_itself_reads_them(batches: Batches, tmp_path: Path) -> None:
    batches.plan(plan("20260501-a"))
    batches.save(manifest("20260501-a"))
    batches.finish(batches.manifests()[0], returned=[3, 4])
    batches.plan(plan("20260502-b", "emails"))
    batches.save(manifest("20260502-b", 7, "emails"))
    batches.plan(plan("20260503-c"))
    batches.save(manifest("20260430-undone"))
    found = shelf(str(tmp_path / "lake"))
    assert [(each.name, each.stage, each.queue) for each in found.batches] == [
        ("20260503-c", Stage.PLANNED, None),
        ("20260502-b", Stage.VERIFIED, "emails"),
        ("20260501-a", Stage.DONE, None),
    ]
    theirs = {each.batch: each.rows for each in batches.manifests()}
    assert {each.name: each.manifest.rows for each in found.batches if each.manifest} == theirs


def test_a_batch_that_was_replaced_is_not_shown(batches: Batches, tmp_path: Path) -> None:
    for name, replaces in (("20260501-a", ()), ("20260502-b", ("20260501-a",))):
        batches.plan(plan(name))
        batches.save(manifest(name, replaces=replaces))
        batches.finish(next(each for each in batches.manifests() if each.batch == name))
    assert [each.name for each in shelf(str(tmp_path / "lake")).batches] == ["20260502-b"]


def test_the_newest_hundred_are_shown_and_the_page_says_of_how_many(
    batches: Batches, tmp_path: Path, archivist: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake, "MOST", 2)
    for number in range(5):
        batches.plan(plan(f"2026050{number}-a"))
        batches.save(manifest(f"2026050{number}-a"))
    assert [each.name for each in shelf(str(tmp_path / "lake")).batches] == ["20260504-a", "20260503-a"]
    assert "The newest 2 of 5 batches" in archivist.sees("archives")


def test_the_page_says_what_a_batch_holds_and_whether_it_was_verified(
    batches: Batches, archivist: Visitor
) -> None:
    batches.plan(plan("20260501-a"))
    batches.save(manifest("20260501-a", 1234567, "<i>emails"))
    shown = archivist.sees("archives")
    for said in (
        "20260501-a",
        "1,234,567",
        "2 KiB",
        "read back",
        "00000000",
        "not all yet",
        "&lt;i&gt;emails",
    ):
        assert said in shown
    batches.finish(batches.manifests()[0], returned=[3])
    shown = archivist.sees("archives")
    assert "1 came back to life" in shown
    assert "2 let go since" in shown


def test_documents_that_are_not_ours_are_passed_over(
    batches: Batches, tmp_path: Path, archivist: Visitor
) -> None:
    place = tmp_path / "lake" / "_batches"
    for name, text in (("a", "{"), ("b", "[]"), ("c", json.dumps({"batch": "c"})), ("d", "[" * 100_000)):
        (place / f"{name}.json").write_text(text)
    (place / "e.json").mkdir()
    assert shelf(str(tmp_path / "lake")).batches == []
    assert "Nothing has been archived yet" in archivist.sees("archives")


def test_an_archive_that_is_not_there_or_elsewhere_is_said_to_be(mq: Client, tmp_path: Path) -> None:
    for where, said in (
        (str(tmp_path / "nowhere"), "There is no archive in that folder"),
        ("s3://bucket/lake", "The archive is not on this machine"),
    ):
        with serving(mq, archive=where) as url, Visitor(url) as visitor:
            assert said in visitor.sees("archives")


def test_a_server_that_was_not_told_says_how_to_tell_it(visitor: Visitor) -> None:
    shown = visitor.sees("archives")
    assert "rowmq serve --archive lake" in shown
    assert "rowmq serve --reports reports" in shown
    assert visitor.gets("reports", "today").status_code == 404


def test_reports_are_listed_newest_first_and_served(archivist: Visitor) -> None:
    shown = archivist.sees("archives")
    assert shown.index("tuesday &lt;b&gt;") < shown.index("monday")
    served = archivist.gets("reports", "tuesday <b>")
    assert served.status_code == 200
    assert served.headers["content-type"] == "text/html; charset=utf-8"
    assert "<title>RowMQ report</title>" in served.text


def test_a_report_of_the_folder_itself_is_served_too(folder: Path, archivist: Visitor) -> None:
    assert archivist.gets("reports", ".").status_code == 404
    (folder / "report.html").write_text("<title>whole</title>")
    assert "/ui/reports/~." in archivist.sees("archives")
    assert archivist.gets("reports", ".").text == "<title>whole</title>"


def test_a_report_may_have_its_own_style_and_runs_nothing(archivist: Visitor) -> None:
    policy = archivist.gets("reports", "monday").headers["content-security-policy"]
    assert policy == (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'; sandbox"
    )


@pytest.mark.parametrize(
    "path",
    [
        "~..",
        "%2e%2e",
        "..%2Fsecrets",
        "monday%2F..%2F..%2Fsecrets",
        "%2Fetc",
        "monday%2Freport.html",
        "monday%00",
        "link",
        "linked",
        "MONDAY%2F.",
        "",
    ],
)
def test_no_path_leads_out_of_the_folder_of_reports(
    folder: Path, tmp_path: Path, archivist: Visitor, path: str
) -> None:
    (folder / "link").symlink_to(tmp_path / "secrets")
    (folder / "linked").mkdir()
    (folder / "linked" / "report.html").symlink_to(tmp_path / "secrets" / "report.html")
    url = httpx.URL(archivist.http.base_url, raw_path=f"/ui/reports/{path}".encode())
    answer = archivist.http.get(url)
    assert answer.status_code in {403, 404}
    assert "secret" not in answer.text
    assert "secret" not in archivist.sees("archives").replace("secrets", "")


def test_a_report_that_is_too_large_is_not_read(
    folder: Path, archivist: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "LARGEST", 10)
    assert archivist.gets("reports", "monday").status_code == 404


def test_the_folders_are_options_of_the_server(tmp_path: Path) -> None:
    (tmp_path / "rowmq.toml").write_text('[server]\narchive = "s3://bucket/lake"\nreports = "made"\n')
    said = settings_of(load(folder=tmp_path, environment={}))
    assert (said.archive, said.reports) == ("s3://bucket/lake", str(tmp_path / "made"))
    environment = {"ROWMQ_SERVER_ARCHIVE": "/data/lake"}
    said = settings_of(load({"server.reports": "/r"}, folder=tmp_path, environment=environment))
    assert (said.archive, said.reports) == ("/data/lake", "/r")


def test_the_command_line_names_the_folders(folder: Path, tmp_path: Path) -> None:
    with served("-d", ":memory:", "--no-grpc", "--reports", "reports", folder=tmp_path) as server:
        shown = httpx.get(f"{server.url}/ui/archives", headers={"accept": "text/html"}).text
    assert "monday" in shown
    assert "rowmq serve --archive lake" in shown


def test_the_server_needs_neither_spark_nor_arrow() -> None:
    code = "import sys, rowmq.doors.http.serving; print({'pyspark', 'pyarrow', 'pandas'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"
