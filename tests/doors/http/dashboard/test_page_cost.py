"""Pages cost the same however much there is: asserted beside 200,000 messages, on plans and on counted work.

Every page that a visitor can open is asked for, each list with a search and with a later page. The monitor's
bounds are made small, so that whoever goes through everything is noticed.
"""

from __future__ import annotations

import html
import re
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, cast

import pytest
from sqlalchemy import text

from rowmq.core import monitor
from rowmq.core.outcome import State
from rowmq.doors.http.dashboard import family
from rowmq.doors.http.settings import Settings
from rowmq.runtime.client import connect
from rowmq.testing.build import T0
from tests.doors.http.dashboard.visiting import Visitor
from tests.doors.http.serving import serving
from tests.servers import fresh_postgres_schema
from tests.stores.crowds import Crowd, fill, leave_alone
from tests.stores.work import counting, meter_of, planned

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rowmq.runtime.client import Client
    from rowmq.stores.sql.store import SQLStore

KINDS = ("sqlite", "postgres")
CROWD = Crowd(finished=140_000, waiting=40_000, scheduled=20_000)
BOUND, QUEUES = 1000, 4
MOST = {"steps": 600 * BOUND, "buffers": 30 * BOUND}
"""Work of one page at most, by its unit."""
BIG = ("rowmq_messages", "rowmq_pending", "rowmq_outcomes", "rowmq_failures")
STATES = [state.value for state in State]
OTHERWISE = {"/ui/live", "/ui/login", "/ui/reports/{report}", "/ui/{page}"}
"""What is no page, or reads nothing of the store."""
NEXT = re.compile(r'href="([^"]+)" rel="next"')


@pytest.fixture(
    scope="module",
    params=[pytest.param(kind, marks=pytest.mark.xdist_group(f"page cost {kind}")) for kind in KINDS],
)
def mq(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A store with 200,000 messages in one queue, a tenth of what is finished dead."""
    with ExitStack() as stack:
        server = request.getfixturevalue("postgres_server_url") if request.param == "postgres" else ""
        url = stack.enter_context(_place(server, tmp_path_factory.mktemp("pages")))
        mq = stack.enter_context(connect(url))
        leave_alone(cast("SQLStore", mq.store))
        _fill(cast("SQLStore", mq.store))
        mq.schedule("nightly", queue="crowd", cron="0 3 * * *")
        mq.topic("news").subscribe("crowd")
        cast("SQLStore", mq.store).monitor.sample(now=T0)
        yield mq


@pytest.fixture(scope="module")
def guest(mq: Client) -> Iterator[Visitor]:
    with serving(mq) as url, Visitor(url) as visitor:
        yield visitor


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_COUNTED", "MOST_LOOKED", "MOST_NEW", "MOST_MEASURED"):
        monkeypatch.setattr(monitor, name, BOUND)


def pages(mq: Client, guest: Visitor) -> dict[str, str]:
    """Every page, by what it is."""
    record = cast("SQLStore", mq.store).monitor.page("crowd", State.DEAD, limit=1).records[0]
    found = {}
    for route in family(Settings()).routes:
        if route.method == "GET" and not route.open and route.path not in OTHERWISE:
            for state in STATES if "{state}" in route.path else [""]:
                names = {"queue": "crowd", "id": str(record.id), "state": state}
                path = re.sub(r"\{(\w+)\}", lambda each: names[each[1]], route.path)  # noqa: B023 - used now
                found[path] = path
    lists = {f"/ui/queues/crowd/{state}" for state in STATES}
    found |= {f"{path}, searched": f"{path}?where=no%3Dwhere&since=999d" for path in lists}
    found |= {f"{path}, in a period": f"{path}?since=99999d&until=1h" for path in lists}
    found["errors, searched"] = "/ui/queues/crowd/failed?text=nothing+of+this"
    found["a message by its id"] = f"/ui/messages?id={record.id}"
    for path in ("/ui", "/ui/queues/crowd"):
        found[f"{path}, of a day"] = f"{path}?reach=day"
    return found | _later(guest, [*lists, "/ui/queues/crowd/failed"])


def _later(guest: Visitor, lists: list[str]) -> dict[str, str]:
    """The second page of each list that has one."""
    following = {path: NEXT.search(guest.http.get(path).text) for path in lists}
    return {f"{path}, later": html.unescape(each[1]) for path, each in following.items() if each}


def test_no_page_notices_how_much_there_is(mq: Client, guest: Visitor) -> None:
    store = cast("SQLStore", mq.store)
    unit, works = meter_of(store).unit, {}
    every = pages(mq, guest)
    assert len([each for each in every if each.endswith(", later")]) >= 4
    assert len(every) > 25
    for what, path in every.items():
        with counting(store) as count:
            answer = guest.http.get(path)
        assert answer.status_code in (200, 303), (path, answer.text)
        works[what] = count.total
    assert max(works.values()) > 0
    assert {what: work for what, work in works.items() if work > MOST[unit]} == {}


def test_no_page_reads_a_table_from_end_to_end(mq: Client, guest: Visitor) -> None:
    store, wrong = cast("SQLStore", mq.store), {}
    for what, path in pages(mq, guest).items():
        with planned(store) as plans:
            guest.http.get(path)
        found = [scan for scan in plans if scan.table in BIG and (scan.whole or scan.rows > QUEUES * BOUND)]
        if found:
            wrong[what] = found
    assert wrong == {}


def test_work_without_bounds_is_noticed(mq: Client, guest: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """A meter that missed it would prove nothing."""
    store = cast("SQLStore", mq.store)
    monkeypatch.setattr(monitor, "MOST_LOOKED", 10**6)
    with counting(store) as count:
        guest.http.get("/ui/queues/crowd/done?where=no%3Dwhere")
    assert count.total > MOST[meter_of(store).unit]


def _fill(store: SQLStore) -> None:
    fill(store, "small", Crowd(waiting=3))
    fill(store, "crowd", CROWD)
    _run(store, "UPDATE rowmq_outcomes SET state = 'dead', started_at = finished_at - 5 WHERE seq % 10 = 0")
    failures = "INSERT INTO rowmq_failures (seq, attempt, queue, started_at, ended_at, error)"
    dead = "FROM rowmq_outcomes WHERE state = 'dead' ORDER BY seq"
    _run(store, f"{failures} SELECT seq, 1, 'crowd', 0, finished_at, 'boom' {dead}")


def _run(store: SQLStore, statement: str) -> None:
    with store.database.engine.begin() as connection:
        connection.execute(text(statement))


@contextmanager
def _place(server: str, folder: Path) -> Iterator[str]:
    if not server:
        yield f"sqlite:///{folder}/pages.db"
        return
    with fresh_postgres_schema(server) as url:
        yield url
