"""What people who look after queues are shown costs the same however much there is.

Asserted at 200,000 messages on plans and on counted work, with the monitor's bounds made small.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, cast

import pytest
from sqlalchemy import text

from rowmq.core import monitor
from rowmq.core.clock import micros
from rowmq.core.monitor import MINUTE, QUARTER
from rowmq.core.outcome import State
from rowmq.core.where import where
from rowmq.stores import open_store
from rowmq.testing.build import T0
from tests.servers import fresh_mysql_database, fresh_postgres_schema
from tests.stores.crowds import Crowd, fill, leave_alone
from tests.stores.work import counting, meter_of, planned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rowmq.core.monitor import Monitor
    from rowmq.stores.sql.store import SQLStore
    from tests.stores.work import Scan

OFTEN, LATELY = 5000, 600
"""How often one message has failed, and how many of the last times otherwise than before."""
CROWD = Crowd(finished=120_000, waiting=40_000, scheduled=20_000, grouped=20_000, groups=100)
BOUND, QUEUES = 1000, 3
MOST = {"steps": 250 * BOUND, "buffers": 15 * BOUND, "reads": 25 * BOUND}
"""Work of one look at most, by its unit: so many steps, buffers or reads for each row it may go through."""
BIG = ("rowmq_messages", "rowmq_pending", "rowmq_outcomes", "rowmq_failures")
KINDS = ("sqlite", "postgres", "mysql")
PUSHED = micros(T0) - 3_600_000_000
NOWHERE = where({"no": "where"})
LOOKS: dict[str, Callable[[Monitor], object]] = {
    "counts": lambda it: it.counts(["crowd", "small"], now=T0),
    **{
        f"page of {state}": lambda it, state=state: it.page("crowd", state, now=T0)  # type: ignore[misc]
        for state in State
    },
    **{
        f"search of {state}": lambda it, state=state: it.page("crowd", state, where=NOWHERE, now=T0)  # type: ignore[misc]
        for state in State
    },
    "a later page": lambda it: it.page(
        "crowd", State.DONE, place=it.page("crowd", State.DONE, now=T0).place, now=T0
    ),
    "a period": lambda it: it.page(
        "crowd", State.DONE, since=T0 - timedelta(hours=2), until=T0 - timedelta(minutes=59), now=T0
    ),
    "a page among messages that fell due together": lambda it: it.page(
        "crowd", State.READY, place=(0, 0, PUSHED, 150_000), now=T0
    ),
    "all failures": lambda it: it.failed("crowd", "", now=T0),
    "failures that are not there": lambda it: it.failed("crowd", "nothing of this", now=T0),
    "failures of one message": lambda it: it.failed("often", "", now=T0),
    "failures of one message behind others of it": lambda it: it.failed("often", "old", now=T0),
    "a later page of failures": lambda it: it.failed("crowd", "boom", place=_place_of(it, "crowd"), now=T0),
    "a later page of one message's failures": lambda it: it.failed(
        "often", "old", place=_place_of(it, "often"), now=T0
    ),
    "the last failures of a message": lambda it: it.failures(_seq_of(it, "often")),
    "schedules": lambda it: [it.plans(), it.plans(queue="crowd")],
    "sample": lambda it: it.sample(now=T0),
    "samples": lambda it: [it.samples(span, T0 - timedelta(hours=1)) for span in (MINUTE, QUARTER)],
    "samples of a queue": lambda it: it.samples(MINUTE, T0 - timedelta(hours=1), queue="crowd"),
}


@pytest.fixture(
    scope="module",
    params=[pytest.param(kind, marks=pytest.mark.xdist_group(f"monitor cost {kind}")) for kind in KINDS],
)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLStore]:
    kind: str = request.param
    server = "" if kind == "sqlite" else request.getfixturevalue(f"{kind}_server_url")
    with ExitStack() as stack:
        url = stack.enter_context(_place(kind, server, tmp_path_factory.mktemp("monitor")))
        store = cast("SQLStore", open_store(url))
        stack.callback(store.close)
        leave_alone(store)
        _crowd(store)
        yield store


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_COUNTED", "MOST_LOOKED", "MOST_NEW", "MOST_MEASURED"):
        monkeypatch.setattr(monitor, name, BOUND)


@pytest.mark.parametrize("look", list(LOOKS))
def test_a_look_does_not_notice_how_much_there_is(store: SQLStore, look: str) -> None:
    unit = meter_of(store).unit
    with counting(store) as count:
        LOOKS[look](store.monitor)
    print(f"{look}: {count.total} {unit}")  # noqa: T201
    assert 0 < count.total <= MOST[unit]


@pytest.mark.parametrize("look", list(LOOKS))
def test_a_look_reads_no_table_from_end_to_end(store: SQLStore, look: str) -> None:
    if meter_of(store).unit == "reads":
        pytest.skip("what MariaDB reads is counted")
    assert _too_much(store, look) == []


def test_of_messages_that_ended_together_only_a_page_is_read(store: SQLStore) -> None:
    """PostgreSQL's index does not have their order: it reads all that ended in that one moment."""
    unit = meter_of(store).unit
    middle = store.history.bounds()[1] - 10_000
    with counting(store) as count:
        found = store.monitor.page("ties", State.DONE, place=(PUSHED, middle), now=T0)
    assert len(found.records) == 50
    assert count.total <= {"steps": 5000, "buffers": 2000, "reads": 500}[unit]


def test_a_message_that_failed_often_is_found_where_it_last_failed_so(store: SQLStore) -> None:
    found = store.monitor.failed("often", "old", now=T0)
    assert [each.attempt.error for each in found.failures.values()] == ["old"]
    assert store.monitor.failed("often", "old", place=_place_of(store.monitor, "often"), now=T0).records == []


def test_a_look_through_everything_is_noticed(store: SQLStore) -> None:
    """Meters and plans that missed it would prove nothing."""
    with counting(store) as count:
        store.queues.stats("crowd", now=T0)
    assert count.total > MOST[meter_of(store).unit] / 5
    if meter_of(store).unit != "reads":
        with planned(store) as plans:
            store.history.find(where=NOWHERE, now=T0)
        assert [scan for scan in plans if scan.whole or scan.rows > 10 * BOUND]


def test_nor_does_it_once_the_database_knows_its_tables(store: SQLStore) -> None:
    if meter_of(store).unit == "reads":
        pytest.skip("what MariaDB reads is counted")
    _run(store, "ANALYZE")
    assert [(look, found) for look in LOOKS if (found := _too_much(store, look))] == []


def _too_much(store: SQLStore, look: str) -> list[Scan]:
    """The parts of a look's plans that read a large table whole, or more of it than a look may."""
    with planned(store) as plans:
        LOOKS[look](store.monitor)
    assert plans
    return [scan for scan in plans if scan.table in BIG and (scan.whole or scan.rows > QUEUES * BOUND)]


def _crowd(store: SQLStore) -> None:
    """Put 200,000 messages in a queue, a tenth of what is finished dead, with a failure each."""
    fill(store, "small", Crowd(waiting=3))
    fill(store, "crowd", CROWD)
    fill(store, "ties", Crowd(finished=20_000))
    ties = "(SELECT id FROM rowmq_queues WHERE name = 'ties')"
    _run(store, f"UPDATE rowmq_outcomes SET finished_at = {PUSHED} WHERE queue = {ties}")
    failures = "INSERT INTO rowmq_failures (seq, attempt, queue, started_at, ended_at, error)"
    _run(store, "UPDATE rowmq_outcomes SET state = 'dead', started_at = finished_at - 5 WHERE seq % 10 = 0")
    dead = "FROM rowmq_outcomes WHERE state = 'dead' ORDER BY seq"
    _run(store, f"{failures} SELECT seq, 1, 'crowd', 0, finished_at, 'boom' {dead}")
    fill(store, "often", Crowd(waiting=1))
    often = "(SELECT seq FROM rowmq_pending WHERE queue = (SELECT id FROM rowmq_queues WHERE name = 'often'))"
    for count, error in ((OFTEN - LATELY, "old"), (LATELY, "new")):
        _run(store, f"{failures} SELECT {often}, 1, 'often', 0, 1, '{error}' {dead} LIMIT {count}")


def _place_of(it: Monitor, queue: str) -> tuple[int, ...]:
    """Where the list of a queue's failures goes on behind the newest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(monitor, "MOST_LOOKED", LATELY + 1)
        place = it.failed(queue, "o", limit=1, now=T0).place
    assert place is not None
    return place


def _seq_of(it: Monitor, queue: str) -> int:
    return it.page(queue, State.READY, now=T0).records[0].seq


def _run(store: SQLStore, statement: str) -> None:
    with store.database.engine.begin() as connection:
        connection.execute(text(statement))


@contextmanager
def _place(kind: str, server: str, directory: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{directory}/monitor.db"
        return
    with (fresh_postgres_schema if kind == "postgres" else fresh_mysql_database)(server) as url:
        yield url
