"""What a claim and its ack cost does not grow with what else is in the store.

Asserted on counted work, which is the same on every machine, never on time.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest
from sqlalchemy import text

from rowmq.stores import open_store
from rowmq.stores.sql import floors
from rowmq.testing.build import T0
from tests.servers import fresh_mysql_database, fresh_postgres_schema
from tests.stores.crowds import Scene, fill, leave_alone, measure, scenes
from tests.stores.work import counting, meter_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rowmq.stores.sql.store import SQLStore

SCENES = scenes(1)
KINDS = ("sqlite", "postgres", "postgres analyzed", "mysql")


class Pair(NamedTuple):
    """A store with every crowd in it, and one with as little as the comparison needs."""

    crowded: SQLStore
    small: SQLStore


@pytest.fixture(
    scope="module",
    params=[pytest.param(kind, marks=pytest.mark.xdist_group(f"cost {kind}")) for kind in KINDS],
)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    kind, *analyzed = request.param.split()
    server = "" if kind == "sqlite" else request.getfixturevalue(f"{kind}_server_url")
    with ExitStack() as stack:
        urls = [
            stack.enter_context(_place(kind, server, tmp_path_factory.mktemp("cost"))) for _ in Pair._fields
        ]
        stores = Pair(*(cast("SQLStore", open_store(url)) for url in urls))
        for store in stores:
            stack.callback(store.close)
            leave_alone(store)
        for scene in SCENES:
            fill(stores.crowded, scene.name, scene.crowd)
            fill(stores.small, scene.name, scene.small)
        for store in stores if analyzed else ():
            _run(store, "ANALYZE")
        yield stores


@pytest.fixture(autouse=True)
def every_short_claim_looks_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take time out of the ration of looks from the beginning, so that the count is the same each time."""
    monkeypatch.setattr(floors, "SHARE", 0)
    monkeypatch.setattr(floors, "LONGEST", float("inf"))


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_claim_and_its_ack_do_not_notice(pair: Pair, scene: Scene) -> None:
    crowded, small = (measure(store, scene, SCENES.index(scene)) for store in pair)
    unit = meter_of(pair.small).unit
    print(f"{scene.name}: {crowded.work} {unit} for {crowded.messages}, {small.work} for {small.messages}")  # noqa: T201
    assert crowded.messages == small.messages == (scene.due or min(scene.limit, scene.crowd.groups))
    assert crowded.work <= 1.25 * small.work + 20, f"{crowded.work} {unit} instead of {small.work}"


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_claims_of_ten_pay_for_deeper_indexes_only(pair: Pair, scene: Scene) -> None:
    """Each message is looked up in several indexes, and a bigger index is a page or two deeper."""
    tens = scene._replace(due=min(10, 10 * scene.due), limit=10)
    salt, later = 100 + SCENES.index(scene), T0 + timedelta(hours=1)
    crowded, small = (measure(store, tens, salt, start=later) for store in pair)
    assert crowded.messages == small.messages > 0
    assert crowded.work <= 1.25 * small.work + 20 * crowded.messages


def test_work_is_counted(pair: Pair) -> None:
    """Counting everything in a queue is work that grows: a meter that missed it would prove nothing."""
    works = []
    for store in pair:
        with counting(store) as count:
            store.queues.stats("scheduled")
        works.append(count.total)
    assert works[0] > 100 + 10 * works[1]


@contextmanager
def _place(kind: str, server: str, directory: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{directory}/cost.db"
        return
    with (fresh_postgres_schema if kind == "postgres" else fresh_mysql_database)(server) as url:
        yield url


def _run(store: SQLStore, statement: str) -> None:
    with store.database.engine.begin() as connection:
        connection.execute(text(statement))
