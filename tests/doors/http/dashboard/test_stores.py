"""The dashboard on every store: each page, an action of each kind, and how the store is."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from rowmq.doors.http.dashboard import family
from rowmq.doors.http.settings import Settings
from rowmq.runtime.client import Client, connect
from tests.doors.http.dashboard.visiting import Visitor
from tests.doors.http.serving import serving
from tests.servers import fresh_mysql_database, fresh_postgres_schema, fresh_redis_prefix

KINDS = ("sqlite", "postgres", "mysql", "redis")
FRESH = {"postgres": fresh_postgres_schema, "mysql": fresh_mysql_database, "redis": fresh_redis_prefix}
PAGES = sorted({route.path for route in family(Settings()).routes if route.method == "GET"})
OTHERWISE = {"/ui/live", "/ui/login", "/ui/messages/{id}/raw", "/ui/reports/{report}", "/ui/{page}"}
"""What is no page, or none here."""


@contextmanager
def place(kind: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """Where a store of a kind may be."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/jobs.db"
        return
    with FRESH[kind](request.getfixturevalue(f"{kind}_server_url")) as url:
        yield url


@pytest.fixture(params=KINDS)
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    """A store of each kind, with one of everything."""
    with ExitStack() as stack:
        mq = stack.enter_context(connect(stack.enter_context(place(request.param, request, tmp_path))))
        emails = mq.queue("emails", max_attempts=1)
        emails.push_many([{"to": f"user{number}"} for number in range(6)])
        done, failed, *_ = emails.claim(limit=3)
        done.ack()
        failed.retry(error="Traceback (most recent call last)\n  x\nValueError: no address")
        emails.push({"to": "later"}, delay=3600)
        mq.queue("letters")
        mq.topic("news").subscribe("emails")
        mq.schedule("nightly", queue="emails", cron="0 3 * * *", payload={"to": "all"})
        mq.store.consumers.beat("emails", "worker", timedelta(minutes=5))
        yield mq


@pytest.fixture
def guest(filled: Client) -> Iterator[Visitor]:
    """Somebody at its dashboard."""
    with serving(filled) as url, Visitor(url) as visitor:
        yield visitor


def pages(mq: Client) -> list[str]:
    """Every page there is, of every state."""
    id = str(mq.store.history.find("emails").records[0].id)
    found = []
    for path in PAGES:
        if not path.startswith("/ui/assets") and path not in OTHERWISE:
            for state in ("ready", "scheduled", "leased", "done", "dead") if "{state}" in path else ("",):
                names = {"queue": "emails", "id": id, "state": state}
                found.append(re.sub(r"\{(\w+)\}", lambda each: names[each[1]], path))  # noqa: B023 - used now
    return found


def test_every_page_is_shown(filled: Client, guest: Visitor) -> None:
    found = {each: guest.http.get(each) for each in pages(filled)}
    assert len(found) > 12
    assert {each: answer.text for each, answer in found.items() if answer.status_code != 200} == {}
    dead = found["/ui/queues/emails/dead"].text
    assert "ValueError: no address" in dead
    assert "user1" in dead
    assert "&#34;to&#34;" in found["/ui/schedules"].text


def test_searches_find_what_there_is(guest: Visitor) -> None:
    assert "user1" in guest.sees("queues", "emails", "failed", text="NO ADDRESS")
    assert "is like that" in guest.sees("queues", "emails", "failed", text="nothing of this")
    assert "user0" in guest.sees("queues", "emails", "done", since="1h")
    assert "Done messages" in guest.sees("queues", "emails", "done", until="1h")


def test_an_action_of_each_kind_is_done(filled: Client, guest: Visitor) -> None:
    emails = filled.queue("emails")
    assert guest.does("queues", "emails", "redrive") == "redrove 1 message of emails"
    id = next(iter(emails.find(state="ready"))).id
    assert guest.does("messages", id, "kill") == f"killed message {id} of emails"
    assert guest.does("queues", "emails", "pause") == "paused emails"
    assert guest.does("schedules", "nightly", "pause") == "paused schedule nightly"
    assert guest.does("queues", "emails", "unbind", topic="news") == "unbound emails from news"
    waiting = emails.stats()
    said = guest.does("queues", "emails", "purge", state="")
    assert said == f"purged {waiting.ready + waiting.scheduled} waiting messages of emails"


def test_health_says_what_the_store_is(filled: Client, guest: Visitor) -> None:
    page = guest.sees("health")
    health = filled.store.monitor.health()  # type: ignore[attr-defined]
    assert health.database in page
    assert all(f"<code>{name}</code>" in page for name in health.settings)
