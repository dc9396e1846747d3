"""Running the server: one event loop, from a bound socket to the last answer."""

import asyncio
import hashlib
import importlib
import os
import signal
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import uvicorn
import uvloop

from rowmq.core.errors import InvalidSetting
from rowmq.doors.http.access import Access, Open
from rowmq.doors.http.app import App
from rowmq.doors.http.call import Broker
from rowmq.doors.http.guard import Guard
from rowmq.doors.http.receipt import Seal
from rowmq.doors.http.route import Family
from rowmq.doors.http.sqs.settings import Settings as SQSSettings
from rowmq.runtime.client import Client
from rowmq.runtime.gather import Gather

FAMILIES = ("native", "hq", "sqs", "operations")
"""The modules of this package that speak a language each."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
BACKLOG = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to serve. Spans are seconds; ``clients_clock`` is for tests alone."""

    access: Access = field(default_factory=Open)
    guard: Guard = field(default_factory=Guard)
    request_timeout: float | None = 30.0
    stop_timeout: float = 30.0
    keep_alive: int = 30
    secret: str | None = None
    """What receipts are sealed with, the same for all servers of a store; its URL if unset."""
    tls: ssl.SSLContext | None = None
    clients_clock: bool = False
    sqs: SQSSettings = field(default_factory=SQSSettings)


class Server:
    """Serves a client's store at a socket that is bound already, until it is told to stop."""

    def __init__(self, client: Client, listener: socket.socket, settings: Settings | None = None) -> None:
        self._client, self._listener, self._settings = client, listener, settings or Settings()
        self.ready = threading.Event()
        self._running: _Running | None = None

    def run(self) -> None:
        """Serve, here, until a signal comes or ``stop`` is called; the store stays open."""
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self.serve())

    def stop(self) -> None:
        """Ask the server to stop, from any thread: what is being answered is answered, waiting ends now."""
        if self._running is not None:
            self._running.should_exit = True

    async def serve(self) -> None:
        """Serve in the running event loop."""
        gather = Gather(self._client.store)
        gather.start()
        try:
            app = make_app(self._client, gather, self._settings)
            self._running = _Running(_config(app, self._settings), self._listener, self._settings, gather)
            self._running.ready = self.ready
            await self._running.serve()
        finally:
            await gather.close()


class _Running(uvicorn.Server):
    """Uvicorn's server with our socket, our signals, and nobody left to wait at the end."""

    ready: threading.Event

    def __init__(
        self, config: uvicorn.Config, listener: socket.socket, settings: Settings, gather: Gather
    ) -> None:
        super().__init__(config)
        self._listener, self._settings, self._gather = listener, settings, gather

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 - we have ours
        """Accept connections."""
        self.servers = [
            await asyncio.get_running_loop().create_server(
                self._connection, sock=self._listener, ssl=self._settings.tls, backlog=BACKLOG
            )
        ]
        self.started = True
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, answer who waits for messages, and finish what is being answered."""
        self._gather.rest()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The first signal stops the server, the second one the process."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread may
            return
        former = {each: signal.signal(each, self.handle_exit) for each in SIGNALS}
        try:
            yield
        finally:
            for each, handler in former.items():
                signal.signal(each, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - wherever it came
        """A signal has come."""
        if self.should_exit:
            os._exit(128 + sig)
        self.should_exit = True

    def _connection(self) -> asyncio.Protocol:
        kind: Any = self.config.http_protocol_class
        made: asyncio.Protocol = kind(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free. Raises InvalidSetting."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise InvalidSetting(f"cannot listen at {host} port {port}: {error.strerror or error}") from None


def make_app(client: Client, gather: Gather, settings: Settings) -> App:
    """The application of a running loop."""
    broker = Broker(client, gather, settings.access, Seal(_key(client, settings)))
    return App(
        broker,
        families(settings),
        guard=settings.guard,
        request_timeout=settings.request_timeout,
        clients_clock=settings.clients_clock,
    )


def families(settings: Settings) -> list[Family]:
    """Every family of routes there is."""
    found = [_module(name) for name in FAMILIES]
    return [_family(module, settings) for module in found if hasattr(module, "family")]


def _family(module: Any, settings: Settings) -> Family:
    family: Family = module.family(settings.sqs) if module.__name__.endswith("sqs") else module.family()
    return family


def _module(name: str) -> Any:
    try:
        return importlib.import_module(f"rowmq.doors.http.{name}")
    except ImportError:
        return None


def _key(client: Client, settings: Settings) -> bytes:
    return hashlib.sha256(f"rowmq receipts {settings.secret or client.url}".encode()).digest()


def _config(app: App, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=settings.keep_alive,
        timeout_graceful_shutdown=int(settings.stop_timeout),
    )
