"""The store behind a server: what only it can meet, from a wrong address to a reply that never comes."""

from __future__ import annotations

import logging
import os
import signal
import socket
import ssl
import threading
import time
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
import trustme

import rowmq
from rowmq.core.delivery import Receipt, Settlement, Want
from rowmq.core.errors import (
    InvalidURL,
    OutcomeUnknown,
    Overloaded,
    QueueFull,
    QueueNotFound,
    ScheduleNotFound,
    StoreError,
    StoreUnavailable,
    Unsupported,
)
from rowmq.core.message import LARGEST_BODY, Batch, Message, Pushed
from rowmq.core.outcome import ACK, Settled
from rowmq.doors.http.access import Tokens
from rowmq.doors.http.problem import TABLE, problem
from rowmq.engine import open_store
from rowmq.stores.remote import RemoteStore
from rowmq.stores.remote.shapes import Problem
from rowmq.stores.remote.transport import Address, Transport, error_of
from rowmq.testing.build import message, messages, payloads
from tests.doors.http.asked import token_text, write_tokens
from tests.doors.http.serving import PATIENCE, served, serving
from tests.servers import free_port
from tests.stores.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rowmq import ClaimedMessage


@pytest.fixture
def url() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture
def store(url: str) -> Iterator[RemoteStore]:
    found = open_store(url)
    assert isinstance(found, RemoteStore)
    yield found
    found.close()


class HttpProxy(Proxy):
    """A wire that is cut at the next request of some method."""

    method = b"POST"

    def cut_for(self, data: bytes) -> Any:
        with self._lock:
            if not self._next or not data.startswith(self.method):
                return None
            self.cuts += 1
            return self._next.pop()


@contextmanager
def through_proxy(url: str) -> Iterator[tuple[RemoteStore, HttpProxy]]:
    proxy = HttpProxy("127.0.0.1", urlsplit(url).port or 0)
    store = open_store(f"http://127.0.0.1:{proxy.port}")
    assert isinstance(store, RemoteStore)
    try:
        yield store, proxy
    finally:
        store.close()
        proxy.close()


# Opening.


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://", "names its host"),
        ("http://127.0.0.1:1?colour=red", "no option colour"),
        ("http://127.0.0.1:1?timeout=soon", "timeout is a number of seconds"),
        ("http://127.0.0.1:1?timeout=0", "timeout is a number of seconds"),
        ("https://127.0.0.1:1?ca=nowhere.pem", "holds no certificates"),
        ("http://127.0.0.1:nonsense", "not a store URL"),
    ],
)
def test_a_wrong_url_is_an_invalid_url(url: str, sentence: str) -> None:
    with pytest.raises(InvalidURL, match=sentence):
        open_store(url)


def test_a_server_that_is_not_there_is_unavailable_and_the_token_is_not_told() -> None:
    with pytest.raises(StoreUnavailable, match="cannot reach the server") as caught:
        open_store(f"http://sesame@127.0.0.1:{free_port()}")
    assert "sesame" not in str(caught.value)


class Other(BaseHTTPRequestHandler):
    """A server of another kind."""

    status = 404

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("content-length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    do_POST = do_GET  # noqa: N815 - as its base class wants it

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (200, StoreUnavailable),
        (302, StoreUnavailable),
        (400, rowmq.InvalidInput),
        (403, StoreUnavailable),
        (404, StoreUnavailable),
        (429, StoreUnavailable),
        (500, StoreError),
        (502, OutcomeUnknown),
        (503, StoreUnavailable),
        (504, OutcomeUnknown),
    ],
)
def test_a_server_of_another_kind_or_a_gateway_is_told_from_ours(
    status: int, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Other, "status", status)
    with HTTPServer(("127.0.0.1", 0), Other) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        try:
            with pytest.raises(error):
                open_store(f"http://127.0.0.1:{other.server_port}")
        finally:
            other.shutdown()
            thread.join()


def test_a_closed_store_says_so(url: str) -> None:
    store = open_store(url)
    store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        store.now()


# Tokens.


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[str]:
    path = write_tokens(
        tmp_path / "tokens.toml",
        token_text("all", "sesame", push=["*"], claim=["*"], manage=["*"]),
        token_text("pusher", "barley", push=["emails"]),
        token_text("worker", "millet", claim=["emails"], read=["emails"]),
    )
    with serving(access=Tokens(path)) as url:
        yield url


def test_a_token_comes_from_the_url_or_the_environment(guarded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with rowmq.connect(guarded.replace("//", "//sesame@")) as mq:
        assert mq.queue("emails").stats().ready == 0
    monkeypatch.setenv("ROWMQ_TOKEN", "sesame")
    with rowmq.connect(guarded) as mq:
        assert [queue.name for queue in mq.queues()] == ["emails"]


def test_a_token_that_is_missing_or_wrong_is_refused_and_never_shown(
    guarded: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(StoreUnavailable, match="refuses us"):
        open_store(guarded)
    with pytest.raises(StoreUnavailable, match="refuses us") as caught:
        open_store(guarded.replace("//", "//mistaken@"))
    with rowmq.connect(guarded.replace("//", "//sesame@")) as mq:
        shown = f"{mq!r} {mq.store!r} {vars(mq.store)!r} {mq.store.queues!r} {caught.value} {caplog.text}"
    assert "sesame" not in shown
    assert "mistaken" not in shown


def test_who_may_only_push_pushes_and_is_refused_the_rest(guarded: str) -> None:
    with rowmq.connect(guarded.replace("//", "//sesame@")) as mq:
        mq.queue("emails")
    store = open_store(guarded.replace("//", "//barley@"))
    (answer,) = store.push([Batch("emails", messages(2))])
    assert isinstance(answer, Pushed)
    with pytest.raises(StoreUnavailable, match="no right"):
        store.claim("emails", [Want()])
    with pytest.raises(StoreUnavailable, match="no right"):
        store.push([Batch("emails", messages(1)), Batch("other", messages(1))])
    store.close()


def test_a_worker_may_claim_and_read_its_queue_and_needs_no_more(guarded: str) -> None:
    done = threading.Event()
    with rowmq.connect(guarded.replace("//", "//sesame@")) as mq:
        mq.queue("emails").push(1)
    with rowmq.connect(guarded.replace("//", "//millet@")) as mq:
        mq.handler("emails")(lambda _: done.set())
        worker = mq.worker()
        worker.start()
        assert done.wait(PATIENCE)
        worker.stop(timeout=PATIENCE)
        assert mq.queue("emails").stats().done == 1
        with pytest.raises(StoreUnavailable, match="no right"):
            mq.queue("emails", lease=5)
        with pytest.raises(StoreUnavailable, match="no right"):
            mq.queue("others")


def test_a_server_with_tls_is_trusted_by_the_file_that_is_named(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with serving(tls=context) as url:
        with rowmq.connect(f"{url}?ca={tmp_path / 'ca.pem'}") as mq:
            assert mq.queue("emails").push_many([1, 2])
        with pytest.raises(StoreUnavailable):
            open_store(url)


# Errors.


@pytest.mark.parametrize("kind", [kind for kind in TABLE if kind not in {QueueNotFound, ScheduleNotFound}])
def test_an_error_comes_back_as_what_it_was(kind: type[Exception]) -> None:
    assert type(error_of(problem(kind("because")))) is kind


def test_a_queue_or_schedule_that_is_missing_is_named(store: RemoteStore) -> None:
    with pytest.raises(QueueNotFound, match="'no/where'") as caught:
        store.claim("no/where", [Want()])
    assert caught.value.name == "no/where"
    found = error_of(problem(ScheduleNotFound("nightly")))
    assert isinstance(found, ScheduleNotFound)
    assert found.name == "nightly"


def test_an_unknown_code_is_taken_by_its_status() -> None:
    told = Problem("/docs#New", "New", 503, "later", "SomethingNew")
    assert type(error_of(told)) is StoreUnavailable
    assert type(error_of(problem(Overloaded("busy")))) is Overloaded


def test_a_transaction_cannot_be_joined(store: RemoteStore) -> None:
    for call in (
        lambda: store.push([], tx=object()),
        lambda: store.settle([], tx=object()),
        lambda: store.topics.publish("t", [], tx=object()),
    ):
        with pytest.raises(Unsupported, match="without tx"):
            call()


def test_a_receipt_that_was_made_up_is_lost(store: RemoteStore) -> None:
    tokens = (uuid4().bytes, b"", b"\xff" * 16, b"A" * 5000, "naïve".encode(), b'"}],')
    settlements = [Settlement(Receipt(seq, token), ACK) for seq in (1, -1, 2**70) for token in tokens]
    assert set(store.settle(settlements)) == {Settled.LOST}


def test_text_that_is_not_json_cannot_be_pushed_as_json(store: RemoteStore) -> None:
    store.queues.put("q")
    for body in (b"{", b"", b"NaN", b'"\xff"', b"1 2", b"01"):
        with pytest.raises(rowmq.InvalidMessage):
            store.push([Batch("q", [Message(id=uuid4(), body=body)])])
    assert store.queues.stats("q").ready == 0


def test_text_that_utf_8_cannot_say_is_refused_before_it_is_sent(store: RemoteStore) -> None:
    for call in (
        lambda: store.history.find("\ud83d"),
        lambda: store.history.ledger("\ud83d"),
        lambda: store.wait(["\ud83d"], timedelta(seconds=1)),
        lambda: store.adopt("\ud83d"),
    ):
        with pytest.raises(rowmq.InvalidInput, match="lone surrogates"):
            call()
    assert store.queues.get("\ud83d") is None


def test_dots_and_slashes_in_names_lead_nowhere_else(store: RemoteStore) -> None:
    names = [".", "..", "../queues", "a/b", "a%2Fb", "?x=1#y", "a//b"]
    for name in names:
        store.queues.put(name)
        store.push([Batch(name, [message(name)])])
    assert [queue.name for queue in store.queues.list()] == sorted(names)
    assert [payloads(store.claim(name, [Want()])[0]) for name in names] == [[name] for name in names]


def test_a_push_too_large_for_one_request_goes_in_several(store: RemoteStore) -> None:
    store.queues.put("q")
    batches = [Batch("q", [message(bytes(LARGEST_BODY))]) for _ in range(7)]
    answers = store.push(batches)
    assert [type(answer) for answer in answers] == [Pushed] * 7
    assert store.queues.stats("q").ready == 7


def test_a_refused_batch_is_an_answer_among_others(store: RemoteStore) -> None:
    store.queues.put("q", {"max_length": 2})
    batches = [Batch("q", messages(2)), Batch("q", messages(1)), Batch("nowhere", messages(1))]
    assert [type(answer) for answer in store.push(batches)] == [Pushed, QueueFull, QueueNotFound]


# Replies that never come.


def test_a_push_whose_reply_is_lost_is_sent_again_and_counts_once(url: str) -> None:
    with through_proxy(url) as (store, proxy):
        store.queues.put("q")
        proxy.cut_next_commit("reply", times=2)
        (answer,) = store.push([Batch("q", messages(3))])
        assert isinstance(answer, Pushed)
        assert (proxy.cuts, store.queues.stats("q").ready) == (2, 3)


def test_a_push_whose_reply_is_lost_again_and_again_is_unknown(url: str) -> None:
    with through_proxy(url) as (store, proxy):
        store.queues.put("q")
        proxy.cut_next_commit("reply", times=3)
        with pytest.raises(OutcomeUnknown):
            store.push([Batch("q", messages(3))])
        assert store.queues.stats("q").ready == 3


def test_a_settlement_or_claim_whose_reply_is_lost_is_unknown_and_sent_once(url: str) -> None:
    with through_proxy(url) as (store, proxy):
        store.queues.put("q")
        store.push([Batch("q", messages(2))])
        (delivery,) = store.claim("q", [Want()])[0]
        proxy.cut_next_commit("reply")
        with pytest.raises(OutcomeUnknown):
            store.settle([Settlement(delivery.receipt, ACK)])
        proxy.cut_next_commit("reply")
        with pytest.raises(OutcomeUnknown):
            store.claim("q", [Want()])
        stats = store.queues.stats("q")
        assert (proxy.cuts, stats.done, stats.leased) == (2, 1, 1)


def test_a_question_whose_answer_is_lost_is_asked_again(url: str) -> None:
    with through_proxy(url) as (store, proxy):
        proxy.method = b"GET"
        proxy.cut_next_commit("reply", times=2)
        assert store.queues.list() == []
        proxy.cut_next_commit("reply", times=3)
        with pytest.raises(StoreUnavailable, match="does not answer"):
            store.queues.list()
        proxy.method = b"POST"
        proxy.cut_next_commit("reply", times=2)
        assert list(store.history.find().records) == []
        proxy.cut_next_commit("reply", times=3)
        with pytest.raises(StoreUnavailable, match="does not answer"):
            store.history.find()


def test_an_answer_that_takes_too_long_is_unknown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port: int = silent.getsockname()[1]
        store = RemoteStore(Transport(Address("127.0.0.1", port, timeout=0.05)))
        with pytest.raises(OutcomeUnknown):
            store.settle([Settlement(Receipt(1, b""), ACK)])
        with pytest.raises(StoreUnavailable):
            store.now()
        store.close()


# Processes.


def test_a_forked_child_has_connections_of_its_own(url: str) -> None:
    with rowmq.connect(url) as mq:
        queue = mq.queue("q")
        queue.push("before")
        assert isinstance(mq.store, RemoteStore)
        transport, code = mq.store.transport, 1
        before = transport._connections()
        child = os.fork()
        if child == 0:
            try:
                for number in range(20):
                    queue.push(number)
                code = int(transport._connections() is before)
            finally:
                os._exit(code)
        for number in range(20):
            queue.push(number)
        assert os.waitpid(child, 0)[1] == 0
        assert queue.stats().ready == 41


def test_a_worker_goes_on_when_its_server_was_killed_and_is_back(tmp_path: Path) -> None:
    port, half, count = free_port(), threading.Event(), 60
    arguments = ("-d", str(tmp_path / "queue.db"))
    seen: list[int] = []

    def handle(message: ClaimedMessage) -> None:
        seen.append(message.payload)
        time.sleep(0.005)
        if len(seen) >= count // 3:
            half.set()

    with served(*arguments, folder=tmp_path, port=port, ends=False) as first:
        mq = rowmq.connect(first.url)
        queue = mq.queue("jobs", lease=2, max_attempts=None)
        queue.push_many(range(count))
        mq.handler("jobs")(handle)
        worker = mq.worker(concurrency=4)
        worker.start()
        assert half.wait(PATIENCE)
        first.process.send_signal(signal.SIGKILL)
        first.process.wait(PATIENCE)
    with served(*arguments, folder=tmp_path, port=port):
        end = time.monotonic() + PATIENCE
        while queue.stats().done < count:
            assert time.monotonic() < end, queue.stats()
            time.sleep(0.05)
        worker.stop(timeout=PATIENCE)
        assert set(seen) == set(range(count))
        mq.close()


def test_producers_consumers_tasks_schedules_and_topics_run_over_http(url: str) -> None:
    with rowmq.connect(url) as mq:
        queue = mq.queue("emails")
        with queue.producer(batch=10) as producer:
            for number in range(25):
                producer.push(number)
        with queue.consumer(batch=25) as consumer:
            assert sorted(each.payload for each in consumer.pop()) == list(range(25))

        @mq.task(queue="sums", results=True)
        def add(a: int, b: int) -> int:
            return a + b

        mq.queue("sums")
        mq.schedule("tick", queue="emails", every=1, payload="tick")
        mq.topic("news").subscribe("emails")
        mq.topic("news").publish("extra")
        pushed = add.push(2, 3)
        worker = mq.worker("sums")
        worker.start()
        assert pushed.result(timeout=PATIENCE) == 5
        assert [each.payload for each in queue.claim(wait=PATIENCE)] == ["extra"]
        assert [each.payload for each in queue.claim(wait=PATIENCE)] == ["tick"]
        worker.stop()
