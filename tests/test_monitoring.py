"""What docs/monitoring watches is there, and its SQL tells what the store tells."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from sqlalchemy import text

from rowmq.doors.http import measuring
from rowmq.runtime import metrics
from rowmq.runtime.client import Client, connect
from rowmq.stores.sql.store import SQLStore

FOLDER = Path(__file__).parent.parent / "docs/monitoring"
KNOWN = {f"rowmq_{each.name}": each for each in (*metrics.METRICS, *measuring.METRICS)}
LABELS = {"le"}
"""What every histogram has beside its own."""
QUERIES = ("depth", "oldest_age", "dead", "finished", "silent")


def board(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / name).read_text())
    return found


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def expressions() -> Iterator[str]:
    """Everything that asks Prometheus."""
    yield from (each["expr"] for each in rules())
    made = board("dashboard.json")
    yield from (each["expr"] for panel in made["panels"] for each in panel["targets"])
    yield from (each["query"]["query"] for each in made["templating"]["list"] if each["name"] == "queue")


def metric(name: str) -> Any:
    """The metric that a series is of; a histogram has several."""
    found = KNOWN.get(name)
    if found is None:
        found = KNOWN[re.sub("_(bucket|sum|count)$", "", name)]
        assert found.type == "histogram", name
    return found


@pytest.mark.parametrize("expression", list(expressions()))
def test_every_metric_and_every_label_asked_for_exists(expression: str) -> None:
    names = re.findall(r"\browmq_\w+", expression)
    assert names
    labels = LABELS.union(*(metric(name).labels for name in names))
    chosen = re.findall(r"(\w+)=~?\"", expression)
    grouped = [
        each.strip()
        for group in re.findall(r"(?:by|on) \(([^)]*)\)", expression)
        for each in group.split(",")
    ]
    assert {each for each in (*chosen, *grouped) if each} <= labels


def test_a_name_that_does_not_exist_would_be_found() -> None:
    with pytest.raises(KeyError):
        metric("rowmq_depths")
    with pytest.raises(AssertionError):
        metric("rowmq_depth_bucket")


def test_depth_emptiness_age_and_death_have_an_alert() -> None:
    names = {each["alert"] for each in rules()}
    assert {"RowMQDepth", "RowMQEmpty", "RowMQOldestAge", "RowMQDead"} <= names
    assert all(each["annotations"].keys() == {"summary", "description"} for each in rules())


def test_every_metric_is_on_the_dashboard_or_of_no_use_there() -> None:
    shown = {metric(name).name for each in expressions() for name in re.findall(r"\browmq_\w+", each)}
    left_out = {"pushed_total", "claimed_total", "lost_leases_total"}
    assert shown | left_out == {each.name for each in KNOWN.values()}


@pytest.mark.parametrize("name", ["dashboard.json", "dashboard-postgresql.json"])
def test_no_two_panels_of_a_dashboard_share_a_place_or_an_id(name: str) -> None:
    panels = board(name)["panels"]
    assert len({each["id"] for each in panels}) == len(panels)
    places = [
        (x, y)
        for each in (panel["gridPos"] for panel in panels)
        for x in range(each["x"], each["x"] + each["w"])
        for y in range(each["y"], each["y"] + each["h"])
    ]
    assert len(set(places)) == len(places)


# ---- by SQL alone ------------------------------------------------------------------------------------------


def queries(dialect: str) -> dict[str, str]:
    written = (FOLDER / f"{dialect}.sql").read_text()
    return dict(re.findall(r"^-- name: (\w+)\n(?:--[^\n]*\n)+(SELECT[^;]*;)", written, re.MULTILINE))


@pytest.fixture(params=["sqlite", "postgresql", "mysql"])
def mq(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    """A store with some messages in every state, in two queues."""
    url = f"sqlite:///{tmp_path / 'rowmq.db'}"
    if request.param != "sqlite":
        url = request.getfixturevalue({"postgresql": "postgres_url", "mysql": "mysql_url"}[request.param])
    with connect(url) as client:
        orders = client.queue("orders ä")
        client.queue("empty")
        client.topic("nobody").publish("kept in a queue that is not shown")
        orders.push_many(range(6))
        orders.push("later", delay=600)
        done, dead, _held = orders.claim(limit=3)
        done.ack()
        dead.kill("no")
        yield client


def rows(mq: Client, name: str) -> list[dict[str, Any]]:
    dialect = mq.url.partition(":")[0].partition("+")[0]
    statement = queries({"postgres": "postgresql", "mariadb": "mysql"}.get(dialect, dialect))[name]
    with closing(cast("SQLStore", mq.store).database.engine.connect()) as connection:
        return [dict(row) for row in connection.execute(text(statement.rstrip(";"))).mappings()]


def test_each_dialect_has_the_same_queries() -> None:
    assert [tuple(queries(each)) for each in ("sqlite", "postgresql", "mysql")] == [QUERIES] * 3


def test_sql_tells_the_depth_as_the_store_does(mq: Client) -> None:
    stats = mq.queue("orders ä").stats()
    assert rows(mq, "depth") == [
        {"queue": "empty", "ready": 0, "scheduled": 0, "leased": 0},
        {"queue": "orders ä", "ready": stats.ready, "scheduled": stats.scheduled, "leased": stats.leased},
    ]
    assert (stats.ready, stats.scheduled, stats.leased) == (3, 1, 1)


def test_sql_tells_the_age_of_the_oldest_as_the_store_does(mq: Client) -> None:
    age = mq.queue("orders ä").stats().oldest_age
    found = {each["queue"]: float(each["seconds"]) for each in rows(mq, "oldest_age")}
    assert age is not None
    assert found["empty"] == 0
    rounded = 0.001  # SQL's own clock on SQLite tells milliseconds
    assert age.total_seconds() - rounded <= found["orders ä"] < age.total_seconds() + 30


def test_sql_tells_who_is_dead_and_what_was_finished(mq: Client) -> None:
    assert rows(mq, "dead") == [
        {"queue": "empty", "dead": 0, "lately": 0},
        {"queue": "orders ä", "dead": 1, "lately": 1},
    ]
    finished = {(each["queue"], each["state"]): each["finished"] for each in rows(mq, "finished")}
    assert finished == {("orders ä", "dead"): 1, ("orders ä", "done"): 1}


def test_sql_tells_when_something_came_last(mq: Client) -> None:
    found = {each["queue"]: float(each["seconds"]) for each in rows(mq, "silent")}
    assert found.keys() == {"orders ä"}
    assert 0 <= found["orders ä"] < 30


def test_the_dashboard_by_sql_asks_what_the_file_asks() -> None:
    asked = [
        each["rawSql"] for panel in board("dashboard-postgresql.json")["panels"] for each in panel["targets"]
    ]
    assert sorted(asked) == sorted(queries("postgresql").values())
