"""A wire to a database server that can be cut: the reply to a COMMIT, or the COMMIT itself, never arrives.

A statement that is a transaction of its own is a COMMIT too, and so is each call of a script of Redis.
"""

from __future__ import annotations

import re
import socket
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

Cut = Literal["reply", "request"]
_COMMIT = re.compile(rb"COMMIT(\0|$)|seq, queue\.id AS queue|odd\.odd|width_bucket|EVALSHA")


class Wire:
    """One client's connection, with a thread for each direction."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._swallowing = False
        self.threads = [Thread(target=self._send, daemon=True), Thread(target=self._answer, daemon=True)]
        for thread in self.threads:
            thread.start()

    def close(self) -> None:
        """Cut it, whoever is talking."""
        for end in (self._client, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _send(self) -> None:
        """Pass on what the client says, until it is a COMMIT that is not to arrive."""
        with suppress(OSError):
            while data := self._client.recv(65536):
                cut = self._proxy.cut_for(data)
                if cut == "request":
                    break
                self._swallowing = self._swallowing or cut == "reply"
                self._server.sendall(data)
        self.close()

    def _answer(self) -> None:
        """Pass on what the server says, until it is the answer that is to be lost."""
        with suppress(OSError):
            while data := self._server.recv(65536):
                if self._swallowing:
                    break
                self._client.sendall(data)
        self.close()


class Proxy:
    """Listens on a port of its own and passes everything on."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cuts = 0
        self.requests = 0
        """How often a client has spoken."""
        self._lock = Lock()
        self._next: list[Cut] = []
        self._last = False
        self._wires: list[Wire] = []
        self._thread = Thread(target=self._listen, daemon=True)
        self._thread.start()

    def cut_next_commit(self, cut: Cut, *, times: int = 1, for_good: bool = False) -> None:
        """Cut the connection at its next COMMIT, before or after the server has seen it.

        ``for_good``: from then on nobody is let in any more.
        """
        with self._lock:
            self._next = [cut] * times
            self._last = for_good

    def cut_for(self, data: bytes) -> Cut | None:
        """Say whether this is a COMMIT to be cut, and how."""
        with self._lock:
            self.requests += 1
            if not self._next or _COMMIT.search(data) is None:
                return None
            self.cuts += 1
            if self._last:
                self._stop_listening()
            return self._next.pop()

    def close(self) -> None:
        """Cut everything."""
        self._stop_listening()
        self._thread.join(10)
        for wire in self._wires:
            wire.close()
            for thread in wire.threads:
                thread.join(10)

    def _stop_listening(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._wires.append(Wire(self, client, socket.create_connection(self._target)))


@contextmanager
def proxied(url: str) -> Iterator[tuple[str, Proxy]]:
    """Run a proxy before the server of a URL, and yield the URL that leads through it."""
    parts = urlsplit(url)
    proxy = Proxy(parts.hostname or "127.0.0.1", parts.port or 0)
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    try:
        yield urlunsplit(parts._replace(netloc=f"{user}127.0.0.1:{proxy.port}")), proxy
    finally:
        proxy.close()
