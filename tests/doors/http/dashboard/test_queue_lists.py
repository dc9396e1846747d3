"""Lists of a queue's messages without a browser: by state, page by page, and searched."""

import html
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rowmq.core import monitor
from rowmq.core.delivery import Want
from rowmq.doors.http.dashboard import listing
from rowmq.runtime.client import Client
from tests.doors.http.dashboard.visiting import Visitor, beside, known, sentence
from tests.doors.http.serving import serving

_ID = re.compile(r'class="mono" href="/ui/messages/([0-9a-f-]{36})"')
_NEXT = re.compile(r'href="([^"]+)" rel="next"')


def ids(page: str) -> list[str]:
    """The messages on a page of a list."""
    return _ID.findall(page)


def following(page: str) -> str | None:
    """Where the next page is."""
    found = _NEXT.search(page)
    return None if found is None else html.unescape(found[1])


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of three messages."""
    monkeypatch.setattr(listing, "PAGE", 3)


def test_each_state_has_its_list(mq: Client, visitor: Visitor) -> None:
    queue = mq.queue("emails")
    made = [queue.push(number) for number in range(4)]
    later = queue.push("later", delay=3600)
    done, dead, held = queue.claim(limit=3)
    done.ack()
    dead.kill("no such address")
    for state, expected in (
        ("ready", [made[3]]),
        ("scheduled", [later]),
        ("leased", [held.id]),
        ("done", [done.id]),
        ("dead", [dead.id]),
        ("failed", [dead.id]),
    ):
        assert ids(visitor.sees("queues", "emails", state)) == [str(each) for each in expected], state


def test_a_list_shows_the_beginning_of_each_payload_and_what_matters_of_it(
    mq: Client, visitor: Visitor
) -> None:
    mq.queue("emails").push({"to": "ada", "text": "x" * 500}, priority=7)
    assert "{&#34;to&#34;:&#34;ada&#34;" in visitor.sees("queues", "emails", "ready")
    mq.store.claim("emails", [Want(consumer="worker-9", share=False)])
    assert "worker-9" in visitor.sees("queues", "emails", "leased")


def test_the_dead_and_the_failed_say_why(mq: Client, visitor: Visitor) -> None:
    queue = mq.queue("emails")
    queue.push(1)
    queue.claim()[0].retry(error="first the one thing", after=0)
    queue.claim()[0].kill("Traceback (most recent call last):\n  File x\nValueError: then the other\n")
    page = visitor.sees("queues", "emails", "dead")
    assert "<bdi>ValueError: then the other</bdi>" in page
    assert ">killed</span>" in page
    assert "<bdi>first the one thing</bdi>" in visitor.sees("queues", "emails", "failed", text="ONE thing")


def test_a_list_goes_on_page_by_page_without_a_gap(few: None, mq: Client, visitor: Visitor) -> None:
    made = [str(mq.queue("emails").push(number)) for number in range(8)]
    found, page = [], visitor.sees("queues", "emails", "ready")
    sizes = []
    while True:
        sizes.append(len(ids(page)))
        found += ids(page)
        further = following(page)
        if further is None:
            break
        page = visitor.http.get(further).text
        assert ">First</a>" in page
    assert (found, sizes) == (made, [3, 3, 2])


def test_a_list_does_not_lose_its_place_when_what_was_before_goes(
    few: None, mq: Client, visitor: Visitor
) -> None:
    made = [str(mq.queue("emails").push(number)) for number in range(6)]
    further = following(visitor.sees("queues", "emails", "ready"))
    for message in mq.queue("emails").claim(limit=3):
        message.ack()
    assert ids(visitor.http.get(str(further)).text) == made[3:]


def test_a_place_that_we_did_not_give_out_is_refused_with_a_sentence(
    few: None, mq: Client, visitor: Visitor
) -> None:
    mq.queue("emails").push_many(range(5))
    mq.queue("payments").push_many(range(5))
    place = str(following(visitor.sees("queues", "emails", "ready"))).partition("place=")[2]
    for path, said in (
        (("emails", "ready"), "1.2.3"),
        (("emails", "ready"), "ü"),
        (("emails", "ready"), place[:-4]),
        (("emails", "ready"), "A" + place[1:]),
        (("emails", "ready"), place * 9),
        (("emails", "dead"), place),
        (("payments", "ready"), place),
    ):
        answer = visitor.gets("queues", *path, place=said)
        assert answer.status_code == 400, said
        assert "no place in this list that we gave out; begin with its first page" in sentence(answer)


def test_a_list_of_no_state_is_not_found(mq: Client, visitor: Visitor) -> None:
    mq.queue("emails")
    answer = visitor.gets("queues", "emails", "lost")
    assert answer.status_code == 404
    assert "messages are ready, scheduled, leased, done, dead; none is 'lost'" in sentence(answer)


# Searches.


def test_metadata_narrows_a_list(mq: Client, visitor: Visitor) -> None:
    queue = mq.queue("emails")
    made = {
        name: str(queue.push(name, metadata=metadata))
        for name, metadata in (("en", {"lang": "en"}), ("de", {"lang": "de", "v": "1"}), ("none", {}))
    }
    for where, expected in (
        (["lang=en"], ["en"]),
        (["lang=en", "lang=de"], ["en", "de"]),
        (["lang"], ["en", "de"]),
        (["lang!=en"], ["de", "none"]),
        (["lang", "v=1"], ["de"]),
        (["lang=", ""], []),
    ):
        page = visitor.sees("queues", "emails", "ready", where=where)
        assert ids(page) == [made[each] for each in expected], where
        assert "Clear</a>" in page


def test_a_search_goes_on_with_its_conditions(few: None, mq: Client, visitor: Visitor) -> None:
    queue = mq.queue("emails")
    made = [str(queue.push(number, metadata={"even": str(number % 2)})) for number in range(8)]
    page = visitor.sees("queues", "emails", "ready", where="even=0")
    assert ids(page) == [made[0], made[2], made[4]]
    assert ids(visitor.http.get(str(following(page))).text) == [made[6]]


def test_a_condition_that_makes_no_sense_is_said_beside_its_field(mq: Client, visitor: Visitor) -> None:
    mq.queue("emails").push(1)
    for said in ("=x", "!", "a\0=b"):
        answer = visitor.gets("queues", "emails", "ready", where=said)
        assert answer.status_code == 422
        assert "is not a condition; write key=value" in beside(answer.text)["find-where"]
        assert ids(answer.text) == []


def test_times_narrow_a_list(mq: Client, visitor: Visitor) -> None:
    old = str(mq.queue("emails").push("old"))
    half = datetime.now(UTC)
    new = str(mq.queue("emails").push("new"))
    tomorrow = (half + timedelta(days=1)).strftime("%Y-%m-%d %H:%M")
    for query, expected in (
        ({"since": "1h"}, [old, new]),
        ({"since": half.isoformat()}, [new]),
        ({"until": half.isoformat()}, [old]),
        ({"since": tomorrow}, []),
        ({"until": tomorrow, "since": "2000-01-01"}, [old, new]),
    ):
        assert ids(visitor.sees("queues", "emails", "ready", **query)) == expected, query


def test_a_time_that_is_none_is_said_beside_its_field(mq: Client, visitor: Visitor) -> None:
    mq.queue("emails").push(1)
    for said in ("soon", "2026-13-01", "99999999999999999999d", "0001-01-01T00:00+14:00"):
        answer = visitor.gets("queues", "emails", "dead", since=said)
        assert answer.status_code == 422, said
        assert beside(answer.text)["find-since"].startswith(f"{said!r} is not a time; write")


def test_a_search_in_errors_says_how_far_it_looks(mq: Client, visitor: Visitor) -> None:
    queue = mq.queue("emails")
    for word in ("Timeout", "refused"):
        queue.push(word)
        queue.claim()[0].kill(f"{word} at the gate")
    page = visitor.sees("queues", "emails", "failed", text="timeout")
    assert len(ids(page)) == 1
    assert "A search looks at the newest 50,000 failures" in page
    assert ids(visitor.sees("queues", "emails", "failed", text="nothing of this")) == []


def test_a_search_that_has_looked_far_enough_says_so_and_goes_on(
    few: None, mq: Client, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitor, "MOST_LOOKED", 5)
    queue = mq.queue("emails")
    queue.push_many(range(7))
    last = str(queue.push("last", metadata={"a": "b"}))
    page = visitor.sees("queues", "emails", "ready", where="a=b")
    assert ids(page) == []
    assert "messages that were looked at" in page
    assert ">Look further</a>" in page
    assert ids(visitor.http.get(str(following(page))).text) == [last]


def test_what_failed_here_and_is_elsewhere_by_now_is_for_who_may_read_that(
    mq: Client, tmp_path: Path
) -> None:
    mq.queue("letters")
    queue = mq.queue("emails", dead_letter="letters")
    id = str(queue.push("secret"))
    queue.claim()[0].kill("no such address")
    rights = {"here": {"read": ["emails"]}, "both": {"read": ["emails", "letters"]}}
    with (
        serving(mq, **known(tmp_path, **rights)) as url,
        Visitor(url, "here") as here,
        Visitor(url, "both") as both,
    ):
        assert ids(here.sees("queues", "emails", "failed")) == []
        page = both.sees("queues", "emails", "failed")
    assert ids(page) == [id]
    assert 'in <a class="name" href="/ui/queues/letters">' in page


# By id.


def test_an_id_leads_to_its_message(mq: Client, visitor: Visitor) -> None:
    id = mq.queue("emails").push(1)
    answer = visitor.gets("messages", id=f" {id} ")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/ui/messages/{id}")


def test_an_id_that_is_none_or_unknown_is_said_beside_its_field(visitor: Visitor) -> None:
    unknown = "0199b6de-0000-7000-8000-000000000000"
    for said, status, why in (
        ("x", 422, "a message id is a UUID, not 'x'"),
        (unknown, 404, "there is no such message; it may have been pruned or dropped"),
    ):
        answer = visitor.gets("messages", id=said)
        assert (answer.status_code, beside(answer.text)) == (status, {"find-id": why})
    assert "Its id" in visitor.sees("messages")


# What stands where nothing is.


def test_an_empty_list_says_what_to_do_next(mq: Client, visitor: Visitor) -> None:
    mq.queue("letters")
    mq.queue("emails; rm -rf x", dead_letter="letters")
    for state, said in (
        ("ready", "rowmq push &#39;emails; rm -rf x&#39; &#39;{"),
        ("scheduled", "--delay 5m"),
        ("leased", "Nobody holds a message of this queue: what consumers have claimed"),
        ("done", "Nothing is done yet"),
        ("dead", "Dead messages of this queue go to"),
        ("failed", "No message of this queue has failed"),
    ):
        page = visitor.sees("queues", "emails; rm -rf x", state)
        assert said.replace("&#39; &#39;{", "&#39; '{") in page, state


def test_a_search_without_a_find_says_how_to_see_all(mq: Client, visitor: Visitor) -> None:
    mq.queue("emails").push(1)
    page = visitor.sees("queues", "emails", "ready", where="no=where")
    assert "No ready message is like that" in page
    assert '<a href="/ui/queues/emails/ready">All of them</a>' in page
