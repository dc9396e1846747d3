"""On Redis a page runs no more commands beside many messages than beside few."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rowmq.core import monitor
from rowmq.core.outcome import State
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.client import Client, connect
from rowmq.stores.redis.store import RedisStore
from tests.doors.http.dashboard.visiting import Visitor
from tests.doors.http.serving import serving
from tests.servers import Server

FEW, MANY, BOUND = 200, 2000, 100
STATES = ("ready", "scheduled", "leased", "done", "dead")
SPARE = 1.5
"""How much more there may be where a page is fuller."""


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_COUNTED", "MOST_LOOKED"):
        monkeypatch.setattr(monitor, name, BOUND)


@contextmanager
def served(url: str, count: int) -> Iterator[tuple[Client, Visitor]]:
    """A store with so many messages in a queue, a part of them in each state, and its dashboard."""
    with connect(f"{url}?prefix=of-{count}") as mq:
        queue = mq.queue("crowd", max_attempts=1, lease=3600)
        for message in _claimed(mq, count // 4):
            message.ack()
        for message in _claimed(mq, count // 4):
            message.retry(error="boom")
        _claimed(mq, count // 4)
        queue.push_many(range(count // 4), delay=3600)
        queue.push_many(range(count // 4))
        with serving(mq) as at, Visitor(at) as visitor:
            yield mq, visitor


def _claimed(mq: Client, count: int) -> list[ClaimedMessage]:
    mq.queue("crowd").push_many(range(count))
    found: list[ClaimedMessage] = []
    while len(found) < count:
        found += mq.queue("crowd").claim(limit=min(1000, count - len(found)))
    return found


def ran(mq: Client, visitor: Visitor, path: str) -> int:
    """How many commands the server runs for a page, those in scripts too."""
    before = _calls(mq)
    answer = visitor.http.get(path)
    assert answer.status_code == 200, answer.text
    return (_calls(mq) - before).total()


def _calls(mq: Client) -> Counter[str]:
    assert isinstance(mq.store, RedisStore)
    lines = mq.store.server.ask("INFO", "commandstats").decode().splitlines()
    found = (re.match("cmdstat_([^:]+):calls=([0-9]+)", line) for line in lines)
    return Counter({each[1]: int(each[2]) for each in found if each})


def paths(mq: Client) -> list[str]:
    """The pages that show messages, lists with a search too."""
    assert isinstance(mq.store, RedisStore)
    id = mq.store.monitor.page("crowd", State.DEAD, limit=1).records[0].id
    lists = [f"/ui/queues/crowd/{state}" for state in STATES]
    searched = [f"{path}?where=no%3Dwhere" for path in lists]
    errors = [f"/ui/queues/crowd/failed{query}" for query in ("", "?text=boom", "?text=nothing")]
    return ["/ui", "/ui/queues/crowd", *lists, *searched, *errors, f"/ui/messages/{id}", "/ui/schedules"]


def test_a_page_runs_no_more_commands_beside_many_messages(own_redis: Server) -> None:
    with served(own_redis.url, FEW) as few:
        expected = [ran(*few, path) for path in paths(few[0])]
    with served(own_redis.url, MANY) as many:
        found = {path: ran(*many, path) for path in paths(many[0])}
    grown = {
        path: (count, before)
        for (path, count), before in zip(found.items(), expected, strict=True)
        if count > SPARE * before + 2 * BOUND
    }
    assert grown == {}
    assert max(found.values()) < 6 * BOUND + 100
