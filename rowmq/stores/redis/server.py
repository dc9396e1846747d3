"""The way to the server: connections, scripts, and the rule of what is sent again."""

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from redis.backoff import NoBackoff
from redis.connection import Connection, SSLConnection, UnixDomainSocketConnection
from redis.exceptions import ConnectionError as Disconnected
from redis.exceptions import NoScriptError, RedisError, ResponseError
from redis.exceptions import TimeoutError as TimedOut
from redis.retry import Retry

from rowmq.core.errors import OutcomeUnknown, StoreError, StoreUnavailable
from rowmq.stores.redis.options import Options
from rowmq.stores.redis.scripts import script
from rowmq.stores.redis.trouble import passing, refusal

RECONNECTS = 3
"""How often a call whose connection broke is made anew."""
PATIENCE = 2.0
"""Seconds for which a server that is loading or busy is asked again."""
CONNECT = 5.0
Wire = Any
"""A connection: most methods of the driver's have no types."""
_KINDS: dict[str, Wire] = {
    "redis": Connection, "rediss": SSLConnection, "unix": UnixDomainSocketConnection,
}  # fmt: skip
Argument = bytes | str | int


class Broken(Exception):
    """The connection broke: before the server can have had the whole call, or after (``sent``)."""

    def __init__(self, error: Exception, *, sent: bool) -> None:
        super().__init__(str(error))
        self.sent = sent


class Server:
    """Runs scripts on connections of its own. It may be used from many threads, and after a fork."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.root = options.root.encode()
        self._idle: list[Wire] = []
        self._process = os.getpid()
        self._closed = False

    def call(self, name: str, *given: Argument, repeatable: bool = False) -> Any:
        """Run a script. ``repeatable``: it may be run again when nobody knows whether it was run."""
        chosen = script(name)
        again = repeatable or not chosen.writes

        def run(connection: Wire) -> Any:
            try:
                return exchange(connection, "EVALSHA", chosen.sha, 1, self.root, *given)
            except NoScriptError:
                return exchange(connection, "EVAL", chosen.text, 1, self.root, *given)

        return self._persist(run, repeatable=again, writes=chosen.writes)

    def ask(self, *command: Argument) -> Any:
        """Run a command that writes nothing."""
        return self._persist(lambda connection: exchange(connection, *command), repeatable=True, writes=False)

    def connect(self) -> Wire:
        """A connection nobody else has."""
        kind = _KINDS[self.options.scheme]
        connection = kind(
            **self.options.place,
            socket_timeout=self.options.timeout,
            socket_connect_timeout=min(CONNECT, self.options.timeout),
            protocol=2,
            retry=Retry(NoBackoff(), 0),
        )
        connection.connect()
        return connection

    def close(self) -> None:
        """Give back every connection."""
        self._closed = True
        while self._idle:
            self._idle.pop().disconnect()

    def _persist(self, run: Any, *, repeatable: bool, writes: bool) -> Any:
        started, breaks, unknown = time.monotonic(), 0, False
        while True:
            try:
                return self._once(run)
            except Broken as broken:
                breaks += 1
                unknown = unknown or (broken.sent and writes)
                if breaks > RECONNECTS or (broken.sent and not repeatable):
                    raise _lost(broken, unknown=unknown) from broken.__cause__
            except RedisError as error:
                waited = time.monotonic() - started
                if not passing(error) or waited > PATIENCE:
                    raise _lost(error, unknown=True) if unknown else refusal(error) from error
            except StoreUnavailable as error:
                raise _lost(error, unknown=True) if unknown else error from error.__cause__
            time.sleep(0.05 * random.random())  # noqa: S311 - spreads retries, no secret

    def _once(self, run: Any) -> Any:
        with self.connection() as connection:
            return run(connection)

    @contextmanager
    def connection(self) -> Iterator[Wire]:
        """Have a connection for a while."""
        connection = self._ready()
        try:
            yield connection
        except RedisError as error:
            if isinstance(error, ResponseError):  # the server has answered, and is ready for more
                self._idle.append(connection)
            raise
        except BaseException:  # its answer may still be on the way
            connection.disconnect()
            raise
        self._idle.append(connection)

    def _ready(self) -> Wire:
        """An idle connection that the server has not closed, or a new one."""
        if self._closed:
            raise StoreUnavailable("this store has been closed")
        if self._process != os.getpid():  # a fork's connections are the parent's
            self._idle, self._process = [], os.getpid()
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._connected()
            if _is_quiet(connection):
                return connection
            connection.disconnect()

    def _connected(self) -> Wire:
        try:
            return self.connect()
        except RedisError as error:
            if passing(error):
                raise
            known = refusal(error)
            unreachable = StoreUnavailable(f"Redis cannot be reached: {error}")
            raise known if isinstance(known, StoreUnavailable) else unreachable from error


def exchange(connection: Wire, *command: Argument) -> Any:
    """Send a command and read its answer. Raises Broken, or what the server says."""
    try:
        connection.send_packed_command(connection.pack_command(*command))
    except (Disconnected, TimedOut) as error:  # not all of it has left, so the server cannot have acted
        raise Broken(error, sent=False) from error
    try:
        return connection.read_response()
    except (Disconnected, TimedOut) as error:
        if type(error) not in (Disconnected, TimedOut):  # the driver has kinds of these for answers too
            raise
        raise Broken(error, sent=True) from error


def _is_quiet(connection: Wire) -> bool:
    """Whether nothing has come on an idle connection: its end, for example."""
    try:
        return not connection.can_read(timeout=0)
    except (Disconnected, TimedOut, OSError):
        return False


def _lost(error: Exception, *, unknown: bool) -> StoreError:
    if unknown:
        return OutcomeUnknown(f"the answer of Redis was lost ({error}): it may or may not have counted")
    return StoreUnavailable(f"the connection to Redis broke: {error}")
