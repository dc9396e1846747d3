"""The page of a queue without a browser: what it shows, who may do what, and what each action does."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from rowmq.core.queue import Rate
from rowmq.core.store import Store
from rowmq.doors.http.dashboard.settings_form import values
from rowmq.runtime.client import Client, connect
from tests.doors.http.dashboard.visiting import Visitor, known, sentence
from tests.doors.http.serving import serving

BUTTONS = ("Pause</summary>", "Redrive</summary>", "Purge</summary>", "Edit</span>", "Bind</summary>")
ACTIONS = ("settings", "pause", "resume", "purge", "redrive", "bind", "unbind")
RIGHTS = {
    "reader": {"read": ["emails"]},
    "manager": {"manage": ["emails", "payments", "news"]},
    "keeper": {"manage": ["emails"]},
    "worker": {"claim": ["emails"], "push": ["emails"]},
}


@pytest.fixture
def emails(mq: Client) -> Client:
    """A queue with messages in every state but done."""
    queue = mq.queue("emails", max_attempts=3)
    queue.push_many([{"to": f"user{number}"} for number in range(5)])
    queue.push({"to": "later"}, delay=3600)
    for message in queue.claim(limit=2):
        message.kill("no such address")
    return mq


@pytest.fixture
def limited(emails: Client, tmp_path: Path) -> Iterator[str]:
    """The same behind tokens."""
    emails.queue("payments")
    with serving(emails, **known(tmp_path, **RIGHTS)) as url:
        yield url


def state(store: Store) -> Any:
    """Everything that an action on a queue could change."""
    return (
        store.queues.list(),
        store.queues.stats("emails")[:5],
        store.topics.bindings(),
        store.schedules.list(),
    )


def test_the_page_says_how_the_queue_stands(emails: Client, visitor: Visitor) -> None:
    page = visitor.sees("queues", "emails")
    for id, count in (("ready", 3), ("scheduled", 1), ("leased", 0), ("dead", 2)):
        assert f'-{id}">{count}</span>' in page, id
    assert all(f">{each}" in page for each in BUTTONS)


def test_the_page_says_what_belongs_to_the_queue(emails: Client, visitor: Visitor) -> None:
    emails.store.consumers.beat("emails", "worker-1", timedelta(minutes=5))
    emails.store.topics.bind("news", "emails")
    emails.schedule("nightly", queue="emails", cron="0 3 * * *")
    emails.queue("source", dead_letter="emails")
    page = visitor.sees("queues", "emails")
    for name in ("worker-1", "news", "nightly", "0 3 * * *, UTC"):
        assert f'<bdi class="name">{name}</bdi>' in page, name
    assert 'Dead letters of <a class="name" href="/ui/queues/source">' in page


def test_what_belongs_to_others_is_not_shown(emails: Client, visitor: Visitor) -> None:
    emails.queue("payments")
    emails.store.consumers.beat("payments", "worker-2", timedelta(minutes=5))
    emails.store.topics.bind("sport", "payments")
    emails.schedule("hourly", queue="payments", cron="0 * * * *")
    page = visitor.sees("queues", "emails")
    assert not [name for name in ("worker-2", "sport", "hourly") if name in page]


def test_charts_go_back_an_hour_or_a_day(emails: Client, visitor: Visitor) -> None:
    hour, day = visitor.sees("queues", "emails"), visitor.sees("queues", "emails", reach="day")
    assert "Throughput, a minute" in hour
    assert "Throughput, a quarter of an hour" in day
    assert visitor.gets("queues", "emails", reach="century").status_code == 400


def test_a_queue_that_is_not_there_is_not_found(visitor: Visitor) -> None:
    answer = visitor.gets("queues", "nothing")
    assert answer.status_code == 404
    assert "there is no queue 'nothing'" in sentence(answer)


# Settings.


def test_edited_settings_are_changed_and_said(emails: Client, visitor: Visitor) -> None:
    said = visitor.does(
        "queues", "emails", "settings", lease="2m", rate="100/s", first="5s", tags="team=mail"
    )
    assert said == "changed lease, rate, tags, backoff of emails"
    queue = emails.store.queues.get("emails")
    assert queue is not None
    assert (queue.lease, queue.rate) == (timedelta(minutes=2), Rate(100, timedelta(seconds=1)))
    assert (queue.backoff.first, queue.tags) == (timedelta(seconds=5), {"team": "mail"})
    assert queue.max_attempts == 3


def test_a_wrong_setting_is_said_beside_its_field_and_nothing_is_changed(
    emails: Client, visitor: Visitor
) -> None:
    before = state(emails.store)
    heard = visitor.hears("queues", "emails", "settings", lease="soon", max_attempts="7", delay="-1")
    assert set(heard) == {"setting-lease", "setting-delay"}
    assert heard["setting-lease"].startswith("'soon' is not a span of time; write seconds, or 500ms")
    assert state(emails.store) == before


def test_a_form_that_was_wrong_keeps_what_was_typed(emails: Client, visitor: Visitor) -> None:
    visitor.sees("queues", "emails")
    page = visitor.sends("queues", "emails", "settings", lease="soon", max_attempts="7").text
    assert 'name="lease" value="soon"' in page
    assert 'name="max_attempts" value="7"' in page
    assert '<details class="edit" open>' in page


@pytest.mark.parametrize(
    ("letters", "why"),
    [
        ("nowhere", "there is no queue 'nowhere'"),
        ("emails", "cannot be its own"),
        ("back", "would come back to it"),
    ],
)
def test_a_dead_letter_queue_that_cannot_be_is_said_beside_its_field(
    emails: Client, visitor: Visitor, letters: str, why: str
) -> None:
    emails.queue("back", dead_letter="emails")
    assert why in visitor.hears("queues", "emails", "settings", dead_letter=letters)["setting-dead_letter"]
    assert emails.queue("emails").settings().dead_letter is None


def test_two_who_edit_different_settings_do_not_undo_each_other(emails: Client, visitor: Visitor) -> None:
    shown = values(emails.queue("emails").settings())
    was = visitor.sees("queues", "emails").partition('name="was" value="')[2].partition('"')[0]
    emails.store.queues.put("emails", {"delay": timedelta(seconds=9)})
    visitor.does("queues", "emails", "settings", **{**shown, "lease": "1m"}, was=was.replace("&#34;", '"'))
    queue = emails.queue("emails").settings()
    assert (queue.delay, queue.lease) == (timedelta(seconds=9), timedelta(minutes=1))


def test_a_form_without_an_edit_says_that(emails: Client, visitor: Visitor) -> None:
    assert visitor.does("queues", "emails", "settings") == "nothing was edited: emails is as it was"


def test_a_server_that_passes_everything_on_says_where_to_look(emails: Client, url: str) -> None:
    with connect(url) as remote, serving(remote) as other, Visitor(other) as visitor:
        answer = visitor.gets("queues", "emails")
    assert answer.status_code == 501
    assert "open the dashboard of that one" in sentence(answer)


# Actions.


def test_a_queue_is_paused_and_resumed(emails: Client, visitor: Visitor) -> None:
    assert visitor.does("queues", "emails", "pause") == "paused emails"
    assert emails.queue("emails").claim() == []
    assert ">Resume</summary>" in visitor.sees("queues", "emails")
    assert visitor.does("queues", "emails", "pause") == "emails was paused already"
    assert visitor.does("queues", "emails", "resume") == "resumed emails"
    assert visitor.does("queues", "emails", "resume") == "emails was not paused"
    assert len(emails.queue("emails").claim()) == 1


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ("", "purged 4 waiting messages of emails"),
        ("ready", "purged 3 ready messages of emails"),
        ("scheduled", "purged 1 scheduled message of emails"),
        ("dead", "purged 2 dead messages of emails"),
        ("done", "purged 0 done messages of emails"),
    ],
)
def test_a_purge_deletes_what_was_chosen_and_says_how_many(
    emails: Client, visitor: Visitor, chosen: str, said: str
) -> None:
    assert visitor.does("queues", "emails", "purge", state=chosen) == said
    left = emails.queue("emails").stats()
    assert left.ready == (0 if chosen in ("", "ready") else 3)
    assert left.dead == (0 if chosen == "dead" else 2)


def test_the_confirmation_of_a_purge_has_the_counts(emails: Client, visitor: Visitor) -> None:
    page = visitor.sees("queues", "emails")
    assert "waiting, that is ready and scheduled: 4</option>" in page
    assert "dead: 2</option>" in page


def test_a_purge_may_spare_what_was_pushed_lately(emails: Client, visitor: Visitor) -> None:
    assert visitor.does("queues", "emails", "purge", before="1h") == "purged 0 waiting messages of emails"
    assert visitor.does("queues", "emails", "purge", before="0s").startswith("purged 4")


@pytest.mark.parametrize(
    ("field", "said", "why"),
    [
        ("before", "once", "'once' is not a time; write 2026-05-01 09:00, or 2h for two hours ago"),
        ("state", "lost", "a state is one of ready, scheduled, leased, done, dead, not 'lost'"),
    ],
)
def test_a_purge_that_makes_no_sense_deletes_nothing(
    emails: Client, visitor: Visitor, field: str, said: str, why: str
) -> None:
    before = state(emails.store)
    assert visitor.hears("queues", "emails", "purge", **{field: said}) == {f"purge-{field}": why}
    assert state(emails.store) == before


def test_dead_messages_are_redriven_home_or_elsewhere(emails: Client, visitor: Visitor) -> None:
    emails.queue("payments")
    assert visitor.does("queues", "emails", "redrive", limit="1") == "redrove 1 message of emails"
    assert (
        visitor.does("queues", "emails", "redrive", to="payments")
        == "redrove 1 message of emails to payments"
    )
    assert (emails.queue("emails").stats().ready, emails.queue("payments").stats().ready) == (4, 1)
    assert visitor.does("queues", "emails", "redrive") == "redrove 0 messages of emails"


def test_a_redrive_that_makes_no_sense_does_nothing(emails: Client, visitor: Visitor) -> None:
    before = state(emails.store)
    heard = visitor.hears("queues", "emails", "redrive", to="nowhere")
    assert heard == {"redrive-to": "there is no queue 'nowhere'; create it first"}
    heard = visitor.hears("queues", "emails", "redrive", limit="all")
    assert heard["redrive-limit"].startswith("'all' is not a whole number")
    assert state(emails.store) == before


def test_a_queue_is_bound_to_a_topic_and_unbound(emails: Client, visitor: Visitor) -> None:
    assert visitor.does("queues", "emails", "bind", topic="news") == "bound emails to news"
    assert visitor.does("queues", "emails", "bind", topic="news") == "emails was bound to news already"
    assert emails.store.topics.bindings() == [("news", "emails")]
    assert visitor.does("queues", "emails", "unbind", topic="news") == "unbound emails from news"
    assert visitor.does("queues", "emails", "unbind", topic="news") == "emails was not bound to news"
    assert "a topic name has 1 to 255" in visitor.hears("queues", "emails", "bind", topic=" ")["bind-topic"]


@pytest.mark.parametrize("name", ["a/b", "..", ".", "~x", "ü 日本", "a?b#c&d=e%20", "x" * 255, "\"'<>"])
def test_whatever_a_queue_is_called_its_page_and_its_actions_work(
    mq: Client, visitor: Visitor, name: str
) -> None:
    mq.queue(name).push(1)
    visitor.sees("queues", name)
    visitor.sees("queues", name, "ready")
    assert visitor.does("queues", name, "purge").startswith("purged 1 waiting message of ")
    assert mq.queue(name).stats().ready == 0


def test_an_action_on_a_queue_that_is_not_there_makes_none(visitor: Visitor) -> None:
    visitor.gets("queues", "nothing")
    for action in ACTIONS:
        assert visitor.sends("queues", "nothing", action, topic="news").status_code in (403, 404)


# Who may.


def test_who_may_only_read_sees_the_page_and_no_button(limited: str) -> None:
    with Visitor(limited, "reader") as reader:
        page = reader.sees("queues", "emails")
    assert "3</span>" in page
    assert not [each for each in BUTTONS if f">{each}" in page]
    assert 'method="post"' not in page


def test_who_does_not_manage_a_queue_changes_nothing(emails: Client, limited: str) -> None:
    before = state(emails.store)
    for name, action in product(("reader", "worker"), ACTIONS):
        with Visitor(limited, name) as visitor:
            answer = visitor.sends("queues", "emails", action, topic="news", lease="1m")
        assert answer.status_code == 403, (name, action)
        assert "this token has no right to do that" in sentence(answer)
    assert state(emails.store) == before


@pytest.mark.parametrize("path", [("emails",), ("emails", "dead"), ("emails", "failed"), ("nothing",)])
def test_for_who_may_not_read_a_queue_it_is_as_if_there_were_none(
    limited: str, path: tuple[str, ...]
) -> None:
    with Visitor(limited, "worker") as worker:
        answer = worker.gets("queues", *path)
    assert answer.status_code == 403
    assert "user1" not in answer.text


def test_who_manages_one_queue_cannot_reach_another_through_it(emails: Client, limited: str) -> None:
    before = state(emails.store)
    with Visitor(limited, "keeper") as keeper:
        keeper.sees("queues", "emails")
        for action, fields in (
            ("redrive", {"to": "payments"}),
            ("bind", {"topic": "news"}),
            ("unbind", {"topic": "news"}),
            ("settings", {"dead_letter": "payments"}),
        ):
            answer = keeper.sends("queues", "emails", action, **fields)
            assert answer.status_code == 403, action
    assert state(emails.store) == before
    with Visitor(limited, "manager") as manager:
        assert manager.does("queues", "emails", "redrive", to="payments").endswith("to payments")


def test_names_of_queues_and_topics_that_he_may_not_read_are_not_on_the_page(
    emails: Client, limited: str
) -> None:
    emails.store.topics.bind("news", "emails")
    emails.queue("feeder", dead_letter="emails")
    with Visitor(limited, "reader") as reader:
        page = reader.sees("queues", "emails")
    assert not [name for name in ("news", "feeder", "payments") if name in page]


# Forms that are not ours.


def test_a_form_without_the_right_mark_changes_nothing(emails: Client, visitor: Visitor) -> None:
    before = state(emails.store)
    for action, csrf in product(ACTIONS, (None, "", "x", "wrong" * 20, "ü")):
        data = {"topic": "news", "lease": "1m", **({} if csrf is None else {"csrf": csrf})}
        answer = visitor.http.post(f"/ui/queues/emails/{action}", data=data)
        assert answer.status_code == 403, (action, csrf)
        assert "this form is not one of ours" in sentence(answer)
    assert state(emails.store) == before


def test_the_mark_of_another_token_does_not_count(emails: Client, limited: str) -> None:
    with Visitor(limited, "manager") as manager, Visitor(limited, "keeper") as keeper:
        keeper.sees("queues", "emails")
        manager.csrf = keeper.csrf
        assert manager.sends("queues", "emails", "pause").status_code == 403
    assert not emails.queue("emails").settings().paused


def test_a_form_from_a_page_elsewhere_changes_nothing(emails: Client, visitor: Visitor) -> None:
    visitor.sees("queues", "emails")
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        answer = visitor.http.post("/ui/queues/emails/purge", data={"csrf": visitor.csrf}, headers=headers)
        assert answer.status_code == 403
    assert emails.queue("emails").stats().ready == 3


def test_no_get_changes_anything(emails: Client, visitor: Visitor) -> None:
    before = state(emails.store)
    for action in ACTIONS:
        answer = visitor.gets("queues", "emails", action, topic="news", lease="1m", csrf=visitor.csrf)
        assert answer.status_code in (404, 405), action
    for page in ("", "ready", "scheduled", "leased", "done", "dead", "failed"):
        visitor.sees(*("queues", "emails", page)[: 3 if page else 2], paused="yes", state="dead")
    assert state(emails.store) == before


def test_pages_of_a_queue_have_the_strict_policy(emails: Client, visitor: Visitor) -> None:
    for path in (("emails",), ("emails", "ready"), ("nothing",)):
        headers = visitor.gets("queues", *path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
