"""Callers who are slow, say too much, or do not listen."""

from __future__ import annotations

import re
import socket
import ssl
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pytest
import trustme

from rowmq.doors.http.connection import LARGEST_HEAD, LEAST, Limits
from rowmq.runtime.client import Client, connect
from tests.doors.http.raw import statuses
from tests.doors.http.serving import serving
from tests.timing import timed

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORT = 0.4
LIMITS = Limits(head=SHORT, body=SHORT, connections=4)
PATIENT = Limits(head=3 * SHORT, body=3 * SHORT)
"""For callers who are slow on purpose, and must not be taken for too slow."""
LONG = 50 * SHORT
"""More than anybody may take, and what a test waits at most."""
UNHURRIED = Limits(head=LONG, body=LONG, connections=4)
"""For callers who are refused for something else, also on a busy machine."""
GET = b"GET /queues HTTP/1.1\r\nhost: x\r\n\r\n"
POST = b"POST /queues/q/enqueue HTTP/1.1\r\nhost: x\r\n"
RECEIVE = b"GET /queues/q/receive HTTP/1.1\r\nhost: x\r\n\r\n"


@pytest.fixture
def mq() -> Iterator[Client]:
    with connect("memory://") as client:
        client.queue("q")
        yield client


@pytest.fixture
def url(mq: Client) -> Iterator[str]:
    with serving(mq, limits=LIMITS) as found:
        yield found


@contextmanager
def calling(url: str, *said: bytes) -> Iterator[socket.socket]:
    """A connection over which something was said."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port), timeout=LONG) as connection:
        for each in said:
            connection.sendall(each)
        yield connection


def heard(connection: socket.socket) -> bytes:
    """All that comes until the server hangs up."""
    found = b""
    try:
        while piece := connection.recv(2**16):
            found += piece
    except ConnectionResetError:
        pass
    return found


def dripping(connection: socket.socket, piece: bytes, every: float = SHORT / 8) -> threading.Event:
    """Say a little again and again, until the event is set or nobody listens."""
    over = threading.Event()

    def drip() -> None:
        while not over.wait(every):
            try:
                connection.sendall(piece)
            except OSError:
                return

    threading.Thread(target=drip).start()
    return over


@pytest.mark.parametrize(
    "said", [b"", b"\r\n", b"GET /queues HT", GET[:-2]], ids=["nothing", "end", "part", "most"]
)
def test_a_head_that_does_not_come_in_time_ends_the_connection(url: str, said: bytes) -> None:
    with calling(url, said) as connection:
        answer = heard(connection)
    assert statuses(answer) == [408]
    assert b"head comes within" in answer


@pytest.mark.parametrize("piece", [b"x: y\r\n", b"\r\n"], ids=["headers", "ends"])
def test_a_head_that_comes_bit_by_bit_gets_no_more_time(url: str, piece: bytes) -> None:
    with calling(url, GET[:-2] if piece != b"\r\n" else b"") as connection:
        over = dripping(connection, piece)
        assert statuses(heard(connection)) == [408]
        over.set()


def test_the_next_request_of_a_connection_has_no_more_time_for_its_head(url: str) -> None:
    with calling(url, GET) as connection:
        assert statuses(connection.recv(2**16)) == [200]
        connection.sendall(GET[:-2])
        assert statuses(heard(connection)) == [408]


def test_a_body_that_does_not_come_ends_the_connection_and_nothing_is_pushed(url: str, mq: Client) -> None:
    with calling(url, POST + b"content-length: 100\r\n\r\n1") as connection:
        over = dripping(connection, b" ")
        answer = heard(connection)
        over.set()
    assert statuses(answer) == [408]
    assert b"a body comes at" in answer
    assert mq.queue("q").stats().ready == 0


@timed
def test_a_body_that_comes_fast_enough_may_take_its_time(mq: Client) -> None:
    size, count = 4 * LEAST, 8
    head = POST + b"content-length: %d\r\n\r\n" % (size * count)
    with serving(mq, limits=PATIENT) as url, calling(url, head) as connection:
        for _ in range(count - 1):
            connection.sendall(b" " * size)
            time.sleep(PATIENT.body / 4)
        connection.sendall(b"1" + b" " * (size - 1))
        assert statuses(connection.recv(2**16)) == [200]
    assert mq.queue("q").stats().ready == 1


def test_a_body_that_comes_fast_and_then_stops_ends_the_connection(url: str) -> None:
    with calling(url, POST + b"content-length: 1000000\r\n\r\n" + b" " * (20 * LEAST)) as connection:
        over = dripping(connection, b" ")
        assert statuses(heard(connection)) == [408]
        over.set()


def test_a_body_that_nobody_wants_is_not_listened_to_for_long(url: str) -> None:
    with calling(url, POST + b"content-length: 10000000\r\n\r\n") as connection:
        assert statuses(connection.recv(2**16)) == [413]
        over = dripping(connection, b" " * LEAST)
        assert heard(connection) == b""
        over.set()


def test_a_head_has_an_end(mq: Client) -> None:
    with serving(mq, limits=UNHURRIED) as url, calling(url, GET[:-2]) as connection:
        for _ in range(LARGEST_HEAD // 1000 + 2):
            try:
                connection.sendall(b"x: " + b"y" * 1000 + b"\r\n")
            except OSError:
                break
            time.sleep(0.001)  # or it comes at once, and is refused for its headers' size
        assert statuses(heard(connection)) == [431]


def test_what_comes_after_a_chunked_body_has_an_end_too(mq: Client) -> None:
    said = POST + b"transfer-encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n"
    with serving(mq, limits=UNHURRIED) as url, calling(url, said) as connection:
        over = dripping(connection, b"x: " + b"y" * 8000 + b"\r\n", every=0.01)
        assert statuses(heard(connection)) == [431]
        over.set()
    assert mq.queue("q").stats().ready == 0


def test_whoever_waits_for_messages_may_wait_longer_than_a_head_or_a_body(url: str, mq: Client) -> None:
    with httpx.Client(base_url=url, timeout=LONG) as http:
        timer = threading.Timer(3 * SHORT, mq.push, ("q", "late"))
        timer.start()
        answer = http.post("/v1/queues/q/claim", json={"wait": LONG})
        timer.join()
    assert [each["payload"] for each in answer.json()["messages"]] == ["late"]


@timed
def test_a_connection_that_is_idle_is_closed_after_its_time(mq: Client) -> None:
    with serving(mq, limits=LIMITS, keep_alive=1) as url, calling(url, GET) as connection:
        assert statuses(connection.recv(2**16)) == [200]
        started = time.monotonic()
        assert heard(connection) == b""
        assert 2 * SHORT < time.monotonic() - started < LONG


def test_who_does_not_read_the_answers_is_hung_up_on(url: str, mq: Client) -> None:
    size, count = 2**21, 12
    mq.queue("q").push_many(["x" * size] * count)
    with calling(url, RECEIVE * count) as connection:
        time.sleep(4 * SHORT)
        assert len(heard(connection)) < size * count
    with calling(url, GET) as connection:
        assert statuses(connection.recv(2**16)) == [200]


@timed
def test_who_reads_slowly_gets_everything(mq: Client) -> None:
    """Slower than one answer in a body's time, but never still; and little of it waits outside the server."""
    size, count = 2**22, 2
    mq.queue("q").push_many(["x" * size] * count)
    with serving(mq, limits=PATIENT) as url, socket.socket() as connection:
        where, found = urlsplit(url), 0
        connection.settimeout(LONG)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
        connection.connect((where.hostname, where.port))
        connection.sendall(RECEIVE * count)
        while found < size * count:
            piece = connection.recv(2**17)
            assert piece, "hung up"
            found += len(piece)
            time.sleep(SHORT / 8)


def test_more_connections_than_there_may_be_are_turned_away(mq: Client) -> None:
    with ExitStack() as all_of_them:
        url = all_of_them.enter_context(serving(mq, limits=UNHURRIED))
        *three, fourth = (all_of_them.enter_context(calling(url)) for _ in range(UNHURRIED.connections))
        with calling(url, GET) as fifth:
            assert statuses(heard(fifth)) == [503]
        fourth.close()
        for each in three:
            each.sendall(GET)
            assert statuses(each.recv(2**16)) == [200]


def test_requests_in_a_row_are_answered_in_a_row(url: str) -> None:
    with calling(url, GET + b"GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n" + GET) as connection:
        found = b""
        while found.count(b"HTTP/1.1 ") < 3:
            found += connection.recv(2**16)
    assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200", b"404", b"200"]


def test_a_handshake_that_does_not_come_ends_the_connection(mq: Client) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with serving(mq, limits=LIMITS, tls=context) as url, calling(url, b"\x16\x03") as connection:
        assert heard(connection) == b""  # it has hung up before we would
