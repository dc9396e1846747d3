"""The page of a message without a browser: what it shows, who may do what, and what each action does."""

import base64
import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from rowmq.core.delivery import Want
from rowmq.core.history import Amendment
from rowmq.core.outcome import State
from rowmq.doors.http.dashboard import message as message_page
from rowmq.runtime.client import Client
from tests.doors.http.dashboard.visiting import Visitor, known, sentence
from tests.doors.http.serving import serving

ACTIONS = ("retry", "kill", "move", "drop", "copy")
RIGHTS = {
    "reader": {"read": ["emails"]},
    "pusher": {"read": ["emails"], "push": ["payments"]},
    "keeper": {"manage": ["emails"]},
    "worker": {"claim": ["emails"], "push": ["emails"]},
}
TRACEBACK = 'Traceback (most recent call last):\n  File "send.py", line 7, in send\nValueError: no address\n'


@pytest.fixture
def id(mq: Client) -> str:
    """A message that waits."""
    return str(mq.queue("emails").push({"to": "ada"}, metadata={"v": "1"}, priority=3, group="g"))


@pytest.fixture
def limited(mq: Client, id: str, tmp_path: Path) -> Iterator[str]:
    """The store behind tokens."""
    mq.queue("payments")
    with serving(mq, **known(tmp_path, **RIGHTS)) as url:
        yield url


def state_of(mq: Client, id: str) -> State | None:
    record = mq.get(UUID(id))
    return None if record is None else record.state


def copied(visitor: Visitor, mq: Client, id: str, **fields: str) -> Any:
    """The copy that a form makes."""
    said = visitor.does("messages", id, "copy", **{"queue": "emails", "format": "json", **fields})
    return mq.get(UUID(said.rpartition(" ")[2]))


# What it shows.


def test_the_page_shows_everything_about_a_message(mq: Client, visitor: Visitor) -> None:
    mq.queue("letters")
    queue = mq.queue("emails", dead_letter="letters", max_attempts=4)
    id = queue.push({"to": "ada"}, metadata={"lang": "de"}, priority=3, group="g1", key="k1", delay=0)
    mq.store.claim("emails", [Want(consumer="worker-9", share=False, lease=timedelta(minutes=5))])
    page = visitor.sees("messages", id)
    for shown in ("ada", "lang", "de", "g1", "k1", "worker-9", "1 of 4", "is running", str(id)):
        assert shown in page, shown
    assert '<a class="name" href="/ui/queues/letters">' in page
    assert 'class="state leased">leased</span>' in page


def test_every_attempt_is_shown_with_its_error_and_traceback(mq: Client, visitor: Visitor) -> None:
    queue = mq.queue("emails", max_attempts=2)
    id = queue.push(1)
    for error in ("the gate was shut", TRACEBACK):
        queue.claim()[0].retry(error=error, after=0)
    page = visitor.sees("messages", id)
    assert page.index("<b>Attempt 2</b> failed") < page.index("<b>Attempt 1</b> failed")
    assert "<bdi>ValueError: no address</bdi>" in page
    assert "File &#34;send.py&#34;, line 7, in send" in page
    assert "<bdi>the gate was shut</bdi>" in page
    assert ">exhausted</span>" in page


def test_a_long_error_is_cut_in_the_middle(mq: Client, visitor: Visitor) -> None:
    queue = mq.queue("emails")
    id = queue.push(1)
    queue.claim()[0].kill("first\n" + "x\n" * 100_000 + "last")
    page = visitor.sees("messages", id)
    assert len(page) < 60_000
    assert "The middle of 195.3 KiB is left out" in page
    assert "first\n" in page
    assert "\nlast</pre>" in page


def test_of_many_failures_the_last_are_shown(
    mq: Client, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_page, "MOST_FAILURES", 2)
    queue = mq.queue("emails", max_attempts=None)
    id = queue.push(1)
    for number in range(5):
        queue.claim()[0].retry(error=f"failure {number}", after=0)
    page = visitor.sees("messages", id)
    assert "5 failed, the last 2 are shown" in page
    assert [number for number in range(5) if f"failure {number}" in page] == [3, 4]


def test_a_result_is_shown(mq: Client, visitor: Visitor) -> None:
    id = mq.queue("emails").push(1)
    mq.queue("emails").claim()[0].ack(result={"sent": "yes indeed"})
    assert "yes indeed" in visitor.sees("messages", id)


def test_a_dropped_payload_is_said_to_be(mq: Client, visitor: Visitor) -> None:
    id = mq.queue("emails", retention=0).push("gone")
    mq.queue("emails").claim()[0].ack()
    assert "The payload was dropped" in visitor.sees("messages", id)
    assert visitor.gets("messages", id, "raw").status_code == 404


def test_a_dead_letter_leads_to_where_it_came_from(mq: Client, visitor: Visitor) -> None:
    mq.queue("letters")
    queue = mq.queue("emails", dead_letter="letters")
    id = queue.push(1)
    queue.claim()[0].kill("no such address")
    page = visitor.sees("messages", id)
    assert '<dt>Came from</dt><dd><a class="name" href="/ui/queues/emails">' in page


def test_metadata_that_names_a_message_leads_there(mq: Client, visitor: Visitor, id: str) -> None:
    replayed = mq.queue("emails").push(1, metadata={"rowmq.replay_of": id})
    broken = mq.queue("emails").push(1, metadata={"rowmq.replay_of": "javascript:alert(1)"})
    assert f'<dt>Replay of</dt><dd><a class="mono" href="/ui/messages/{id}">' in visitor.sees(
        "messages", replayed
    )
    assert "<dt>Replay of</dt>" not in visitor.sees("messages", broken)


def test_a_payload_is_downloaded_as_its_bytes_and_nothing_else(mq: Client, visitor: Visitor) -> None:
    body = b"<script>alert(1)</script>\x00\xff"
    id = mq.queue("emails").push(body)
    answer = visitor.gets("messages", id, "raw")
    assert answer.content == body
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == f'attachment; filename="{id}.bin"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]


def test_the_page_of_a_large_payload_is_small(mq: Client, visitor: Visitor) -> None:
    id = mq.queue("emails").push([{"number": number, "text": "x" * 60} for number in range(40_000)])
    page = visitor.sees("messages", id)
    assert len(page) < 200_000
    assert "This is the beginning of 3." in page
    assert "It is too large to be edited here" in page
    assert len(visitor.gets("messages", id, "raw").content) > 3_000_000


def test_an_id_that_is_none_or_unknown_is_refused_with_a_sentence(visitor: Visitor) -> None:
    for said, status, why in (
        ("x", 422, "a message id is a UUID, not 'x'"),
        ("0199b6de-0000-7000-8000-000000000000", 404, "there is no such message"),
    ):
        for path in ((said,), (said, "raw")):
            answer = visitor.gets("messages", *path)
            assert answer.status_code == status
            assert why in sentence(answer)


# Actions.


def test_a_message_is_retried_now(mq: Client, visitor: Visitor, id: str) -> None:
    mq.queue("emails").claim()[0].kill("no")
    assert visitor.does("messages", id, "retry", seen="dead") == f"made message {id} of emails ready again"
    record = mq.get(UUID(id))
    assert record is not None
    assert (record.state, record.attempts) == (State.READY, 0)


def test_a_message_is_killed(mq: Client, visitor: Visitor, id: str) -> None:
    assert visitor.does("messages", id, "kill", seen="ready") == f"killed message {id} of emails"
    assert state_of(mq, id) is State.DEAD


def test_a_message_is_moved(mq: Client, visitor: Visitor, id: str) -> None:
    mq.queue("payments")
    said = visitor.does("messages", id, "move", to="payments", seen="ready")
    assert said == f"moved message {id} from emails to payments"
    assert mq.queue("payments").stats().ready == 1


def test_a_message_is_moved_to_no_queue_that_is_not_there(mq: Client, visitor: Visitor, id: str) -> None:
    assert visitor.hears("messages", id, "move", to="nowhere") == {
        "move-to": "there is no queue 'nowhere'; create it first"
    }
    assert visitor.hears("messages", id, "move", to=" ") == {
        "move-to": "name the queue that the message is moved to"
    }
    assert mq.queue("emails").stats().ready == 1


def test_a_message_is_dropped_for_good(mq: Client, visitor: Visitor, id: str) -> None:
    assert visitor.does("messages", id, "drop", seen="ready") == f"dropped message {id} of emails"
    assert mq.get(UUID(id)) is None
    assert visitor.gets("messages", id).status_code == 404


def test_an_action_that_comes_too_late_says_what_became_of_the_message(
    mq: Client, visitor: Visitor, id: str
) -> None:
    visitor.sees("messages", id)
    mq.queue("emails").claim()[0].ack()
    for action in ("retry", "kill", "move"):
        said = visitor.does("messages", id, action, to="emails")
        assert said == f"nothing was done: message {id} is done by now, so {action} does not apply"
    assert state_of(mq, id) is State.DONE


def test_what_was_finished_when_it_was_seen_and_is_not_any_more_is_not_dropped(
    mq: Client, visitor: Visitor, id: str
) -> None:
    mq.queue("emails").claim()[0].kill("no")
    visitor.sees("messages", id)
    mq.store.history.amend([UUID(id)], Amendment.RETRY)
    said = visitor.does("messages", id, "drop", seen="dead")
    assert said == f"nothing was done: message {id} is ready by now, so drop does not apply"
    assert state_of(mq, id) is State.READY


def test_only_what_can_be_done_is_offered(mq: Client, visitor: Visitor) -> None:
    queue = mq.queue("emails")
    queue.push_many(range(3))
    done, dead, held = queue.claim(limit=3)
    done.ack()
    dead.kill("no")
    for message, offered in (
        (done, ["Drop"]),
        (dead, ["Retry now", "Move", "Drop"]),
        (held, ["Retry now", "Move", "Kill", "Drop"]),
    ):
        page = visitor.sees("messages", message.id)
        found = [each for each in ("Retry now", "Move", "Kill", "Drop") if f">{each}</summary>" in page]
        assert found == offered
    assert "Whoever holds it loses it." in visitor.sees("messages", held.id)


# Copies.


def test_an_edited_copy_is_pushed_and_leads_back(mq: Client, visitor: Visitor, id: str) -> None:
    copy = copied(
        visitor, mq, id, payload='{"to": 1.0}', metadata='{"rowmq.copy_of": "' + id + '"}', priority="7"
    )
    assert (copy.body, copy.binary, copy.priority, copy.queue) == (b'{"to": 1.0}', False, 7, "emails")
    assert f'<dt>Copy of</dt><dd><a class="mono" href="/ui/messages/{id}">' in visitor.sees(
        "messages", copy.id
    )
    original = mq.get(UUID(id))
    assert original is not None
    assert original.payload == {"to": "ada"}


@pytest.mark.parametrize(
    "payload", [{"to": "ada", "n": [1, 2.50]}, b"\x00\xff", b"plain\ntext", "\u2028", b"", b"\r\n"], ids=repr
)
def test_a_copy_that_was_not_edited_is_the_same_to_the_byte(
    mq: Client, visitor: Visitor, payload: Any
) -> None:
    id = str(mq.queue("emails").push(payload))
    page = visitor.sees("messages", id)
    text = page.partition('<textarea id="copy-payload"')[2].partition(">\n")[2].partition("</textarea>")[0]
    sort = page.partition('id="copy-format"')[2].partition('" selected')[0].rpartition('value="')[2]
    said = text.replace("&#34;", '"').replace("\n", "\r\n")  # as browsers send it
    copy = copied(visitor, mq, id, payload=said, format=sort)
    original = mq.get(UUID(id))
    assert original is not None
    assert (copy.body, copy.binary) == (original.body, original.binary)


def test_a_payload_that_is_too_large_to_edit_is_copied_as_it_is(mq: Client, visitor: Visitor) -> None:
    payload = "x" * 100_000
    id = str(mq.queue("emails").push(payload))
    assert copied(visitor, mq, id, format="same").payload == payload
    assert copied(visitor, mq, id, payload="[]").payload == []


def test_a_copy_may_be_bytes_or_text(mq: Client, visitor: Visitor, id: str) -> None:
    said = base64.encodebytes(b"\x00\x01\xfe").decode()
    assert copied(visitor, mq, id, format="base64", payload=said).payload == b"\x00\x01\xfe"
    assert copied(visitor, mq, id, format="text", payload="two\r\nlines").payload == b"two\nlines"


def test_a_copy_may_wait_and_have_a_group(mq: Client, visitor: Visitor, id: str) -> None:
    copy = copied(visitor, mq, id, payload="1", delay="5m", group="h")
    assert (copy.state, copy.group) == (State.SCHEDULED, "h")


def test_what_is_wrong_with_a_copy_stands_beside_each_field(mq: Client, visitor: Visitor, id: str) -> None:
    heard = visitor.hears(
        "messages",
        id,
        "copy",
        queue="",
        format="json",
        payload="{",
        metadata="[]",
        priority="99",
        delay="soon",
        group="x" * 256,
    )
    assert {field: words.split(";")[0][:30] for field, words in heard.items()} == {
        "copy-queue": "a queue name has 1 to 255 char",
        "copy-payload": "the payload is not JSON: Expec",
        "copy-metadata": "metadata is a JSON object of s",
        "copy-priority": "a priority is a whole number f",
        "copy-delay": "'soon' is not a span of time",
        "copy-group": "a group has 1 to 255 character",
    }
    assert mq.queue("emails").stats().ready == 1


@pytest.mark.parametrize(
    ("fields", "field", "why"),
    [
        ({"format": "base64", "payload": "***"}, "payload", "this is not base64"),
        ({"format": "xml", "payload": "<a/>"}, "payload", "not as 'xml'"),
        ({"payload": "NaN"}, "payload", "the payload is not JSON"),
        ({"payload": "1", "metadata": "{"}, "metadata", "this is no JSON"),
        ({"payload": "1", "metadata": '{"a": 1}'}, "metadata", "metadata maps strings to strings"),
        ({"payload": "1", "queue": "nowhere"}, "queue", "there is no queue 'nowhere'"),
        ({"payload": "1", "priority": "high"}, "priority", "a priority is a whole number from 0 to 9"),
    ],
)
def test_a_copy_that_cannot_be_is_refused_beside_its_field(
    mq: Client, visitor: Visitor, id: str, fields: dict[str, str], field: str, why: str
) -> None:
    heard = visitor.hears("messages", id, "copy", **{"queue": "emails", "format": "json", **fields})
    assert set(heard) == {f"copy-{field}"}
    assert why in heard[f"copy-{field}"]
    assert mq.queue("emails").stats().ready == 1


def test_a_full_queue_takes_no_copy_and_that_is_said(mq: Client, visitor: Visitor, id: str) -> None:
    mq.queue("emails", max_length=1)
    heard = visitor.hears("messages", id, "copy", queue="emails", format="json", payload="1")
    assert "emails" in heard["copy-queue"]
    assert mq.queue("emails").stats().ready == 1


# Who may.


def test_who_may_only_read_sees_the_message_and_no_button(limited: str, id: str) -> None:
    with Visitor(limited, "reader") as reader:
        page = reader.sees("messages", id)
    assert "ada" in page
    assert 'method="post"' not in page


def test_who_does_not_manage_the_queue_changes_nothing(mq: Client, limited: str, id: str) -> None:
    for name, action in product(("reader", "pusher"), ("retry", "kill", "move", "drop")):
        with Visitor(limited, name) as visitor:
            answer = visitor.sends("messages", id, action, to="emails")
        assert answer.status_code == 403, (name, action)
        assert "this token has no right to do that" in sentence(answer)
    assert state_of(mq, id) is State.READY
    assert mq.queue("emails").stats().ready == 1


def test_for_who_may_not_read_it_there_is_no_message(mq: Client, limited: str, id: str) -> None:
    with Visitor(limited, "worker") as worker:
        for path in ((id,), (id, "raw")):
            assert worker.gets("messages", *path).status_code == 404
        assert worker.gets("messages", id=id).status_code == 404
        for action in ACTIONS:
            fields = {"to": "emails", "queue": "emails", "format": "json", "payload": "1"}
            assert worker.sends("messages", id, action, **fields).status_code in (403, 404), action
    assert mq.queue("emails").stats().ready == 1


def test_who_manages_one_queue_moves_nothing_to_another(mq: Client, limited: str, id: str) -> None:
    with Visitor(limited, "keeper") as keeper:
        assert keeper.sends("messages", id, "move", to="payments").status_code == 403
    assert mq.queue("payments").stats().ready == 0


def test_a_copy_takes_the_right_to_push_where_it_goes(mq: Client, limited: str, id: str) -> None:
    fields = {"format": "json", "payload": "1"}
    with Visitor(limited, "pusher") as pusher:
        assert pusher.sends("messages", id, "copy", queue="emails", **fields).status_code == 403
        said = pusher.does("messages", id, "copy", queue="payments", **fields)
    assert said.startswith(f"pushed a copy of message {id} to payments: it is ")
    with Visitor(limited, "keeper") as keeper:
        assert keeper.sends("messages", id, "copy", queue="emails", **fields).status_code == 403
    assert (mq.queue("emails").stats().ready, mq.queue("payments").stats().ready) == (1, 1)


# Forms that are not ours.


def test_a_form_without_the_right_mark_changes_nothing(mq: Client, visitor: Visitor, id: str) -> None:
    for action, csrf in product(ACTIONS, (None, "", "x", "wrong" * 20)):
        data = {"to": "emails", "queue": "emails", "format": "json", "payload": "1"}
        data |= {} if csrf is None else {"csrf": csrf}
        answer = visitor.http.post(f"/ui/messages/{id}/{action}", data=data)
        assert answer.status_code == 403, (action, csrf)
        assert "this form is not one of ours" in sentence(answer)
    assert state_of(mq, id) is State.READY
    assert mq.queue("emails").stats().ready == 1


def test_no_get_changes_anything(mq: Client, visitor: Visitor, id: str) -> None:
    visitor.sees("messages", id, seen="dead", to="emails")
    for action in ACTIONS:
        assert visitor.gets("messages", id, action, csrf=visitor.csrf, to="emails").status_code == 405
    assert (
        visitor.gets("messages", id, "raw").content
        == json.dumps({"to": "ada"}, separators=(",", ":")).encode()
    )
    assert state_of(mq, id) is State.READY
    assert mq.queue("emails").stats().ready == 1
