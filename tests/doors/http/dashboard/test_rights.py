"""Who may only read changes nothing: asked of every route there is."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from rowmq.core.store import Store
from rowmq.doors.http.dashboard import family
from rowmq.doors.http.settings import Settings
from rowmq.runtime.client import Client
from tests.doors.http.dashboard.visiting import Visitor, csrf_of, known
from tests.doors.http.serving import serving

ROUTES = family(Settings()).routes
POSTS = sorted({route.path for route in ROUTES if route.method == "POST"})
FOR_EVERYBODY = {"/ui/login", "/ui/logout"}
FIELDS = {"to": "other", "queue": "emails", "topic": "news", "payload": "1", "format": "json", "seen": ""}


@pytest.fixture
def busy(mq: Client) -> Client:
    """A store with one of everything."""
    mq.queue("emails").push({"to": "ada"})
    mq.queue("other")
    mq.topic("news").subscribe("emails")
    mq.schedule("nightly", queue="emails", cron="0 3 * * *")
    mq.store.consumers.beat("emails", "worker", timedelta(minutes=5))
    return mq


@pytest.fixture
def reader(busy: Client, tmp_path: Path) -> Iterator[Visitor]:
    """Somebody who may read everything, and no more."""
    with serving(busy, **known(tmp_path, reader={"read": ["*"]})) as url, Visitor(url, "reader") as reader:
        yield reader


def everything(store: Store) -> Any:
    """All that an action could change."""
    found = store.history.find().records
    return store.queues.list(), found, store.topics.bindings(), store.schedules.list()


def address(path: str, store: Store) -> str:
    """A route's path with names of what there is."""
    names = {"queue": "emails", "schedule": "nightly", "topic": "news"}
    names["id"] = str(store.history.find("emails").records[0].id)
    return re.sub(r"\{(\w+)\}", lambda found: names[found[1]], path)


def test_every_action_has_a_route_here() -> None:
    assert len(POSTS) > 15
    assert set(POSTS) >= FOR_EVERYBODY


def test_every_action_of_who_may_only_read_is_refused_and_changes_nothing(
    busy: Client, reader: Visitor
) -> None:
    before = everything(busy.store)
    answers = {}
    for path in POSTS:
        if path not in FOR_EVERYBODY:
            fields = {"csrf": csrf_of("reader"), **FIELDS}
            answers[path] = reader.http.post(address(path, busy.store), data=fields).status_code
    assert {path: status for path, status in answers.items() if status not in (403, 404)} == {}
    assert everything(busy.store) == before


def test_the_same_is_not_refused_to_who_may(busy: Client, tmp_path: Path) -> None:
    """Else the test before would pass for whatever reason they are refused."""
    rights = {"manage": ["*"], "push": ["*"], "read": ["*"]}
    with serving(busy, **known(tmp_path, boss=rights)) as url, Visitor(url, "boss") as boss:
        for path in (each for each in POSTS if each not in FOR_EVERYBODY and not each.endswith("drop")):
            fields = {"csrf": csrf_of("boss"), **FIELDS}
            busy.queue("emails").push(1)
            answer = boss.http.post(address(path, busy.store), data=fields)
            assert answer.status_code in (303, 422), path


def test_nothing_is_changed_by_a_get(busy: Client, reader: Visitor) -> None:
    before = everything(busy.store)
    for path in POSTS:
        assert reader.http.get(address(path, busy.store)).status_code in (200, 303, 404, 405), path
    assert everything(busy.store) == before
