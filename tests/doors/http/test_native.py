"""RowMQ's own API as a plain HTTP client meets it."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx
import pytest
import urllib3

from rowmq.core.errors import (
    Overloaded,
    RowMQError,
    SchemaOutdated,
    StoreUnavailable,
)
from rowmq.core.message import Batch, Message
from rowmq.doors.http.access import Tokens
from rowmq.doors.http.problem import TABLE, TYPE, refuse
from rowmq.doors.http.refusal import Refusal
from rowmq.runtime.client import Client, connect
from tests.doors.http.asked import token_text, write_tokens
from tests.doors.http.serving import serving


@pytest.fixture
def mq() -> Iterator[Client]:
    with connect("memory://") as mq:
        yield mq


@pytest.fixture
def http(mq: Client) -> Iterator[httpx.Client]:
    with serving(mq) as url, httpx.Client(base_url=f"{url}/v1", timeout=30) as http:
        http.put("/queues/emails", json={})
        yield http


def refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The problem of an answer that says no."""
    assert answer.headers["content-type"] == TYPE, answer.text
    found: dict[str, Any] = answer.json()
    assert (answer.status_code, found["status"], found["code"]) == (status, status, code), answer.text
    assert found["title"]
    return found


def push(http: httpx.Client, *payloads: Any, queue: str = "emails") -> list[str]:
    answer = http.post(f"/queues/{queue}/messages", json=[{"payload": each} for each in payloads])
    assert answer.status_code == 201, answer.text
    ids: list[str] = answer.json()["ids"]
    return ids


def claim(http: httpx.Client, queue: str = "emails", **want: Any) -> list[dict[str, Any]]:
    answer = http.post(f"/queues/{queue}/claim", json=want)
    assert answer.status_code == 200, answer.text
    messages: list[dict[str, Any]] = answer.json()["messages"]
    return messages


def settle(http: httpx.Client, *settlements: dict[str, Any]) -> list[str]:
    answer = http.post("/settle", json={"settlements": settlements})
    assert answer.status_code == 200, answer.text
    results: list[str] = answer.json()["results"]
    return results


# The life of a message.


def test_a_message_is_pushed_claimed_and_settled(http: httpx.Client) -> None:
    (id,) = push(http, {"to": "ada"})
    (message,) = claim(http, lease=60)
    assert (message["id"], message["payload"], message["attempt"]) == (id, {"to": "ada"}, 1)
    ack = {"receipt": message["receipt"], "outcome": "ack", "result": {"sent": True}}
    assert [settle(http, ack), settle(http, ack)] == [["settled"], ["repeated"]]
    found = http.get(f"/messages/{id}").json()
    assert (found["state"], found["payload"], found["result"]) == ("done", {"to": "ada"}, {"sent": True})


def test_one_message_may_be_pushed_without_an_array(http: httpx.Client) -> None:
    answer = http.post(
        "/queues/emails/messages", json={"payload": None, "priority": 5, "metadata": {"v": "1"}}
    )
    assert answer.status_code == 201
    (message,) = claim(http, where={"v": "1"})
    assert (message["payload"], message["priority"]) == (None, 5)


def test_bytes_travel_as_base64(http: httpx.Client) -> None:
    http.post("/queues/emails/messages", json={"base64": "AP8="})
    (message,) = claim(http)
    assert (message["base64"], message["binary"], "payload" in message) == ("AP8=", True, False)


@pytest.mark.parametrize("text", ['{"z":1, "a":[1.0,1e5]}', '"\\u0041 ü"', "123456789012345678901234567890"])
def test_a_payload_is_kept_byte_for_byte(http: httpx.Client, mq: Client, text: str) -> None:
    body = '{"payload": ' + text + " }"
    (id,) = http.post("/queues/emails/messages", content=body.encode()).json()["ids"]
    found = mq.get(id)
    assert found is not None
    assert found.body == text.encode()
    assert f'"payload":{text}' in http.get(f"/messages/{id}").text


def test_an_id_makes_a_push_repeatable(http: httpx.Client) -> None:
    message = {"id": str(uuid4()), "payload": 1}
    first, again = (http.post("/queues/emails/messages", json=message).json() for _ in range(2))
    assert (first["ids"], first["seen"], again["seen"]) == (again["ids"], [], [0])
    refused(http.post("/queues/emails/messages", json={**message, "payload": 2}), 409, "DuplicateMessage")


def test_each_settlement_has_its_own_answer(http: httpx.Client) -> None:
    push(http, 1, 2, 3, 4)
    one, two, three, four = (each["receipt"] for each in claim(http, limit=4))
    assert settle(
        http,
        {"outcome": "ack", "receipt": one},
        {"outcome": "ack", "receipt": "7.made-up"},
        {"outcome": "retry", "receipt": two, "delay": 60, "error": "no route"},
        {"outcome": "ack", "receipt": ""},
        {"outcome": "bury", "receipt": three, "reason": "invalid"},
        {"outcome": "release", "receipt": four},
        {"outcome": "ack", "receipt": one},
    ) == ["settled", "lost", "settled", "lost", "settled", "settled", "repeated"]
    stats = http.get("/queues/emails/stats").json()
    assert [stats[name] for name in ("ready", "scheduled", "leased", "done", "dead")] == [1, 1, 0, 1, 1]


def test_leases_are_extended_and_what_was_lost_is_null(http: httpx.Client) -> None:
    push(http, 1)
    (message,) = claim(http, lease=5)
    said = {"receipts": [message["receipt"], "7.made-up"], "lease": 600}
    end, lost = http.post("/extend", json=said).json()["until"]
    assert datetime.fromisoformat(end) > datetime.fromisoformat(message["lease_until"])
    assert lost is None


def test_a_claim_waits_for_the_first_message(http: httpx.Client) -> None:
    later = threading.Timer(0.3, push, (http, "late"))
    started = time.monotonic()
    later.start()
    (message,) = claim(http, wait=20)
    later.join()
    assert message["payload"] == "late"
    assert 0.2 < time.monotonic() - started < 10


def test_a_named_claim_is_found_again_taken_over_and_settled_whole(http: httpx.Client) -> None:
    push(http, 1, 2)
    first = claim(http, limit=2, name="run")
    assert claim(http, limit=5, name="run") == first
    adopted = http.post("/adopt", json={"name": "run", "lease": 60}).json()
    assert (adopted["runs"], [each["payload"] for each in adopted["messages"]]) == (2, [1, 2])
    assert settle(http, {"outcome": "ack", "receipt": first[0]["receipt"]}) == ["lost"]
    assert settle(http, {"outcome": "ack", "receipt": adopted["claim"]}) == ["settled"]
    refused(http.post("/adopt", json={"name": "nobody"}), 404, "NotFound")


def test_several_batches_have_an_answer_each(http: httpx.Client) -> None:
    batches = [{"queue": name, "messages": [{"payload": 1}]} for name in ("emails", "nowhere", "emails")]
    results = http.post("/push", json={"batches": batches}).json()["results"]
    assert [list(each) for each in results] == [["stored"], ["problem"], ["stored"]]
    assert results[1]["problem"]["code"] == "QueueNotFound"


def test_a_true_token_under_a_number_that_never_was_is_lost(postgres_url: str) -> None:
    with serving(postgres_url) as url, httpx.Client(base_url=f"{url}/v1") as http:
        http.put("/queues/emails", json={})
        push(http, 1)
        token = claim(http)[0]["receipt"].partition(".")[2]
        forged = [f"{seq}.{token}" for seq in ("9" * 19, str(2**63 - 1), "0", "-1", "1e3", "²", "")]
        assert set(settle(http, *({"outcome": "ack", "receipt": each} for each in forged))) == {"lost"}
        assert http.post("/extend", json={"receipts": forged, "lease": 5}).json() == {"until": [None] * 7}


# Queues, topics, schedules.


def test_settings_that_are_left_out_stay_as_they_are(http: httpx.Client) -> None:
    made = http.put(
        "/queues/jobs", json={"lease": 90, "max_attempts": None, "rate": {"limit": 5, "period": 1}}
    )
    assert made.status_code == 200
    changed = http.put("/queues/jobs", json={"delay": 1.5, "rate": None}).json()
    assert (changed["lease"], changed["delay"], changed["max_attempts"], changed["rate"]) == (
        90,
        1.5,
        None,
        None,
    )
    assert http.get("/queues/jobs").json() == changed
    assert [each["name"] for each in http.get("/queues").json()["queues"]] == ["emails", "jobs"]


def test_a_paused_queue_gives_nothing_until_it_is_resumed(http: httpx.Client) -> None:
    push(http, 1)
    assert http.post("/queues/emails/pause").json()["paused"] is True
    assert claim(http) == []
    assert http.post("/queues/emails/resume").json()["paused"] is False
    assert len(claim(http)) == 1
    refused(http.post("/queues/misspelt/pause"), 404, "QueueNotFound")


def test_dead_messages_are_redriven_and_purged(http: httpx.Client) -> None:
    push(http, 1, 2)
    settle(http, *({"outcome": "bury", "receipt": each["receipt"]} for each in claim(http, limit=2)))
    assert http.post("/queues/emails/redrive", json={"limit": 1}).json() == {"count": 1}
    assert http.post("/queues/emails/purge", json={"state": "dead"}).json() == {"count": 1}
    assert [entry["action"] for entry in http.get("/ledger").json()["entries"]] == ["purge"]
    assert http.delete("/queues/emails").json() == {"changed": True}
    assert http.delete("/queues/emails").json() == {"changed": False}


def test_what_is_published_goes_to_every_bound_queue(http: httpx.Client) -> None:
    http.put("/queues/audit", json={})
    for queue in ("emails", "audit"):
        assert http.put(f"/topics/orders/queues/{queue}").json() == {"changed": True}
    assert http.post("/topics/orders/messages", json={"messages": [{"payload": 7}]}).json() == {"queues": 2}
    assert [claim(http, queue)[0]["payload"] for queue in ("emails", "audit")] == [7, 7]
    assert http.get("/topics").json() == {"topics": [{"topic": "orders", "queues": ["audit", "emails"]}]}
    assert http.delete("/topics/orders/queues/audit").json() == {"changed": True}
    assert http.get("/topics/orders").json()["queues"] == ["emails"]


def test_a_schedule_is_put_by_cron_paused_and_fired_once(http: httpx.Client) -> None:
    said = {"queue": "emails", "cron": "0 3 * * *", "message": {"payload": "report"}}
    put = http.put("/schedules/nightly", json=said).json()
    assert datetime.fromisoformat(put["next_at"]).hour == 3
    assert http.post("/schedules/nightly/pause").json()["paused"] is True
    assert http.post("/schedules/nightly/resume").json()["paused"] is False
    tick = {"tick": put["next_at"], "following": "2099-01-01T03:00:00Z"}
    fired = [http.post("/schedules/nightly/fire", json=tick).json()["fired"] for _ in range(2)]
    assert fired == [True, False]
    assert claim(http)[0]["payload"] == "report"
    assert http.delete("/schedules/nightly").json() == {"changed": True}
    refused(http.get("/schedules/nightly"), 404, "ScheduleNotFound")
    refused(http.put("/schedules/x", json={**said, "cron": "nonsense"}), 422, "InvalidSetting")


def test_consumers_beat_are_listed_and_retire(http: httpx.Client) -> None:
    beaten = http.put("/queues/emails/consumers/ada", json={"ttl": 60}).json()
    assert beaten == {"index": 0, "count": 1, "joined": True}
    assert [each["name"] for each in http.get("/consumers").json()["consumers"]] == ["ada"]
    assert http.delete("/queues/emails/consumers/ada").json() == {"changed": True}
    asked = [http.post("/lead", json={"role": "r", "consumer": each, "ttl": 60}) for each in "ab"]
    assert [each.json()["leads"] for each in asked] == [True, False]


# Looking up.


def test_messages_are_found_by_state_and_metadata_a_page_at_a_time(http: httpx.Client) -> None:
    messages = [{"payload": n, "metadata": {"even": str(n % 2 == 0), "n": str(n)}} for n in range(6)]
    http.post("/queues/emails/messages", json=messages)
    pages: list[list[int]] = []
    after: int | None = 0
    while after is not None:
        asked: dict[str, str | int] = {"queue": "emails", "where": "even=True", "after": after, "limit": 2}
        page = http.get("/messages", params=asked).json()
        pages.append([each["payload"] for each in page["messages"]])
        after = page["after"]
    assert pages == [[0, 2], [4]]
    found = http.get("/messages", params={"where": ["n!=0", "even=True", "n"]}).json()["messages"]
    assert [each["payload"] for each in found] == [2, 4]
    listed = http.post("/find", json={"where": {"n": ["1", "3"]}, "state": "ready"}).json()["messages"]
    assert [each["payload"] for each in listed] == [1, 3]


def test_failures_of_a_message_are_told_and_it_is_amended(http: httpx.Client) -> None:
    (id,) = push(http, 1)
    settle(http, {"outcome": "retry", "receipt": claim(http)[0]["receipt"], "error": "<b>no</b>"})
    assert [each["error"] for each in http.get(f"/messages/{id}/failures").json()["failures"]] == [
        "<b>no</b>"
    ]
    assert http.post("/amend", json={"ids": [id], "amendment": "kill"}).json() == {"count": 1}
    assert http.get(f"/messages/{id}").json()["state"] == "dead"
    refused(http.get(f"/messages/{uuid4()}"), 404, "NotFound")
    refused(http.get("/messages/nonsense"), 422, "InvalidSetting")


def test_the_store_tells_its_clock_and_durability(http: httpx.Client) -> None:
    found = http.get("/store").json()
    assert abs((datetime.now(UTC) - datetime.fromisoformat(found["now"])).total_seconds()) < 60
    assert found["durability"]["grade"] == "C"


# Saying no.


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/queues/nowhere/messages", {"payload": 1}, 404, "QueueNotFound"),
        ("/queues/emails/messages", {}, 422, "InvalidMessage"),
        ("/queues/emails/messages", {"payload": 1, "base64": "AA=="}, 422, "InvalidMessage"),
        ("/queues/emails/messages", {"base64": "AA==", "binary": False}, 422, "InvalidMessage"),
        ("/queues/emails/messages", {"payload": 1, "colour": "red"}, 400, "BadRequest"),
        ("/queues/emails/messages", {"payload": 1, "priority": 10}, 400, "BadRequest"),
        ("/queues/emails/messages", {"payload": 1, "at": "2026-05-01T00:00:00"}, 400, "BadRequest"),
        ("/queues/emails/messages", {"payload": 1, "at": "0001-01-01T00:00:00+14:00"}, 422, "InvalidSetting"),
        ("/queues/emails/messages", {"payload": 1, "key": ""}, 422, "InvalidName"),
        ("/queues/emails/messages", {"payload": 1, "metadata": {"": "x"}}, 422, "InvalidMessage"),
        ("/queues/emails/messages", [{"payload": 1}] * 10_001, 400, "BadRequest"),
        ("/queues/emails/claim", {"wait": 20.1}, 400, "BadRequest"),
        ("/queues/emails/claim", {"limit": 0}, 400, "BadRequest"),
        ("/queues/emails/claim", {"name": "run", "wait": 1}, 422, "InvalidSetting"),
        ("/queues/emails/claim", {"limit": 100_001}, 400, "BadRequest"),
        ("/queues/emails/claim", {"lease": 0}, 422, "InvalidSetting"),
        ("/queues/emails/claim", {"lease": 1e30}, 400, "BadRequest"),
        ("/queues/emails/claim", {"where": [{"key": "a", "operator": "="}]}, 422, "InvalidSetting"),
        ("/settle", {"settlements": [{"outcome": "eat", "receipt": "1.a"}]}, 400, "BadRequest"),
        ("/settle", {}, 400, "BadRequest"),
        ("/nothing/here", {}, 404, "NotFound"),
        ("/queues", {}, 405, "MethodNotAllowed"),
    ],
)
def test_what_is_wrong_is_said_in_one_shape(
    http: httpx.Client, path: str, body: Any, status: int, code: str
) -> None:
    refused(http.post(path, json=body), status, code)
    assert http.get("/queues/emails/stats").json()["ready"] == 0


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"NaN",
        b'"\xff"',
        b"01",
        b"[1,]",
        b'"\x01"',
        b"1}, {",
        b"[" * 100_000 + b"]" * 100_000,
    ],
)
def test_what_is_not_json_does_not_get_in(http: httpx.Client, text: bytes) -> None:
    answer = http.post("/queues/emails/messages", content=b'{"payload": ' + text + b"}")
    assert answer.status_code in {400, 422}, answer.text
    answer = http.post("/queues/emails/messages", content=b'[{"payload": 1}, {"payload": ' + text + b"}]")
    assert answer.status_code in {400, 422}, answer.text
    assert http.get("/queues/emails/stats").json()["ready"] == 0


@pytest.mark.parametrize(
    "body", [b'1,"receipt":"forged"', b'1},{"id":1', b'"\xff"', b"", b" 1 ", b'"\\ud800"', b"NaN"]
)
def test_what_is_stored_but_not_json_cannot_change_the_answer_around_it(
    http: httpx.Client, mq: Client, body: bytes
) -> None:
    mq.store.push([Batch("emails", [Message(id=uuid4(), body=body)])])
    (message,) = claim(http)
    assert message["receipt"] != "forged"
    assert ("payload" in message, message["binary"]) == (False, False)
    assert json.loads(http.get("/queues/emails/export").text)["base64"] == message["base64"]


def test_a_full_queue_says_when_to_come_again(http: httpx.Client) -> None:
    http.put("/queues/small", json={"max_length": 1})
    push(http, 1, queue="small")
    answer = http.post("/queues/small/messages", json={"payload": 2})
    refused(answer, 429, "QueueFull")
    assert answer.headers["retry-after"] == "1"


@pytest.mark.parametrize("kind", [StoreUnavailable, SchemaOutdated, *(k for k in TABLE if TABLE[k].instead)])
def test_what_a_database_says_stays_inside(kind: type[RowMQError]) -> None:
    answer = refuse(kind("(psycopg.errors) SELECT secret FROM rowmq_messages: password=sesame host=10.0.0.7"))
    assert isinstance(answer.body, bytes)
    shown = json.loads(answer.body)
    assert shown["code"] == kind.__name__
    assert not {"SELECT", "sesame", "10.0.0.7", "psycopg"} & set(
        answer.body.decode().replace("=", " ").split()
    )


def test_who_is_turned_away_is_told_to_come_back() -> None:
    for error in (Overloaded("busy"), StoreUnavailable("away"), SchemaOutdated("old")):
        assert int(refuse(error).headers["retry-after"]) >= 1
    assert refuse(Refusal(401, "who?", {"www-authenticate": "Bearer"})).headers == {
        "www-authenticate": "Bearer"
    }


def test_a_query_without_end_is_refused_and_nothing_breaks(
    http: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    for size in (32_000, 66_000, 150_000, 400_000):
        with suppress(urllib3.exceptions.HTTPError):  # hanging up in the middle is an answer too
            long = f"{http.base_url}wait?timeout=0" + "&queue=%C2%BB" * (size // 13)
            assert urllib3.request("GET", long, retries=False).status in {400, 414, 431}
    assert http.get("/store").status_code == 200
    assert "Fatal error" not in caplog.text


def test_a_missing_queue_is_named_in_the_problem(http: httpx.Client) -> None:
    assert refused(http.get("/queues/no%2Fwhere"), 404, "QueueNotFound")["queue"] == "no/where"


# Rights that the path alone does not tell.


@pytest.fixture
def guarded(mq: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path = write_tokens(
        tmp_path_factory.mktemp("native") / "tokens.toml",
        token_text("all", "all", push=["*"], claim=["*"], manage=["*"]),
        token_text("own", "own", push=["own-*"], claim=["own-*"], manage=["own-*"]),
    )
    with serving(mq, access=Tokens(path)) as url, httpx.Client(base_url=f"{url}/v1") as http:
        for name in ("own-a", "their-b"):
            mq.queue(name)
        http.headers["authorization"] = "Bearer own"
        yield http


def test_a_named_claim_of_a_foreign_queue_is_not_given_away(guarded: httpx.Client, mq: Client) -> None:
    mq.queue("their-b").push("secret")
    everything = {"authorization": "Bearer all"}
    guarded.post("/queues/their-b/claim", json={"name": "run"}, headers=everything)
    answer = guarded.post("/queues/own-a/claim", json={"name": "run"})
    assert "secret" not in answer.text
    refused(answer, 403, "Forbidden")
    refused(guarded.post("/queues/own-a/claims", json={"wants": [{"name": "run"}, {}]}), 403, "Forbidden")
    refused(guarded.post("/adopt", json={"name": "run"}), 403, "Forbidden")


def test_messages_cannot_be_sent_where_one_has_no_business(guarded: httpx.Client, mq: Client) -> None:
    own = str(mq.queue("own-a").push(1))
    for answer in (
        guarded.put("/queues/own-a", json={"dead_letter": "their-b"}),
        guarded.post("/queues/own-a/redrive", json={"to": "their-b"}),
        guarded.post("/amend", json={"ids": [own], "amendment": "move", "to": "their-b"}),
        guarded.put("/topics/own-t/queues/their-b"),
        guarded.put("/topics/their-t/queues/own-a"),
        guarded.put("/schedules/s", json={"queue": "their-b", "every": 60, "message": {"payload": 1}}),
        guarded.post("/push", json={"batches": [{"queue": "own-a", "messages": [{"payload": 1}]},
                                                {"queue": "their-b", "messages": []}]}),
    ):  # fmt: skip
        refused(answer, 403, "Forbidden")
    assert mq.queue("own-a").stats().ready == 1
    assert mq.queue("their-b").stats().ready == 0


def test_a_schedule_of_a_foreign_queue_cannot_be_taken_over(guarded: httpx.Client, mq: Client) -> None:
    mq.schedule("nightly", queue="their-b", every=60)
    said = {"queue": "own-a", "every": 60, "message": {"payload": 1}}
    refused(guarded.put("/schedules/nightly", json=said), 403, "Forbidden")
    assert mq.schedules()[0].queue == "their-b"
