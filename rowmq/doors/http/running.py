"""Uvicorn's server, made ours."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn

from rowmq.core.errors import InvalidSetting
from rowmq.doors.http.app import App
from rowmq.doors.http.connection import Connection
from rowmq.doors.http.measuring import Measures
from rowmq.doors.http.settings import Settings
from rowmq.runtime.crew import SIGNALS
from rowmq.runtime.gather import Gather

BACKLOG = 2048
GOODBYE = 1.0
TICKS = 10
"""How many of uvicorn's ticks a second has."""


class Running(uvicorn.Server):
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


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
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
        # What callers wrote may be answered, as JSON or text: no browser is to take it for a page.
        headers=[("x-content-type-options", "nosniff")],
        timeout_keep_alive=settings.keep_alive,
        timeout_graceful_shutdown=int(settings.stop_timeout),
    )
