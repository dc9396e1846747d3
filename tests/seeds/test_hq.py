"""hq's queue over HTTP: its client's checks, and what goes wrong there.

hq's words and ours: enqueue = push; receive = claim; complete = ack; fail = bury; args = the payload;
visibility_timeout_seconds = the queue's lease.
"""

import json
import re
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

import httpx
import pytest

import rowmq
from rowmq import State
from rowmq.stores.sql.store import SQLStore
from tests.doors.http.serving import served, serving
from tests.servers import ServerMissingError, skip_or_fail
from tests.stores.crowds import Crowd, fill
from tests.stores.work import counting

MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}")
DOCUMENT = Path(__file__).parents[2] / "docs/from-hq.md"
START = datetime(2030, 1, 1, tzinfo=UTC)


class HQ:
    """hq's own client, as far as its checks go. With ``at``, requests say what time it is."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url)
        self.at: float | None = None

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        now = {} if self.at is None else {"rowmq-now": (START + timedelta(seconds=self.at)).isoformat()}
        return self.http.request(method, path, headers=now, **options)

    def ok(self, method: str, path: str, **options: Any) -> Any:
        answer = self.ask(method, path, **options)
        assert answer.status_code == 200, answer.text
        return answer.json() if answer.content else None

    def create(self, name: str, max_attempts: int, visibility_timeout_seconds: int) -> None:
        asked = {"max_attempts": max_attempts, "visibility_timeout_seconds": visibility_timeout_seconds}
        assert self.ok("POST", "/queues", params={"name": name, **asked}) is None

    def queues(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ok("GET", "/queues")
        return found

    def queue(self, name: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.ok("GET", f"/queues/{name}")
        return found

    def update(self, name: str, **changes: int) -> None:
        assert self.ok("PUT", f"/queues/{name}?", params=changes) is None

    def delete(self, name: str) -> None:
        assert self.ok("DELETE", f"/queues/{name}") is None

    def enqueue(self, name: str, args: Any) -> UUID:
        return UUID(self.ok("POST", f"/queues/{name}/enqueue", json=args)["message_id"])

    def receive(self, name: str) -> Any:
        return self.ok("GET", f"/queues/{name}/receive")

    def complete(self, id: UUID | str, **proof: str) -> None:
        assert self.ok("PUT", f"/messages/{id}/complete", params=proof) is None

    def fail(self, id: UUID | str, **proof: str) -> None:
        assert self.ok("PUT", f"/messages/{id}/fail", params=proof) is None


@pytest.fixture
def hq(tmp_path: Path) -> Iterator[HQ]:
    """A client of a server just started, on an empty store."""
    with served("-r", "5", "-d", ":memory:", folder=tmp_path) as server:
        client = HQ(server.url)
        with client.http:
            yield client


@pytest.fixture
def mq(url: str) -> Iterator[rowmq.Client]:
    with rowmq.connect(url) as client:
        yield client


@pytest.fixture
def timed(mq: rowmq.Client) -> Iterator[HQ]:
    """A client of a server in this process, which moves its clock."""
    with serving(mq, clients_clock=True) as url:
        client = HQ(url)
        client.at = 0
        with client.http:
            yield client


# ---- hq's own checks ---------------------------------------------------------------------------------------


def test_a_queue_is_created(hq: HQ) -> None:
    hq.create("emails", 5, 30)
    assert [each["name"] for each in hq.queues()] == ["emails"]


def test_there_are_no_queues_to_list(hq: HQ) -> None:
    assert hq.queues() == []


def test_some_queues_are_listed_by_name(hq: HQ) -> None:
    hq.create("b", 5, 30)
    hq.create("a", 6, 40)
    found = hq.queues()
    settings = ("name", "max_attempts", "visibility_timeout_seconds")
    assert [[each[name] for name in settings] for each in found] == [["a", 6, 40], ["b", 5, 30]]
    assert all(MOMENT.fullmatch(each[name]) for each in found for name in ("inserted_at", "updated_at"))
    assert set(found[0]) == {*settings, "inserted_at", "updated_at"}


def test_there_is_no_queue_to_get(hq: HQ) -> None:
    assert hq.queue("emails") is None


def test_a_queue_is_got(hq: HQ) -> None:
    hq.create("emails", 5, 30)
    found = hq.queue("emails")
    assert found is not None
    assert [found] == hq.queues()


def test_the_attempts_of_a_queue_are_updated(hq: HQ) -> None:
    hq.create("emails", 5, 30)
    hq.update("emails", max_attempts=10)
    found = hq.queue("emails")
    assert found is not None
    assert (found["max_attempts"], found["visibility_timeout_seconds"]) == (10, 30)


def test_the_timeout_of_a_queue_is_updated(hq: HQ) -> None:
    hq.create("emails", 5, 30)
    hq.update("emails", visibility_timeout_seconds=60)
    found = hq.queue("emails")
    assert found is not None
    assert (found["max_attempts"], found["visibility_timeout_seconds"]) == (5, 60)


def test_nothing_of_a_queue_is_updated(hq: HQ) -> None:
    hq.create("emails", 5, 30)
    before = hq.queue("emails")
    hq.update("emails")
    assert hq.queue("emails") == before


def test_a_queue_that_is_not_there_is_deleted(hq: HQ) -> None:
    hq.delete("emails")
    assert hq.queues() == []


def test_a_queue_is_deleted(hq: HQ) -> None:
    hq.create("emails", 5, 30)
    hq.delete("emails")
    assert hq.queues() == []
    assert hq.queue("emails") is None


def test_a_message_is_enqueued(hq: HQ) -> None:
    hq.create("emails", 5, 30)
    id = hq.enqueue("emails", {"to": "ada"})
    assert UUID(hq.receive("emails")["id"]) == id


def test_there_is_no_message_to_receive(hq: HQ) -> None:
    hq.create("emails", 5, 30)
    assert hq.receive("emails") is None


def test_a_message_is_received_once(hq: HQ) -> None:
    hq.create("emails", 5, 30)
    id = hq.enqueue("emails", {"to": ["ada", None, 1.5]})
    found = hq.receive("emails")
    assert found.pop("receipt")
    assert found == {"id": str(id), "args": {"to": ["ada", None, 1.5]}, "queue": "emails", "attempts": 1}
    assert hq.receive("emails") is None


def test_a_message_is_completed(hq: HQ) -> None:
    hq.create("emails", 5, 1)
    id = hq.enqueue("emails", "hello")
    hq.receive("emails")
    hq.complete(id)
    assert never_comes(hq, "emails", 1.2)


def test_a_message_fails_for_good(hq: HQ) -> None:
    hq.create("emails", 5, 1)
    id = hq.enqueue("emails", "hello")
    hq.receive("emails")
    hq.fail(id)
    assert never_comes(hq, "emails", 1.2)


def test_a_message_whose_lease_ends_comes_again_until_its_attempts_are_used_up(hq: HQ) -> None:
    hq.create("emails", 2, 1)
    id = hq.enqueue("emails", "hello")
    found = [hq.receive("emails"), comes(hq, "emails", 30)]
    assert [(each["id"], each["attempts"]) for each in found] == [(str(id), 1), (str(id), 2)]
    assert never_comes(hq, "emails", 1.5)


def comes(hq: HQ, queue: str, seconds: float) -> Any:
    """What is received within that time: hq's client has no clock to move."""
    end = time.monotonic() + seconds
    while (found := hq.receive(queue)) is None:
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.05)
    return found


def never_comes(hq: HQ, queue: str, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert hq.receive(queue) is None
        time.sleep(0.1)
    return True


# ---- faults that are not here ------------------------------------------------------------------------------


def held_again(timed: HQ) -> tuple[Any, Any]:
    """One message as its first holder had it and as its second has it."""
    timed.create("emails", 5, 10)
    timed.enqueue("emails", "hello")
    first = timed.receive("emails")
    timed.at = 11
    return first, timed.receive("emails")


@pytest.mark.parametrize("end", ["complete", "fail"])
def test_who_lost_a_message_cannot_settle_it_with_its_receipt(mq: rowmq.Client, timed: HQ, end: str) -> None:
    first, second = held_again(timed)
    assert second["id"] == first["id"]
    getattr(timed, end)(first["id"], receipt=first["receipt"])
    record = mq.store.history.get(UUID(first["id"]), now=START + timedelta(seconds=11))
    assert record is not None
    assert record.state == State.LEASED
    timed.complete(second["id"], receipt=second["receipt"])
    assert mq.get(first["id"]).state == State.DONE  # type: ignore[union-attr]


@pytest.mark.parametrize("end", ["complete", "fail"])
def test_nobody_settles_a_message_without_a_receipt_once_its_lease_has_ended(timed: HQ, end: str) -> None:
    timed.create("emails", 5, 10)
    id = timed.enqueue("emails", "hello")
    timed.receive("emails")
    timed.at = 10
    getattr(timed, end)(id)
    assert timed.receive("emails")["attempts"] == 2


def test_without_a_receipt_a_message_is_settled_only_while_it_is_held(mq: rowmq.Client, timed: HQ) -> None:
    timed.create("emails", 5, 10)
    id = timed.enqueue("emails", "hello")
    timed.complete(id)
    timed.complete(uuid4())
    assert timed.receive("emails")["attempts"] == 1
    timed.complete(id)
    assert mq.get(id).state == State.DONE  # type: ignore[union-attr]


def test_a_message_out_of_attempts_is_dead_and_can_be_given_another_life(mq: rowmq.Client, timed: HQ) -> None:
    timed.create("emails", 1, 10)
    id = timed.enqueue("emails", "hello")
    timed.receive("emails")
    timed.at = 11
    assert timed.receive("emails") is None
    record = mq.get(id)
    assert record is not None
    assert (record.state, record.reason) == (State.DEAD, rowmq.Reason.EXHAUSTED)
    assert mq.queue("emails").redrive() == 1


def test_head_receives_nothing(timed: HQ) -> None:
    timed.create("emails", 5, 10)
    timed.enqueue("emails", "hello")
    assert timed.ask("HEAD", "/queues/emails/receive").status_code == 405
    assert timed.receive("emails")["attempts"] == 1


def test_what_a_receive_costs_does_not_grow_with_a_hundred_thousand_finished_messages(url: str) -> None:
    with rowmq.connect(url) as mq, serving(mq) as where:
        store = cast("SQLStore", mq.store)
        hq = HQ(where)
        works = {}
        with hq.http:
            for name, finished in (("small", 10), ("large", 100_000)):
                mq.queue(name)
                fill(store, name, Crowd(finished=finished))
                works[name] = min(received_at(store, hq, name) for _ in range(5))
    assert 0 < works["large"] <= 1.25 * works["small"] + 20


def received_at(store: SQLStore, hq: HQ, queue: str) -> int:
    """The work of one receive."""
    hq.enqueue(queue, "hello")
    with counting(store) as count:
        assert hq.receive(queue)["args"] == "hello"
    return count.total


# ---- the rest of its contract ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("POST", "/queues?name=a&max_attempts=1", 400, "visibility_timeout_seconds"),
        ("POST", "/queues?max_attempts=1&visibility_timeout_seconds=1", 400, "name"),
        ("POST", "/queues?name=a&max_attempts=x&visibility_timeout_seconds=1", 400, "int"),
        ("POST", "/queues?name=a&max_attempts=0&visibility_timeout_seconds=1", 422, "max_attempts must be"),
        (
            "POST", "/queues?name=a&max_attempts=1&visibility_timeout_seconds=0",
            422, "visibility_timeout_seconds must be >= 1",
        ),
        ("POST", "/queues?name=a&max_attempts=1&visibility_timeout_seconds=99999999999999", 422, "3650 days"),
        (
            "POST", "/queues?name=emails&max_attempts=1&visibility_timeout_seconds=1",
            409, "Error: queue name must be unique",
        ),
        ("PUT", "/queues/emails?max_attempts=0", 422, "max_attempts must be >= 1"),
        ("PUT", "/queues/emails?max_attempts=x", 400, "int"),
        ("PUT", "/messages/7/complete", 400, "UUID"),
        ("PUT", "/messages/7/fail", 400, "UUID"),
        ("PUT", f"/messages/{UUID(int=7)}/fail?receipt=7", 400, "receipt"),
        ("POST", "/queues/nowhere/enqueue", 404, "no queue 'nowhere'"),
        ("POST", "/queues/emails/enqueue", 400, "not JSON"),
        ("GET", "/nothing", 404, "nothing"),
        ("PATCH", "/queues/emails", 405, "PATCH"),
    ],
)  # fmt: skip
def test_what_is_asked_wrongly_is_said_in_plain_text(
    timed: HQ, method: str, path: str, status: int, said: str
) -> None:
    timed.create("emails", 5, 10)
    given = b"1" if "nowhere" in path else b"{"
    answer = timed.ask(method, path, content=given if method == "POST" else None)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/plain; charset=utf-8")
    assert said in answer.text
    assert [each["max_attempts"] for each in timed.queues()] == [5]


def test_of_a_queue_that_is_not_there_nothing_is_received_updated_or_made(timed: HQ) -> None:
    timed.update("nowhere", max_attempts=2, visibility_timeout_seconds=3)
    assert timed.receive("nowhere") is None
    assert timed.queues() == []


def test_both_settings_are_updated_at_once_and_so_is_the_moment_of_it(timed: HQ) -> None:
    timed.create("emails", 5, 10)
    timed.at = 60
    timed.update("emails", max_attempts=2, visibility_timeout_seconds=3)
    assert timed.queue("emails") == {
        "name": "emails",
        "max_attempts": 2,
        "visibility_timeout_seconds": 3,
        "inserted_at": "2030-01-01 00:00:00.000",
        "updated_at": "2030-01-01 00:01:00.000",
    }


@pytest.mark.parametrize(("timeout", "free"), [(5, 5), (100, 100), (1, 2)])
def test_a_new_timeout_counts_for_messages_that_are_held(timed: HQ, timeout: int, free: int) -> None:
    timed.create("emails", 5, 10)
    timed.enqueue("emails", "hello")
    timed.receive("emails")
    timed.at = 1.9
    timed.update("emails", visibility_timeout_seconds=timeout)
    timed.at = free - 0.1
    assert timed.receive("emails") is None
    timed.at = free
    assert timed.receive("emails")["attempts"] == 2


def test_new_attempts_count_for_messages_that_are_held(timed: HQ) -> None:
    timed.create("emails", 5, 10)
    timed.enqueue("emails", "hello")
    timed.receive("emails")
    timed.update("emails", max_attempts=1)
    timed.at = 10
    assert timed.receive("emails") is None


@pytest.mark.parametrize("args", [None, 0, "", "ä\u2028\x7f", [], {"a": {"b": [1e300, -0.0, 2**60]}}])
def test_any_json_value_is_a_message_whatever_its_type_is_said_to_be(timed: HQ, args: Any) -> None:
    timed.create("emails", 5, 10)
    timed.ok("POST", "/queues/emails/enqueue", content=json.dumps(args).encode())
    assert timed.receive("emails")["args"] == args


def test_a_message_has_at_most_two_mebibytes(timed: HQ) -> None:
    timed.create("emails", 5, 10)
    largest = b'"' + b"x" * (2 * 2**20 - 2) + b'"'
    timed.ok("POST", "/queues/emails/enqueue", content=largest)
    answer = timed.ask("POST", "/queues/emails/enqueue", content=largest + b" ")
    assert (answer.status_code, answer.headers["content-type"]) == (413, "text/plain; charset=utf-8")
    assert len(timed.receive("emails")["args"]) == 2 * 2**20 - 2
    assert timed.receive("emails") is None


def test_a_queue_and_a_message_of_another_door_are_shown_too(mq: rowmq.Client, timed: HQ) -> None:
    mq.queue("bytes", max_attempts=None, lease=0.5).push(b"\xff")
    assert timed.queue("bytes") == {
        "name": "bytes",
        "max_attempts": 2**31 - 1,
        "visibility_timeout_seconds": 1,
        "inserted_at": "1970-01-01 00:00:00.000",
        "updated_at": "1970-01-01 00:00:00.000",
    }
    assert timed.receive("bytes")["args"] == "/w=="


def test_a_caller_is_told_whether_a_settlement_counted(timed: HQ) -> None:
    first, second = held_again(timed)
    answers = [
        timed.ask("PUT", f"/messages/{each['id']}/complete", params={"receipt": each["receipt"]})
        for each in (first, second, second)
    ]
    assert [each.headers["rowmq-settled"] for each in answers] == ["lost", "settled", "repeated"]


def test_a_name_may_hold_anything_that_a_path_can_say(timed: HQ) -> None:
    timed.create("a/b ä?", 5, 10)
    where = "/queues/a%2Fb%20%C3%A4%3F"
    timed.ok("POST", f"{where}/enqueue", content=b"1")
    assert timed.ok("GET", f"{where}/receive")["queue"] == "a/b ä?"


def test_the_commands_of_the_document_do_what_it_says(tmp_path: Path) -> None:
    (commands,) = re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    for tool in ("curl", "jq"):
        if shutil.which(tool) is None:
            skip_or_fail(ServerMissingError(f"{tool} is not installed"))
    with served("-d", ":memory:", folder=tmp_path) as server:
        script = commands.replace("http://localhost:9999", server.url).replace(
            "curl ", "curl -sS --fail -w '\\n' "
        )
        ran = subprocess.run(
            ["/bin/sh", "-e", "-c", script], capture_output=True, text=True, timeout=60, check=False
        )
    assert (ran.returncode, ran.stderr) == (0, "")
    said = [json.loads(line) for line in ran.stdout.splitlines() if line]
    assert [each and list(each) for each in said] == [
        ["name", "max_attempts", "visibility_timeout_seconds", "inserted_at", "updated_at"],
        ["message_id"],
        ["id", "args", "queue", "attempts", "receipt"],
        None,
    ]
    assert said[2]["args"] == {"to": "ada@example.com"}


def test_a_request_that_takes_too_long_is_told_so(sqlite_url: str) -> None:
    path = sqlite_url.removeprefix("sqlite:///")
    with rowmq.connect(sqlite_url) as mq, serving(mq, request_timeout=0.2) as url:
        mq.queue("emails")
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            answer = httpx.post(f"{url}/queues/emails/enqueue", content=b"1", timeout=30)
            other.execute("ROLLBACK")
    assert (answer.status_code, answer.text) == (408, "this took longer than 0.2 seconds")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
