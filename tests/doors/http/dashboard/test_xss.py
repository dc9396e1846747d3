"""Hostile text in all that can be shown, without a browser: a page has our elements and no others."""

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from rowmq.doors.http.dashboard.words import visible
from rowmq.runtime.client import Client, connect
from tests.doors.http.dashboard.hostile import NAMES, TEXTS, fill
from tests.doors.http.dashboard.visiting import Visitor
from tests.doors.http.serving import serving

LEADS = frozenset({"href", "src", "action", "formaction", "data"})
STATES = ("ready", "scheduled", "leased", "done", "dead", "failed")


class Elements(HTMLParser):
    """What a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: set[str] = set()
        self.scripts: list[str] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element."""
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses |= {value or "" for name, value in attrs if name in LEADS}
        self.scripts += [dict(attrs).get("src") or "inline"] if tag == "script" else []

    def handle_data(self, data: str) -> None:
        """Text."""
        self.text.append(data)


@pytest.fixture(scope="module")
def hostile() -> Iterator[Client]:
    """A store in which every text is hostile."""
    with connect("memory://") as mq:
        fill(mq)
        yield mq


@pytest.fixture(scope="module")
def look(hostile: Client) -> Iterator[Visitor]:
    """Somebody who looks at it."""
    with serving(hostile) as url, Visitor(url) as visitor:
        yield visitor


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    """What pages are made of in a store in which nothing is hostile."""
    with connect("memory://") as mq:
        fill(mq, [f"plain {number}" for number in range(9)])
        with serving(mq) as url, Visitor(url) as visitor:
            found = [Elements(page) for page in pages(visitor, mq, "plain 0")]
    tags = {tag for each in found for tag in each.tags}
    attributes = {name for each in found for name in each.attributes}
    return {"tags": tags, "attributes": attributes | {"aria-invalid", "autofocus"}}


def pages(visitor: Visitor, mq: Client, name: str) -> Iterator[str]:
    """Every page on which a queue of this name, or what is in it, is shown."""
    for queue in (name, "victim", "controls"):
        yield visitor.sees("queues", queue)
        for state in STATES:
            yield visitor.sees("queues", queue, state)
    for queue in (name, "controls"):
        for record in mq.store.history.find(queue, limit=20).records:
            yield visitor.sees("messages", record.id)


def check(page: str, ours: dict[str, Any]) -> Elements:
    """The page is made of our elements and attributes alone, and leads nowhere else."""
    found = Elements(page)
    assert found.tags <= ours["tags"]
    assert found.attributes <= ours["attributes"]
    assert not [each for each in found.addresses if each[:1] not in ("/", "#", "")]
    assert [each.partition("?")[0] for each in found.scripts] == ["/ui/assets/dashboard.js"]
    return found


def test_there_are_many_hostile_texts_and_they_are_told_from_ours(ours: dict[str, Any]) -> None:
    assert len(set(NAMES)) == len(TEXTS) >= 50
    with pytest.raises(AssertionError):
        check("<p><img src=x onerror=1></p>", ours)
    assert not [name for name in ours["attributes"] if name.startswith("on") or name in ("style", "srcdoc")]


def test_pages_of_hostile_queues_are_made_of_our_elements(
    hostile: Client, look: Visitor, ours: dict[str, Any]
) -> None:
    for name in NAMES:
        found = check(look.sees("queues", name), ours)
        assert visible(name) in found.text
        check(look.sees("queues", name, "dead"), ours)


def test_pages_of_hostile_messages_are_made_of_our_elements(
    hostile: Client, look: Visitor, ours: dict[str, Any]
) -> None:
    for name in (*NAMES, "controls", "victim"):
        for record in hostile.store.history.find(name, limit=10).records:
            check(look.sees("messages", record.id), ours)


def test_everything_hostile_that_belongs_to_a_queue_is_text(look: Visitor, ours: dict[str, Any]) -> None:
    found = check(look.sees("queues", "victim"), ours)
    shown = [name for name in NAMES if visible(name) in found.text]
    assert len(shown) >= 50
    for state in STATES:
        check(look.sees("queues", "victim", state), ours)


def test_what_is_hostile_and_sent_comes_back_as_text(look: Visitor, ours: dict[str, Any]) -> None:
    record = look.sees("queues", "controls", "dead").partition('href="/ui/messages/')[2][:36]
    for text in TEXTS[::3]:
        for path, fields in (
            (("queues", "controls", "settings"), {"lease": text, "tags": text, "dead_letter": text}),
            (("queues", "controls", "purge"), {"before": text, "state": text}),
            (("queues", "controls", "redrive"), {"to": f"no {text}"[:255], "limit": text}),
            (("messages", record, "copy"), {"queue": text, "format": text, "payload": text, "delay": text}),
            (("messages", record, "move"), {"to": f"no {text}"[:255]}),
        ):
            answer = look.sends(*path, **fields)
            assert answer.status_code == 422, (path, text)
            check(answer.text, ours)


def test_the_raw_bytes_of_a_hostile_payload_are_nothing_that_a_browser_shows(
    hostile: Client, look: Visitor
) -> None:
    for record in hostile.store.history.find("victim", limit=20).records:
        answer = look.gets("messages", record.id, "raw")
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment; ")
        assert answer.headers["x-content-type-options"] == "nosniff"
