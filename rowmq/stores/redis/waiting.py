"""Waiting for the server to say that something happened in a queue. Only a hint: whoever waits polls too."""

import time
from collections.abc import Collection

from redis.exceptions import RedisError

from rowmq.stores.redis.server import Broken, Server, Wire, exchange

POLL = 0.25
"""Seconds between looks where the server does not let us listen."""


class Listening:
    """Connections that listen, each while somebody waits on it."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._channel = server.root + b"wake"
        self._waiting: set[Wire] = set()
        self._closed = False

    def wait(self, queues: Collection[bytes], timeout: float) -> bool:
        """Wait until something happened in one of these queues; True if it is worth a look."""
        until = time.monotonic() + timeout
        try:
            connection = self._server.connect()
        except RedisError:
            return _doze(until)
        self._waiting.add(connection)
        try:
            exchange(connection, "SUBSCRIBE", self._channel)
            return self._listen(connection, queues, until)
        except (RedisError, Broken, OSError):
            return not self._closed and _doze(until)
        finally:
            self._waiting.discard(connection)
            connection.disconnect()

    def close(self) -> None:
        """Let nobody wait any longer."""
        self._closed = True
        for connection in list(self._waiting):
            connection.disconnect()

    def _listen(self, connection: Wire, queues: Collection[bytes], until: float) -> bool:
        while not self._closed:
            left = until - time.monotonic()
            if left <= 0 or not connection.can_read(timeout=left):
                return False
            _, _, queue = connection.read_response()
            if queue in queues:
                return True
        return False


def _doze(until: float) -> bool:
    """Sleep a little, where nothing can be heard, and have the caller look."""
    time.sleep(max(0.0, min(POLL, until - time.monotonic())))
    return True
