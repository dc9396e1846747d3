"""One connection: how long a caller may take to say what it wants, and to hear the answer."""

import asyncio
import sys
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from rowmq.doors.http.joined import Joined

LARGEST_HEAD = 64 * 2**10
"""Bytes of a request that are neither body nor anything we would want so much of."""
LEAST = 10 * 2**10
"""Bytes of a body that must come within each of its timeouts, unless it ends before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a connection may take; spans are seconds."""

    head: float = 10.0
    body: float = 10.0
    connections: int = 10_000


class Reading(Enum):
    """What the next bytes belong to."""

    NOTHING = auto()
    HEAD = auto()
    BODY = auto()


class Connection(HttpToolsProtocol):
    """Uvicorn's connection, which a caller cannot hold for ever by being slow.

    It has no timers of its own, because they would cost every request: somebody calls ``check`` from time to
    time. Between requests uvicorn's own timeout holds.
    """

    def __init__(self, config: Config, server_state: ServerState, limits: Limits) -> None:
        super().__init__(config, server_state, {})
        self._limits = limits
        self._reading = Reading.HEAD
        self._since = self._moved = self.loop.time()
        self._received = self._counted = self._overhead = self._unsent = 0
        self._is_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has come."""
        super().connection_made(Joined(transport, self.loop))  # type: ignore[arg-type]
        if len(self.connections) > self._limits.connections:
            self._refuse(503, "this server has as many connections as it takes; come again in a moment")

    def data_received(self, data: bytes) -> None:
        """Take what came, as long as it is not too much of what is no body."""
        if self._reading is Reading.NOTHING:
            self._begin(Reading.HEAD)
        self._received += len(data)
        self._is_body = False
        super().data_received(data)
        if self._reading is not Reading.NOTHING and not self._is_body:
            self._overhead += len(data)
            if self._overhead > LARGEST_HEAD:
                self._refuse(431, f"a request's head has at most {LARGEST_HEAD} bytes")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header is there; or a trailer, which must not pass for one after all headers were looked at."""
        if self._reading is not Reading.BODY:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._begin(Reading.BODY)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of the body is there."""
        self._is_body = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of it is there."""
        self._reading = Reading.NOTHING
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """All was answered; what is left of a body that nobody wanted may come for a while."""
        if self._reading is Reading.BODY:
            self._begin(Reading.BODY)
        super().on_response_complete()

    def resume_writing(self) -> None:
        """What was sent has gone."""
        self._moved = self.loop.time()
        super().resume_writing()

    def check(self, now: float) -> None:
        """End the connection if its caller takes too long."""
        self._check_sending(now)
        if not self.transport.is_closing():
            self._check_reading(now)

    def _check_reading(self, now: float) -> None:
        waited = now - self._since
        if self._reading is Reading.HEAD and waited > self._limits.head and not self._busy:
            self._refuse(408, f"a request's head comes within {self._limits.head:g} seconds")
        elif self._reading is Reading.BODY and waited > self._limits.body:
            self._check_body(now)

    def _check_body(self, now: float) -> None:
        """End it if less came than should have, and not because of us."""
        slow = self._received - self._counted < LEAST and not self.flow.read_paused
        if slow or not self._busy:
            self._refuse(408, f"a body comes at {LEAST} bytes in {self._limits.body:g} seconds or faster")
        else:
            self._since, self._counted = now, self._received

    def _check_sending(self, now: float) -> None:
        """Bytes that stay where they are mean a caller who does not read."""
        unsent = self.transport.get_write_buffer_size()
        if unsent:  # rarely, so what it costs to ask the system does not matter
            unsent += _queued(self.transport.get_extra_info("socket"))
        if not unsent or unsent < self._unsent:
            self._moved = now
        self._unsent = unsent
        if unsent and now - self._moved > self._limits.body:
            self.transport.abort()

    @property
    def _busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _begin(self, reading: Reading) -> None:
        self._reading, self._since = reading, self.loop.time()
        self._counted, self._overhead = self._received, 0

    @property
    def _may_speak(self) -> bool:
        """Whether what is sent now would be taken for the answer to what is being read."""
        if self._reading is Reading.BODY:
            return bool(self.cycle) and not self.cycle.response_started and not self.pipeline
        return not self._busy

    def _refuse(self, status: int, sentence: str) -> None:
        """Say why, if it can be understood, and hang up."""
        if self._may_speak:
            head = (
                b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(STATUS_LINE[status] + head % len(sentence) + sentence.encode())
        self.transport.close()


def _queued(connection: Any) -> int:
    """How many bytes the system still holds for a caller, where it tells.

    It holds megabytes, and takes more from us only when a third of them has gone: without this, who reads
    slowly would look like one who does not read.
    """
    with suppress(ImportError, AttributeError, OSError):
        import fcntl  # noqa: PLC0415 - not for every system
        import termios  # noqa: PLC0415 - the same

        return int.from_bytes(fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    return 0
