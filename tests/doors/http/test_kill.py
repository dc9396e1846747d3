"""A server killed under load, again and again: what it said has happened has happened."""

from __future__ import annotations

import http.client
import json
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from rowmq import State
from rowmq.runtime.client import connect
from tests.doors.http.serving import served
from tests.servers import free_port

if TYPE_CHECKING:
    from pathlib import Path

CLIENTS = 32
LIVES = 4
LIFE = 1.5
"""Seconds under load before a server is killed."""


class Caller(threading.Thread):
    """Pushes, claims and acks, one after the other, and notes what it was told."""

    def __init__(self, url: str, over: threading.Event) -> None:
        super().__init__()
        self._where, self._over = urlsplit(url).netloc, over
        self.pushed: list[str] = []
        self.acked: list[str] = []
        self.failures = 0

    def run(self) -> None:
        while not self._over.is_set():
            connection = http.client.HTTPConnection(self._where, timeout=10)
            try:
                while not self._over.is_set():
                    self._round(connection)
            except (OSError, http.client.HTTPException):
                self.failures += 1
                time.sleep(0.05)
            finally:
                connection.close()

    def _round(self, connection: http.client.HTTPConnection) -> None:
        self.pushed.append(said(connection, "POST", "/queues/q/enqueue", b"1")[0]["message_id"])
        held, _ = said(connection, "GET", "/queues/q/receive")
        if held is not None:
            path = f"/messages/{held['id']}/complete?receipt={held['receipt']}"
            if said(connection, "PUT", path)[1] != "lost":
                self.acked.append(held["id"])


def said(
    connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None
) -> tuple[Any, str | None]:
    """What a server answers, and whether a settlement counted."""
    connection.request(method, path, body)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise http.client.HTTPException(text)
    return json.loads(text) if text else None, answer.getheader("rowmq-settled")


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'rowmq.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


def test_whatever_was_acknowledged_outlives_a_server_that_is_killed_under_load(
    url: str, tmp_path: Path
) -> None:
    port, over = free_port(), threading.Event()
    callers = [Caller(f"http://127.0.0.1:{port}", over) for _ in range(CLIENTS)]
    with connect(url) as mq:
        mq.queue("q", lease=2, max_attempts=None)
        for life in range(LIVES):
            with served("--url", url, folder=tmp_path, port=port, ends=False) as server:
                for caller in callers if life == 0 else ():
                    caller.start()
                time.sleep(LIFE)
                server.process.kill()
        over.set()
        for caller in callers:
            caller.join()
        states = {str(record.id): record.state for record in mq.find("q")}
    pushed = [id for caller in callers for id in caller.pushed]
    acked = [id for caller in callers for id in caller.acked]
    assert all(caller.failures >= LIVES - 1 for caller in callers)
    assert min(len(pushed), len(acked)) > CLIENTS * LIVES
    assert (len(set(pushed)), len(set(acked))) == (len(pushed), len(acked))
    assert [id for id in pushed if id not in states] == []
    assert [id for id in acked if states.get(id) != State.DONE] == []
