"""Running the server: one event loop, from a bound socket to the last answer."""

import asyncio
import hashlib
import importlib
import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import FrameType

import uvicorn

from rowmq.core.errors import InvalidSetting
from rowmq.doors.http import hq, openapi, operations
from rowmq.doors.http.access import Access, Open
from rowmq.doors.http.access_log import log_request
from rowmq.doors.http.app import App, Observe
from rowmq.doors.http.call import Broker
from rowmq.doors.http.connection import Connection, Limits
from rowmq.doors.http.guard import Guard
from rowmq.doors.http.measuring import Measures
from rowmq.doors.http.receipt import Seal
from rowmq.doors.http.route import Family
from rowmq.runtime.client import Client
from rowmq.runtime.crew import SIGNALS
from rowmq.runtime.gather import Gather
from rowmq.runtime.scheduler import Scheduler
from rowmq.runtime.sweeper import Sweeper
from rowmq.runtime.upkeep import Upkeep

BACKLOG = 2048
GOODBYE = 1.0
TICKS = 10
"""How many of uvicorn's ticks a second has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to serve. Spans are seconds; ``clients_clock`` is for tests alone."""

    access: Access = field(default_factory=Open)
    guard: Guard = field(default_factory=Guard)
    limits: Limits = field(default_factory=Limits)
    request_timeout: float | None = 30.0
    stop_timeout: float = 30.0
    keep_alive: int = 30
    secret: str | None = None
    """What receipts are sealed with, the same for all servers of a store; its URL if unset."""
    tls: ssl.SSLContext | None = None
    upkeep: bool = False
    """Whether to sweep and to fire schedules, too."""
    parent: int | None = None
    """The process to follow: when it is gone this one stops, and until then it alone counts signals."""
    access_log: bool = False
    clients_clock: bool = False
    public_url: str | None = None
    """What callers know this server by, if not by the name that they use."""


class Server:
    """Serves a client's store at a socket that is bound already, until it is told to stop."""

    def __init__(self, client: Client, listener: socket.socket, settings: Settings | None = None) -> None:
        self._client, self._listener, self._settings = client, listener, settings or Settings()
        self.ready = threading.Event()
        self._over = threading.Event()

    def run(self) -> None:
        """Serve, here, until a signal comes or ``stop`` is called; the store stays open."""
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(self.serve())

    def stop(self) -> None:
        """Ask the server to stop, from any thread: what is being answered is answered, waiting ends now."""
        self._over.set()

    async def serve(self) -> None:
        """Serve in the running event loop."""
        measures, upkeep = Measures(self._client.store), self._upkeep()
        gather = Gather(self._client.store, measures.around)
        gather.start()
        try:
            app = make_app(self._client, gather, self._settings, measures)
            running = _Running(app, gather, self._listener, self._settings, self.ready, self._over)
            running.show(measures)
            await running.serve()
        finally:
            await gather.close()
            self._over.set()
            await asyncio.to_thread(upkeep.join)

    def _upkeep(self) -> Upkeep:
        store, wanted = self._client.store, self._settings.upkeep
        sweeper = Sweeper(store, f"{socket.gethostname()}:{os.getpid()}")
        upkeep = Upkeep(Scheduler(store) if wanted else None, sweeper if wanted else None, self._over)
        upkeep.start()
        return upkeep


class _Running(uvicorn.Server):
    """Uvicorn's server with our socket, our signals, our timeouts, and nobody left to wait at the end."""

    def __init__(
        self,
        app: App,
        gather: Gather,
        listener: socket.socket,
        settings: Settings,
        ready: threading.Event,
        over: threading.Event,
    ) -> None:
        super().__init__(_config(app, settings))
        self._gather, self._listener, self._settings = gather, listener, settings
        self._ready, self._over = ready, over
        quickest = min(settings.limits.head, settings.limits.body)
        self._every = max(1, min(TICKS, int(quickest * TICKS / 2)))

    def show(self, measures: Measures) -> None:
        """Have numbers that change all the time counted only when somebody asks."""
        measures.watch("http_connections", lambda: len(self.server_state.connections))
        measures.watch("http_under_way", lambda: len(self.server_state.tasks))
        measures.watch("http_waiting", lambda: self._gather.waiting)
        measures.watch("http_long_polls", lambda: self._gather.polling)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 - we have ours
        """Accept connections."""
        tls = self._settings.tls
        server = await asyncio.get_running_loop().create_server(
            self._connection,
            sock=self._listener,
            backlog=BACKLOG,
            ssl=tls,
            ssl_handshake_timeout=self._settings.limits.head if tls else None,
            # Clients that keep a connection for later do not answer a goodbye, which 30 s are waited for.
            ssl_shutdown_timeout=GOODBYE if tls else None,
        )
        self.servers = [server]
        self.started = True
        self._ready.set()

    async def on_tick(self, counter: int) -> bool:
        """Look whether somebody is too slow, or wants us to stop."""
        if counter % self._every == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                connection.check(now)  # type: ignore[union-attr] # they are all ours
        orphan = self._settings.parent is not None and os.getppid() != self._settings.parent
        return await super().on_tick(counter) or self._over.is_set() or orphan

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
        if self.should_exit and self._settings.parent is None:
            os._exit(128 + sig)
        self.should_exit = True

    def _connection(self) -> asyncio.Protocol:
        return Connection(self.config, self.server_state, self._settings.limits)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The fast event loop, where there is one: Windows has none."""
    try:
        import uvloop  # noqa: PLC0415 - not for every system
    except ModuleNotFoundError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free. Raises InvalidSetting."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise InvalidSetting(f"cannot listen at {host} port {port}: {error.strerror or error}") from None


def make_app(client: Client, gather: Gather, settings: Settings, measures: Measures) -> App:
    """The application of a running loop."""
    broker = Broker(client, gather, settings.access, Seal(_key(client, settings)))
    return App(
        broker,
        families(settings, measures),
        guard=settings.guard,
        request_timeout=settings.request_timeout,
        clients_clock=settings.clients_clock,
        observe=_observers(measures) if settings.access_log else measures.observe,
    )


def _observers(measures: Measures) -> Observe:
    def observe(method: str, path: str, status: int, size: int, seconds: float) -> None:
        measures.observe(method, path, status, size, seconds)
        log_request(method, path, status, size, seconds)

    return observe


def families(settings: Settings, measures: Measures | None = None) -> list[Family]:
    """Every family of routes there is."""
    made: list[Callable[[], Family]] = [
        _native,
        hq.family,
        partial(_sqs, settings),
        partial(operations.family, measures),
    ]
    found = [family for each in made for family in _there(each)]
    return [*found, openapi.family(found)]


def _native() -> Family:
    return importlib.import_module("rowmq.doors.http.native").family()  # type: ignore[no-any-return]


def _sqs(settings: Settings) -> Family:
    module = importlib.import_module("rowmq.doors.http.sqs")
    of_sqs = importlib.import_module("rowmq.doors.http.sqs.settings")
    return module.family(of_sqs.Settings(public_url=settings.public_url))  # type: ignore[no-any-return]


def _there(make: Callable[[], Family]) -> list[Family]:
    try:
        return [make()]
    except Exception:  # noqa: BLE001 - one that is being written is left out
        return []


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
