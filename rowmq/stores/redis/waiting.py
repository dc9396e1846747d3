"""Waiting for the server to say that something happened in a queue. Only a hint: whoever waits polls too."""

import os
import threading
import time
from collections.abc import Collection

from redis.exceptions import RedisError

from rowmq.stores.recent import Recent
from rowmq.stores.redis.server import Broken, Server, Wire, exchange

POLL = 0.25
"""Seconds between looks where the server cannot be heard, and between looks whether the store is closed."""


class Listening:
    """One connection that listens for all who wait: one of them reads it, and tells the others.

    It goes on listening between two waits, so that nobody who looked before a push sleeps through it.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._channel = server.root + b"wake"
        self._closed = False
        self._led = False
        self._begin()

    def wait(self, queues: Collection[bytes], timeout: float) -> bool:
        """Wait until something happened in one of these queues; True if it is worth a look."""
        until = time.monotonic() + timeout
        if self._process != os.getpid():  # after a fork the parent goes on reading its connection
            self._begin()
        with self._turn:
            seen = self._seen(queues)
            while self._led and not self._closed and self._seen(queues) == seen:
                if not self._turn.wait(max(0.0, until - time.monotonic())):
                    return False
            if self._closed or self._seen(queues) != seen:
                return not self._closed
            self._led = True
        try:
            return self._lead(queues, seen, until)
        finally:
            self._leave()

    def close(self) -> None:
        """Let nobody wait any longer."""
        with self._turn:
            self._closed = True
            self._turn.notify_all()
            led = self._led
        if not led:
            self._hang_up()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._turn = threading.Condition()
        self._led = False
        self._happened: Recent[bytes, int] = Recent()
        self._last = 0
        self._connection: Wire | None = None

    def _seen(self, queues: Collection[bytes]) -> int:
        return max((self._happened.get(queue, 0) for queue in queues), default=0)

    def _lead(self, queues: Collection[bytes], seen: int, until: float) -> bool:
        try:
            connection = self._connection
            if connection is None:  # what happened before we listened is not heard: have the caller look
                self._listen()
                return not self._closed
            while not self._closed and self._seen(queues) == seen:
                left = until - time.monotonic()
                if left <= 0 and not connection.can_read(timeout=0):
                    return False
                if connection.can_read(timeout=max(0.0, min(left, POLL))):
                    self._note(connection.read_response()[2])
        except (RedisError, Broken, OSError):  # something may have happened meanwhile
            self._hang_up()
            time.sleep(max(0.0, min(POLL, until - time.monotonic())))
        return not self._closed

    def _listen(self) -> None:
        connection = self._server.connect()
        exchange(connection, "SUBSCRIBE", self._channel)
        self._connection = connection

    def _note(self, queue: bytes) -> None:
        with self._turn:
            self._last += 1
            self._happened.note(queue, self._last)
            self._turn.notify_all()

    def _leave(self) -> None:
        with self._turn:
            self._led = False
            self._turn.notify_all()
        if self._closed:
            self._hang_up()

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.disconnect()
