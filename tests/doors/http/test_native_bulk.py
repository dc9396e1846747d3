"""Streams of messages, one a line, in and out."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from rowmq.core.errors import StoreUnavailable
from rowmq.doors.http.native import importing
from rowmq.doors.http.native.answering import SLICE
from rowmq.runtime.client import Client, connect
from tests.doors.http.serving import serving


@pytest.fixture
def mq() -> Iterator[Client]:
    with connect("memory://") as mq:
        yield mq


@pytest.fixture
def http(mq: Client) -> Iterator[httpx.Client]:
    mq.queue("bulk")
    with serving(mq) as url, httpx.Client(base_url=f"{url}/v1", timeout=30) as http:
        yield http


def imported(http: httpx.Client, *lines: bytes, queue: str = "bulk") -> dict[str, Any]:
    def pieces() -> Iterator[bytes]:
        text = b"\n".join(lines)
        for start in range(0, len(text), 1000):
            yield text[start : start + 1000]

    answer = http.post(
        f"/queues/{queue}/import", content=pieces(), headers={"content-type": "application/x-ndjson"}
    )
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def line(payload: Any, **options: Any) -> bytes:
    return json.dumps({"payload": payload, **options}).encode()


def exported(http: httpx.Client, path: str, **query: Any) -> list[dict[str, Any]]:
    with http.stream("GET", path, params=query) as answer:
        assert answer.headers["content-type"] == "application/x-ndjson"
        return [json.loads(each) for each in answer.iter_lines()]


def test_a_stream_of_lines_is_pushed_in_order(http: httpx.Client, mq: Client) -> None:
    report = imported(http, *(line(number, priority=0) for number in range(2500)), b"")
    assert (report["lines"], report["stored"], report["failed"], report["complete"]) == (2500, 2500, 0, True)
    assert [each.payload for each in mq.queue("bulk").find()] == list(range(2500))


def test_a_stream_sent_again_is_stored_once(http: httpx.Client, mq: Client) -> None:
    lines = [line(number, id=str(uuid4())) for number in range(10)]
    assert imported(http, *lines)["stored"] == 10
    again = imported(http, *lines, line("new"))
    assert (again["stored"], again["seen"]) == (1, 10)
    assert mq.queue("bulk").stats().ready == 11


def test_a_line_that_is_wrong_is_named_and_the_others_count(http: httpx.Client, mq: Client) -> None:
    lines = [
        line(1),
        b"nonsense",
        b"",
        line(2),
        b'{"payload": "\xff"}',
        line(3, colour="red"),
        b"{}",
        line(4),
    ]
    report = imported(http, *lines)
    assert (report["lines"], report["stored"], report["failed"], report["complete"]) == (8, 3, 4, True)
    told = [(each["line"], each["code"]) for each in report["errors"]]
    assert told == [(2, "BadRequest"), (5, "InvalidMessage"), (6, "BadRequest"), (7, "InvalidMessage")]
    assert [each.payload for each in mq.queue("bulk").find()] == [1, 2, 4]


def test_a_batch_that_is_refused_ends_the_stream_and_says_where(http: httpx.Client, mq: Client) -> None:
    mq.queue("bulk", max_length=1500)
    report = imported(http, *(line(number) for number in range(3500)))
    (error,) = report["errors"]
    assert (report["stored"], report["complete"]) == (1000, False)
    assert (error["line"], error["lines"], error["code"]) == (1001, 1000, "QueueFull")


def test_a_stream_for_an_unknown_queue_is_refused_in_its_report(http: httpx.Client) -> None:
    report = imported(http, line(1), queue="nowhere")
    assert (report["complete"], report["errors"][0]["code"]) == (False, "QueueNotFound")


def test_only_so_many_errors_are_told_and_all_are_counted(http: httpx.Client) -> None:
    report = imported(http, *[b"x"] * 250)
    assert (report["failed"], len(report["errors"])) == (250, importing.ERRORS)


def test_a_line_without_end_is_cut_off(
    http: httpx.Client, mq: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BODY_LIMIT", 5000)
    report = imported(http, line(1), line("x" * 9000))
    assert (report["stored"], report["complete"]) == (1, False)
    assert report["errors"][0]["code"] == "TooLarge"
    assert mq.queue("bulk").stats().ready == 1


def test_a_queue_is_exported_line_by_line(http: httpx.Client, mq: Client) -> None:
    count = 2 * SLICE + 7
    mq.queue("bulk").push_many(range(count))
    mq.queue("other").push("not this")
    mq.queue("bulk").claim(3)
    found = exported(http, "/queues/bulk/export")
    assert [each["payload"] for each in found] == list(range(count))
    assert len(exported(http, "/queues/bulk/export", state="leased")) == 3


def test_a_scan_gives_what_is_between_two_seqs(http: httpx.Client, mq: Client) -> None:
    mq.queue("bulk").push_many(range(10))
    bounds = http.get("/bounds").json()
    first = bounds["first"]
    found = exported(http, "/scan", first=first + 2, last=first + 5)
    assert [each["payload"] for each in found] == [2, 3, 4, 5]
    assert len(exported(http, "/scan")) == 10


def test_what_goes_wrong_in_the_middle_of_an_export_is_its_last_line(http: httpx.Client, mq: Client) -> None:
    mq.queue("bulk").push_many(["x" * 20_000] * 3 * SLICE)
    with http.stream("GET", "/queues/bulk/export") as answer:
        lines = answer.iter_lines()
        first = json.loads(next(lines))
        mq.store.close()  # while the first page is still on its way
        *_, last = lines
    assert first["payload"].startswith("x")
    assert json.loads(last)["problem"]["code"] == "StoreUnavailable"


def test_a_remote_scan_that_fails_in_the_middle_raises(http: httpx.Client, mq: Client) -> None:
    with connect(str(http.base_url).removesuffix("/v1/")) as remote:
        mq.store.close()
        with pytest.raises(StoreUnavailable):
            remote.store.history.scan(0, 2**62)
