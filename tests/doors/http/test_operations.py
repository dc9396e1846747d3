"""Whether a server lives, whether it is of use, its numbers and its lines."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from rowmq.doors.http.access import Tokens
from rowmq.doors.http.measuring import METRICS, Measures
from rowmq.runtime.client import Client, connect
from rowmq.runtime.depth import GAUGES
from rowmq.runtime.log import JSONFormatter, logger
from rowmq.stores.memory import MemoryStore
from tests.doors.http.asked import token_text, write_tokens
from tests.doors.http.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers import Server

CANARY = "swordfish"
DOCUMENT = Path(__file__).parents[3] / "docs/observability.md"


@pytest.fixture
def mq() -> Iterator[Client]:
    with connect("memory://") as client:
        client.queue("emails")
        yield client


def read(http: httpx.Client) -> dict[tuple[str, ...], float]:
    """The page of numbers: by the name of each, and its labels' values in the order of their names."""
    answer = http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_a_server_is_alive_and_ready(mq: Client) -> None:
    with serving(mq) as url:
        answers = [httpx.get(f"{url}/{path}") for path in ("healthz", "readyz")]
    assert [(each.status_code, each.text) for each in answers] == [(200, "alive"), (200, "ready")]


def test_a_server_whose_store_is_away_is_alive_but_not_ready_and_says_no_more(own_postgres: Server) -> None:
    with connect(own_postgres.url) as mq, serving(mq) as url, httpx.Client(base_url=url) as http:
        assert http.get("/readyz").status_code == 200
        own_postgres.kill()
        answer = http.get("/readyz", timeout=30)
        assert (answer.status_code, http.get("/healthz").status_code) == (503, 200)
        assert re.fullmatch("the store (does not answer|has not answered within 2 seconds)", answer.text)
        lost = http.post("/queues/emails/enqueue", content=b"1", timeout=60)
        assert (lost.status_code, lost.headers["retry-after"]) == (503, "1")
        assert lost.text == "the store does not answer; ask again in a moment"
        assert read(http)["rowmq_up",] == 0
        own_postgres.restart()
        while http.get("/readyz", timeout=30).status_code != 200:
            time.sleep(0.05)


def test_requests_are_counted_by_route_and_status_without_names(mq: Client) -> None:
    with serving(mq) as url, httpx.Client(base_url=url) as http:
        for name in ("emails", "emails", CANARY):
            http.post(f"/queues/{name}/enqueue", content=b"1")
        http.get(f"/{CANARY}/{CANARY}/{CANARY}/{CANARY}")
        found = read(http)
        page = http.get("/metrics").text
    assert found["rowmq_http_requests_total", "POST", "/queues/{name}/enqueue", "200"] == 2
    assert found["rowmq_http_requests_total", "POST", "/queues/{name}/enqueue", "404"] == 1
    assert found["rowmq_http_requests_total", "GET", "-", "404"] == 1
    assert found["rowmq_http_request_seconds_count", "POST", "/queues/{name}/enqueue"] == 3
    assert 0 < found["rowmq_http_request_seconds_sum", "POST", "/queues/{name}/enqueue"] < 30
    assert CANARY not in page


def test_messages_batches_and_depth_are_counted(mq: Client) -> None:
    with serving(mq) as url, httpx.Client(base_url=url) as http:
        for _ in range(3):
            http.post("/queues/emails/enqueue", content=b"1")
        held = [http.get("/queues/emails/receive").json() for _ in range(2)]
        for _ in range(2):
            http.put(f"/messages/{held[0]['id']}/complete", params={"receipt": held[0]["receipt"]})
        found = read(http)
    verbs = {verb: found["rowmq_http_messages_total", verb] for verb in ("push", "claim", "settle", "extend")}
    assert verbs == {"push": 3, "claim": 2, "settle": 2, "extend": 0}
    assert found["rowmq_http_batch_callers_sum", "push"] == 3
    assert found["rowmq_http_store_seconds_count", "settle"] == 2
    states = {state: found["rowmq_depth", "emails", state] for state in ("ready", "leased", "done")}
    assert states == {"ready": 1, "leased": 1, "done": 1}
    assert found["rowmq_up",] == 1


def test_who_waits_for_messages_is_counted_as_long_as_it_waits(mq: Client) -> None:
    with serving(mq) as url, httpx.Client(base_url=url, timeout=30) as http:
        asked = (f"{url}/v1/queues/emails/claim",)
        caller = threading.Thread(target=httpx.post, args=asked, kwargs={"json": {"wait": 20}, "timeout": 30})
        caller.start()
        while not read(http)["rowmq_http_long_polls",]:
            time.sleep(0.01)
        http.post("/queues/emails/enqueue", content=b"1")
        caller.join()
        assert read(http)["rowmq_http_long_polls",] == 0


def test_a_histogram_says_how_many_were_at_most_so_large() -> None:
    measures = Measures(MemoryStore())
    for seconds in (0.0005, 0.001, 0.002, 60):
        measures.observe("GET", "/", 200 if seconds < 1 else 408, 0, seconds)
    page = measures.text().decode()
    bound = 'rowmq_http_request_seconds_bucket{le="%s",method="GET",path="/"} %s'
    for le, count in (("0.001", 2.0), ("0.0025", 3.0), ("30.0", 3.0), ("+Inf", 4.0)):
        assert bound % (le, count) in page


def test_numbers_and_queues_are_for_those_who_may_read_everything(mq: Client, tmp_path: Path) -> None:
    path = write_tokens(
        tmp_path / "tokens.toml",
        token_text("all", "all", read=["*"]),
        token_text("one", "one", read=["emails"]),
    )
    with serving(mq, access=Tokens(path)) as url, httpx.Client(base_url=url) as http:
        known = {token: {"authorization": f"Bearer {token}"} for token in ("all", "one", "none")}
        statuses = {token: http.get("/metrics", headers=each).status_code for token, each in known.items()}
        assert statuses == {"all": 200, "one": 403, "none": 401}
        assert [http.get(f"/{path}").status_code for path in ("healthz", "readyz")] == [200, 200]


def test_every_metric_that_is_documented_is_on_the_page(mq: Client) -> None:
    with serving(mq) as url, httpx.Client(base_url=url) as http:
        http.get("/queues")
        families = {each.name for each in text_string_to_metric_families(http.get("/metrics").text)}
    names = {f"rowmq_{each.name}".removesuffix("_total") for each in (*GAUGES, *METRICS)}
    assert families == names


def test_the_documentation_tables_every_metric_of_the_server() -> None:
    rows = re.findall(
        r"^\| `rowmq_((?:http|grpc)_\w+)` \| (\w+) \| ([\w, ]*) \| (.*) \|$",
        DOCUMENT.read_text(),
        re.MULTILINE,
    )
    assert rows == [(each.name, each.type, ", ".join(each.labels), each.meaning) for each in METRICS]


def lines_of(url: str, caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Ask a few things, each with something in it that no line may show; what was logged, as JSON."""
    with httpx.Client(base_url=url, headers={"authorization": f"Bearer {CANARY}"}) as http:
        http.post(f"/queues/{CANARY}/enqueue", json={"note": CANARY})
        http.post("/queues/emails/enqueue", json={"note": CANARY})
        http.get(f"/{CANARY}", params={"token": CANARY})
    formatter = JSONFormatter()
    return [json.loads(formatter.format(record)) for record in caplog.records]


@pytest.fixture
def caplog(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    """What RowMQ logs, also if a test before this one has told it to write to standard error alone."""
    monkeypatch.setattr(logger, "propagate", True)
    caplog.set_level(logging.INFO, logger=logger.name)
    return caplog


def test_a_line_says_how_each_request_went_and_nothing_that_was_said(
    mq: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(mq, access_log=True) as url:
        lines = lines_of(url, caplog)
    assert [(each["method"], each["path"], each["status"]) for each in lines] == [
        ("POST", "/queues/{name}/enqueue", 404),
        ("POST", "/queues/{name}/enqueue", 200),
        ("GET", "-", 404),
    ]
    assert {each["event"] for each in lines} == {"http.request"}
    assert all(each["seconds"] > 0 and each["size"] > 0 and each["level"] == "INFO" for each in lines)
    assert CANARY not in caplog.text
    assert CANARY not in json.dumps(lines)


def test_no_line_is_written_for_a_request_unless_somebody_wants_it(
    mq: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(mq) as url:
        assert lines_of(url, caplog) == []
