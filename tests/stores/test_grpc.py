"""The store behind a server's gRPC port: queues and topics through it, and what only it can meet."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import trustme

import rowmq
from rowmq.core.backoff import Backoff
from rowmq.core.delivery import Claim, Receipt, Settlement, Want
from rowmq.core.errors import (
    DuplicateMessage,
    InvalidMessage,
    InvalidSetting,
    InvalidURL,
    QueueFull,
    QueueNotFound,
    StoreUnavailable,
    Unsupported,
)
from rowmq.core.message import Batch, Message
from rowmq.core.outcome import ACK, Ack, Bury, Outcome, Release, Retry, Settled
from rowmq.core.queue import Guarantee, Rate
from rowmq.core.where import Condition
from rowmq.stores.fresh import new_id
from rowmq.stores.memory import MemoryStore
from tests.doors.grpc.serving import serving as grpc_serving
from tests.doors.http.asked import token_text, write_tokens
from tests.doors.http.serving import served
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def behind() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def url(behind: MemoryStore) -> Iterator[str]:
    with grpc_serving(behind) as address:
        yield f"grpc://{address}"


@pytest.fixture
def mq(url: str) -> Iterator[rowmq.Client]:
    with rowmq.connect(url) as mq:
        yield mq


def test_a_message_goes_through_its_life(mq: rowmq.Client) -> None:
    emails = mq.queue("emails", max_attempts=3)
    at = datetime.now(UTC) - timedelta(hours=1)
    id = emails.push({"to": "adä"}, metadata={"v": "1"}, priority=5, key="k", group="g", at=at)
    assert emails.push("again", key="k") == id
    (message,) = emails.claim(limit=10)
    assert (message.id, message.payload, message.metadata) == (id, {"to": "adä"}, {"v": "1"})
    assert (message.attempt, message.max_attempts, message.priority, message.group) == (1, 3, 5, "g")
    message.extend()
    message.retry(error="later")
    (message,) = emails.claim(wait=5)
    message.ack()
    assert emails.stats().done == 1


def test_bytes_come_back_byte_for_byte_and_json_as_it_was(mq: rowmq.Client) -> None:
    queue = mq.queue("q")
    payloads = [bytes(range(256)), b"", {"b": 1.0, "a": [None, "\u2028"]}, "text", 7]
    queue.push_many(payloads)
    assert [each.payload for each in queue.claim(limit=10)] == payloads


def test_every_outcome_reaches_the_store(mq: rowmq.Client, behind: MemoryStore) -> None:
    mq.queue("q").push_many(range(4))
    found = mq.store.claim("q", [Want(limit=4)])[0]
    outcomes: list[Outcome] = [
        Ack(b"1"),
        Retry(delay=timedelta(hours=1), error="e"),
        Release(),
        Bury(error="dead"),
    ]
    settlements = [Settlement(each.receipt, how) for each, how in zip(found, outcomes, strict=True)]
    assert mq.store.settle(settlements) == [Settled.SETTLED] * 4
    assert mq.store.settle([Settlement(Receipt(1, b"?"), ACK)]) == [Settled.LOST]
    assert behind.queues.stats("q")[:5] == (1, 1, 0, 1, 1)


def test_every_setting_of_a_queue_survives_the_way(mq: rowmq.Client, behind: MemoryStore) -> None:
    mq.queue("dead")
    settings: dict[str, Any] = {
        "max_attempts": None, "lease": timedelta(seconds=1.5), "delay": timedelta(seconds=2),
        "backoff": Backoff(first=timedelta(seconds=3), factor=1.5, cap=timedelta(minutes=1), jitter=0.0),
        "delivery": Guarantee.AT_MOST_ONCE, "fifo": True, "retention": None, "max_age": timedelta(days=1),
        "dead_letter": "dead", "paused": True, "max_length": 5, "tags": {"a": "b"},
        "rate": Rate(3, timedelta(seconds=4)),
    }  # fmt: skip
    assert mq.store.queues.put("q", settings) == behind.queues.get("q") == mq.store.queues.get("q")
    cleared = mq.store.queues.put("q", {"dead_letter": None, "rate": None, "max_length": None, "tags": {}})
    assert cleared == behind.queues.get("q")
    assert (cleared.dead_letter, cleared.rate, cleared.max_length, cleared.tags) == (None, None, None, {})


def test_topics_are_bound_published_to_and_unbound(mq: rowmq.Client) -> None:
    mq.topic("orders").subscribe("billing")
    assert mq.topics() == {"orders": ["billing"]}
    assert mq.topic("orders").publish({"n": 1}) == 1
    assert mq.topic("orders").unsubscribe("billing")
    assert not mq.topic("orders").unsubscribe("billing")
    assert [each.payload for each in mq.queue("billing").claim()] == [{"n": 1}]


def test_consumers_have_their_places(mq: rowmq.Client) -> None:
    mq.queue("q")
    beat = mq.store.consumers.beat
    places = [beat("q", name, timedelta(seconds=30)) for name in ("a", "b", "b")]
    assert [(each.index, each.count, each.joined) for each in places] == [
        (0, 1, True),
        (1, 2, True),
        (1, 2, False),
    ]
    assert [(each.queue, each.name) for each in mq.consumers("q")] == [("q", "a"), ("q", "b")]
    assert mq.store.consumers.retire("q", "a")
    assert [each.name for each in mq.consumers()] == ["b"]


def test_conditions_are_the_stores(mq: rowmq.Client) -> None:
    queue = mq.queue("q")
    for lang in ("en", "fr"):
        queue.push(lang, metadata={"lang": lang})
    want = Want(limit=5, where=(Condition("lang", "!=", ("en",)),))
    assert [each.payload for each in mq.store.claim("q", [want])[0]] == ["fr"]


def test_refusals_are_the_engines_errors(mq: rowmq.Client) -> None:
    with pytest.raises(QueueNotFound, match="'nö'") as missing:
        mq.push("nö", 1)
    assert missing.value.name == "nö"
    mq.queue("q", max_length=1).push(1)
    with pytest.raises(QueueFull):
        mq.push("q", 2)
    with pytest.raises(InvalidSetting):
        mq.queue("q", lease=0)
    message = Message(id=new_id(), body=b"1")
    mq.queue("r")
    first, second = mq.store.push([Batch("r", [message]), Batch("r", [Message(id=message.id, body=b"2")])])
    assert not isinstance(first, Exception)
    assert isinstance(second, DuplicateMessage)


def test_what_grpc_has_no_call_for_is_unsupported_in_one_sentence(mq: rowmq.Client) -> None:
    for call in (
        lambda: mq.get(new_id()),
        lambda: mq.failures(new_id()),
        lambda: mq.store.adopt("name"),
        lambda: mq.store.claim("q", [Want(name="n")]),
        lambda: mq.store.claim("q", [Want(since=datetime.now(UTC))]),
        lambda: mq.store.claim("q", [Want(until=datetime.now(UTC))]),
        lambda: mq.store.settle([Settlement(Claim("n", b""), ACK)]),
        lambda: mq.store.push([], now=datetime.now(UTC)),
        lambda: mq.store.push([], tx=object()),
    ):
        with pytest.raises(Unsupported):
            call()


def test_a_worker_works_behind_grpc_without_complaint(
    mq: rowmq.Client, caplog: pytest.LogCaptureFixture
) -> None:
    queue, seen = mq.queue("q"), []
    queue.handler(lambda message: seen.append(message.payload))
    queue.push_many(range(20))
    mq.work(stop_when_empty=True)
    assert sorted(seen) == list(range(20))
    assert [each for each in caplog.records if each.levelname in {"WARNING", "ERROR"}] == []


@pytest.mark.parametrize("url", ["grpc://", "grpc://h?x=1", "grpc://h?timeout=0", "grpc://h?timeout=x"])
def test_a_url_that_names_no_server_is_refused(url: str) -> None:
    with pytest.raises(InvalidURL):
        rowmq.connect(url)


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable, match="is it running"):
        rowmq.connect(f"grpc://127.0.0.1:{free_port()}?timeout=5")


FORKS = """
import os, sys, rowmq
mq = rowmq.connect(sys.argv[1])
mq.queue("q").push("parent")
child = os.fork()
if not child:
    mq.push("q", "child")
    os._exit(0)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_a_forked_child_connects_anew(tmp_path: Path) -> None:
    """In a process of its own, as programs are: a server's threads, which no fork survives, are not in it."""
    port = free_port()
    with served("-d", "q.db", "--grpc-port", str(port), folder=tmp_path):
        url = f"grpc://127.0.0.1:{port}"
        theirs = {name: value for name, value in os.environ.items() if name != "GRPC_ENABLE_FORK_SUPPORT"}
        subprocess.run([sys.executable, "-c", FORKS, url], check=True, timeout=60, env=theirs)
        with rowmq.connect(url) as mq:
            assert sorted(each.payload for each in mq.queue("q").claim(limit=10)) == ["child", "parent"]


def test_tokens_and_tls_are_those_of_http(tmp_path: Path) -> None:
    write_tokens(tmp_path / "tokens.toml", token_text("worker", "worker", push=["q"], manage=["q"]))
    authority = trustme.CA()
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    port = free_port()
    arguments = (
        "-d",
        "q.db",
        "--tokens",
        "tokens.toml",
        "--tls-cert",
        "server.pem",
        "--grpc-port",
        str(port),
    )
    with served(*arguments, folder=tmp_path):
        where, trusted = f"localhost:{port}", f"ca={tmp_path / 'ca.pem'}"
        with rowmq.connect(f"grpcs://worker@{where}?{trusted}") as mq:
            mq.queue("q").push(1)
            with pytest.raises(StoreUnavailable, match="no right"):
                mq.push("other", 1)
        with pytest.raises(StoreUnavailable, match="say who you are"):
            rowmq.connect(f"grpcs://wrong@{where}?{trusted}")
        with pytest.raises(StoreUnavailable):
            rowmq.connect(f"grpcs://worker@{where}?timeout=3")


def test_a_batch_of_many_large_messages_is_taken_whole_or_refused_for_good(mq: rowmq.Client) -> None:
    queue = mq.queue("q")
    queue.push_many([bytes(2**21)] * 8)
    assert queue.stats().ready == 8
    with pytest.raises(InvalidMessage, match="at most 67108864 bytes"):
        queue.push_many([bytes(2**23)] * 8)
    with pytest.raises(InvalidMessage, match="at most 67108864 bytes"):
        mq.topic("t").publish_many([bytes(2**23)] * 8)
    assert queue.stats().ready == 8
