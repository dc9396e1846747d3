"""Hearing what other processes push.

One connection of the process listens. Whoever waits first leads: it sleeps on that connection and wakes the
others through the hub. When it leaves, another one leads. Notifications are hints: without a connection
that hears them, waiting is polling.
"""

import contextlib
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Collection
from typing import Any

import psycopg
from sqlalchemy.engine import Engine

from rowmq.stores.sql.waiting import Waiters

CHANNEL = "rowmq"
DEBOUNCE = 0.005
"""Seconds for which a process does not notify about a queue again: every COMMIT that notifies takes a lock
on the whole database server."""
ECHO = 2 * DEBOUNCE
"""How long the first wait after a notification lasts, for what was pushed meanwhile and not notified."""
POLL = 0.1
"""How long a wait lasts while nothing can be heard."""
PAUSE = 1.0
"""Seconds until a connection that could not be opened is tried again."""


class Listener:
    """The waiting of one process."""

    def __init__(self) -> None:
        self.deaf = False
        """Whether listening is useless, as it is behind a pooler that swaps sessions between transactions."""
        self._starting = threading.Lock()
        self._pid = 0
        self._turn = threading.Condition()
        self._led = False
        self._closed = False
        self._bell: _Bell | None = None
        self._connection: psycopg.Connection[Any] | None = None
        self._inherited: psycopg.Connection[Any] | None = None
        self._schema = ""
        self._retry_at = 0.0
        self._heard: set[int] = set()

    def wait(self, engine: Engine, hub: Waiters, queues: Collection[int], until: float) -> bool:
        """Wait for a push to these queues until a moment of time.monotonic(); True if it is worth a look."""
        bell = self._started()
        hub.bell = self._ring
        seen = hub.since(queues)
        end = min(until, time.monotonic() + ECHO) if self._echoes(queues) else until
        with self._turn:
            while self._led and not self._closed:
                left = end - time.monotonic()
                if left <= 0 or hub.seen(queues) != seen:
                    return end < until or hub.seen(queues) != seen
                self._turn.wait(left)
            self._led = True
        try:
            return self._lead(engine, hub, bell, lambda: hub.seen(queues) != seen, end) or end < until
        finally:
            self._leave()

    def close(self) -> None:
        """Stop listening, and let nobody wait any longer."""
        self._closed = True
        with self._turn:
            led = self._led
        if led:
            self._ring()
        else:
            self._leave()

    def _started(self) -> "_Bell":
        """The bell of this process. A forked child begins anew, and leaves its parent's connection alone."""
        with self._starting:
            if self._bell is None or self._pid != os.getpid():
                self._pid = os.getpid()
                self._turn = threading.Condition()
                self._led = False
                if self._bell is not None:
                    self._bell.close()
                self._bell = _Bell()
                self._inherited, self._connection = self._connection, None
                self._retry_at = 0.0
            return self._bell

    def _ring(self) -> None:
        """Let everybody of this process who waits look at the hub."""
        with self._turn:
            self._turn.notify_all()
            if self._led and self._bell is not None:
                self._bell.ring()

    def _echoes(self, queues: Collection[int]) -> bool:
        heard = self._heard.intersection(queues)
        self._heard -= heard
        return bool(heard)

    def _lead(
        self, engine: Engine, hub: Waiters, bell: "_Bell", pushed: Callable[[], bool], end: float
    ) -> bool:
        """Sleep for everybody. Trouble with the connection ends the wait: something may have been missed."""
        try:
            if self._connection is None and self._open(engine):
                return True
            self._sleep(hub, bell, pushed, end if self._connection else min(end, time.monotonic() + POLL))
        except (psycopg.Error, OSError):
            self._hang_up()
            return True
        return self._connection is None or pushed()

    def _sleep(self, hub: Waiters, bell: "_Bell", pushed: Callable[[], bool], end: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(bell, selectors.EVENT_READ)
            if self._connection is not None:
                selector.register(self._connection, selectors.EVENT_READ)
            while not pushed() and not self._closed and (left := end - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    if key.fileobj is bell:
                        bell.silence()
                    elif self._connection is not None:
                        self._hear(self._connection, hub)

    def _hear(self, connection: psycopg.Connection[Any], hub: Waiters) -> None:
        """Wake whoever waits for the queues that were notified, of this schema.

        Read from libpq itself: the driver's own way sets up a wait for more, while a message waits.
        """
        queues = set()
        connection.pgconn.consume_input()
        while notification := connection.pgconn.notifies():
            schema, _, queue = notification.extra.decode().rpartition(":")
            if schema == self._schema and queue.isdecimal():
                queues.add(int(queue))
        self._heard |= queues
        hub.wake(queues)

    def _open(self, engine: Engine) -> bool:
        """Begin to listen, unless that is useless or has just failed."""
        if self.deaf or self._closed or time.monotonic() < self._retry_at:
            return False
        self._retry_at = time.monotonic() + PAUSE
        _, parameters = engine.dialect.create_connect_args(engine.url)
        with contextlib.suppress(psycopg.Error, OSError):
            self._connection = psycopg.connect(**{**parameters, "connect_timeout": 2}, autocommit=True)
            row = self._connection.execute("SELECT current_schema()").fetchone()
            self._schema = row[0] if row else ""
            self._connection.execute(f"LISTEN {CHANNEL}")
            return True
        self._hang_up()
        return False

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _leave(self) -> None:
        """Let another one lead; the last one to leave a closed store puts out the light."""
        with self._turn:
            if self._closed:
                self._hang_up()
                if self._bell is not None:
                    self._bell.close()
            self._led = False
            self._turn.notify_all()


class _Bell:
    """Wakes a thread that sleeps in a selector."""

    def __init__(self) -> None:
        self._bell, self._clapper = socket.socketpair()
        self._bell.settimeout(0)
        self._clapper.settimeout(0)

    def fileno(self) -> int:
        """What a selector watches."""
        return self._bell.fileno()

    def ring(self) -> None:
        """Wake the sleeper; a bell that is ringing already goes on."""
        with contextlib.suppress(OSError):
            self._clapper.send(b".")

    def silence(self) -> None:
        """Stop ringing."""
        with contextlib.suppress(BlockingIOError):
            self._bell.recv(4096)

    def close(self) -> None:
        """Give back both ends."""
        self._bell.close()
        self._clapper.close()
