"""Consumers, topics and schedules: what is listed for whom, and what can be done with them."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from rowmq.core.history import Schedule
from rowmq.core.message import Message
from rowmq.core.monitor import Plan
from rowmq.doors.http.dashboard import consumers, schedules
from rowmq.runtime.client import Client
from tests.doors.http.dashboard.visiting import Visitor, known, sentence
from tests.doors.http.serving import serving


def rows(page: str) -> list[str]:
    """The heads of a table's rows, as text."""
    found = re.findall(r'<th scope="row">(.*?)</th>', page, re.DOTALL)
    return [re.sub(r"<[^>]+>", "", each).strip() for each in found]


@pytest.fixture
def nightly(mq: Client) -> Client:
    """A store with a schedule."""
    queue = mq.queue("reports").name
    mq.schedule("nightly", queue=queue, cron="0 3 * * *", timezone="Europe/Berlin", payload={"kind": "all"})
    return mq


def test_consumers_alive_are_listed_with_their_queues(mq: Client, visitor: Visitor) -> None:
    assert "Nobody is consuming now" in visitor.sees("consumers")
    for name in ("ada", "bob"):
        mq.store.consumers.beat(mq.queue(f"{name}'s").name, name, timedelta(minutes=5))
    page = visitor.sees("consumers")
    assert rows(page) == ["ada", "bob"]
    assert '<a class="name" href="/ui/queues/ada%27s">' in page
    assert "2 alive" in page
    assert rows(visitor.sees("consumers", q="BOB")) == ["bob"]
    assert "has that in its name" in visitor.sees("consumers", q="eve")


def test_of_many_consumers_the_first_are_listed_and_that_is_said(
    mq: Client, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "MOST", 2)
    mq.queue("emails")
    for number in range(5):
        mq.store.consumers.beat("emails", f"worker {number}", timedelta(minutes=5))
    page = visitor.sees("consumers")
    assert rows(page) == ["worker 0", "worker 1"]
    assert "The first 2 of 5" in page


def test_topics_are_listed_with_the_queues_bound_to_them(mq: Client, visitor: Visitor) -> None:
    assert "No queue is bound to a topic" in visitor.sees("topics")
    for topic, queue in (("order", "audit"), ("order", "orders"), ("user", "emails")):
        mq.topic(topic).subscribe(mq.queue(queue).name)
    page = visitor.sees("topics")
    assert rows(page) == ["order", "user"]
    assert [each in page for each in ("/ui/queues/audit", "/ui/queues/orders")] == [True, True]
    assert rows(visitor.sees("topics", q="EMAIL")) == ["user"]


def test_a_queue_is_unbound_from_the_page_of_topics(mq: Client, visitor: Visitor) -> None:
    mq.topic("order").subscribe(mq.queue("orders").name)
    page = visitor.sees("topics")
    assert 'action="/ui/queues/orders/unbind"' in page
    assert 'name="topic" value="order"' in page
    said = visitor.does("queues", "orders", "unbind", topic="order")
    assert "order" in said
    assert mq.store.topics.bindings() == []


def test_who_may_not_read_a_queue_learns_only_that_one_more_is_bound(mq: Client, tmp_path: Path) -> None:
    for queue in ("orders", "hidden"):
        mq.topic("order").subscribe(mq.queue(queue).name)
    mq.topic("salaries").subscribe("orders")
    tokens = known(tmp_path, ada={"read": ["order", "orders"]})
    with serving(mq, **tokens) as url, Visitor(url, "ada") as ada:
        page = ada.sees("topics")
    assert rows(page) == ["order"]
    assert "1 that you may not see" in page
    assert "hidden" not in page.replace("hidden>", "")
    assert "Unbind" not in page


def test_a_schedule_is_shown_with_its_rule_its_next_tick_and_its_message(
    nightly: Client, visitor: Visitor
) -> None:
    nightly.schedule("often", queue="reports", every=90)
    page = visitor.sees("schedules")
    assert rows(page) == ["nightly", "often"]
    assert "<code>0 3 * * * Europe/Berlin</code>" in page
    assert "<code>every 1 min 30 s</code>" in page
    assert "<code>{&#34;kind&#34;: &#34;all&#34;}</code>" in page.replace("&#34;:&#34;", "&#34;: &#34;")
    assert f"{nightly.schedules()[0].next_at:%Y-%m-%d %H:%M:%S}" in page
    assert rows(visitor.sees("schedules", q="OFT")) == ["often"]


def test_a_schedule_of_another_scheduler_is_shown_as_it_is(mq: Client, visitor: Visitor) -> None:
    message = Message(id=uuid4(), body=b"\xff\x00" * 700, binary=True)
    mq.queue("reports")
    mq.store.schedules.put(
        Schedule(name="moon", queue="reports", spec="by <moon>", message=message, next_at=mq.store.now())
    )
    page = visitor.sees("schedules")
    assert "by &lt;moon&gt;" in page
    assert "1,400 bytes" in page


def test_a_long_message_of_a_schedule_is_cut() -> None:
    def of(body: bytes) -> str:
        return schedules.excerpt(
            Plan(
                name="a",
                queue="b",
                spec="",
                next_at=datetime.now(UTC),
                paused=False,
                body=body,
                binary=False,
                size=len(body),
            )
        )

    assert of(b'"' + b"x" * 500 + b'"') == '"' + "x" * 119 + "…"
    assert of(b'"short"') == '"short"'


def test_a_schedule_is_paused_and_resumed(nightly: Client, visitor: Visitor) -> None:
    visitor.gets("schedules")
    assert visitor.does("schedules", "nightly", "pause") == "paused schedule nightly"
    assert nightly.schedules()[0].paused
    assert "not while paused" in visitor.sees("schedules")
    said = visitor.does("schedules", "nightly", "resume")
    next_at = nightly.schedules()[0].next_at
    assert said == f"resumed schedule nightly: it fires next at {next_at:%Y-%m-%d %H:%M:%S} UTC"
    assert not nightly.schedules()[0].paused


def test_a_schedule_is_deleted(nightly: Client, visitor: Visitor) -> None:
    visitor.gets("schedules")
    assert visitor.does("schedules", "nightly", "drop") == "deleted schedule nightly"
    assert nightly.schedules() == []


def test_a_schedule_s_message_is_pushed_at_once_as_often_as_one_likes(
    nightly: Client, visitor: Visitor
) -> None:
    before = nightly.schedules()
    visitor.gets("schedules")
    for _ in range(2):
        said = visitor.does("schedules", "nightly", "push")
        assert said.startswith("pushed the message of schedule nightly to reports, as ")
    assert [each.payload for each in nightly.queue("reports").claim(limit=9)] == [{"kind": "all"}] * 2
    assert nightly.schedules() == before


def test_an_action_on_a_schedule_that_is_gone_says_so(nightly: Client, visitor: Visitor) -> None:
    visitor.gets("schedules")
    nightly.drop_schedule("nightly")
    for action in ("pause", "resume", "drop", "push"):
        answer = visitor.sends("schedules", "nightly", action)
        assert answer.status_code == 404
        assert "nightly" in sentence(answer)


RIGHTS = {
    "reader": {"read": ["reports"]},
    "pusher": {"read": ["reports"], "push": ["reports"]},
    "manager": {"manage": ["reports"]},
    "other": {"read": ["emails"], "manage": ["emails"], "push": ["emails"]},
}


@pytest.mark.parametrize(
    ("who", "may"),
    [("reader", ()), ("pusher", ("push",)), ("manager", ("pause", "resume", "drop")), ("other", ())],
)
def test_a_schedule_is_acted_on_only_by_who_has_the_right_on_its_queue(
    nightly: Client, tmp_path: Path, who: str, may: tuple[str, ...]
) -> None:
    with serving(nightly, **known(tmp_path, **RIGHTS)) as url, Visitor(url, who) as visitor:
        page = visitor.sees("schedules")
        assert rows(page) == ([] if who == "other" else ["nightly"])
        offered = set(re.findall(r'action="/ui/schedules/nightly/(\w+)"', page))
        assert offered == set(may) - {"resume"}
        before = nightly.schedules()
        for action in ("pause", "resume", "push", "drop"):
            answer = visitor.sends("schedules", "nightly", action)
            assert answer.status_code == (303 if action in may else 403), action
        assert may or nightly.schedules() == before
        nowhere = visitor.sends("schedules", "nowhere", "drop")
        assert nowhere.status_code == 403


def test_what_is_about_all_queues_is_for_who_may_read_them_all(mq: Client, tmp_path: Path) -> None:
    tokens = known(tmp_path, one={"read": ["reports"]}, all={"read": ["*"]})
    with serving(mq, **tokens) as url, Visitor(url, "one") as one, Visitor(url, "all") as all_:
        for page in ("archives", "health"):
            assert one.gets(page).status_code == 403
            assert f'href="/ui/{page}"' not in one.sees("consumers")
            assert all_.gets(page).status_code == 200
            assert f'href="/ui/{page}"' in all_.sees("consumers")
        assert one.http.get("/ui/reports/today").status_code == 403


def test_consumers_of_queues_that_one_may_not_read_are_not_listed(mq: Client, tmp_path: Path) -> None:
    for name in ("mine", "theirs"):
        mq.store.consumers.beat(mq.queue(name).name, f"works on {name}", timedelta(minutes=5))
    with (
        serving(mq, **known(tmp_path, ada={"read": ["mine"]})) as url,
        Visitor(url, "ada") as ada,
    ):
        page = ada.sees("consumers")
    assert rows(page) == ["works on mine"]
    assert "theirs" not in page
