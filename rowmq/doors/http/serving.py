"""Running the server: one event loop, from a bound socket to the last answer."""

import asyncio
import gc
import hashlib
import os
import socket
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from rowmq.doors.http import dashboard, hq, native, openapi, operations, sqs
from rowmq.doors.http.access_log import log_call, log_request
from rowmq.doors.http.app import App, Observe
from rowmq.doors.http.call import Broker
from rowmq.doors.http.measuring import Measures
from rowmq.doors.http.route import Family
from rowmq.doors.http.running import Running, bind, loop_factory
from rowmq.doors.http.settings import Settings
from rowmq.doors.receipt import Seal
from rowmq.runtime.client import Client
from rowmq.runtime.gather import Gather
from rowmq.runtime.scheduler import Scheduler
from rowmq.runtime.sweeper import Sweeper
from rowmq.runtime.upkeep import Upkeep

__all__ = ["Beside", "Server", "Settings", "bind", "families", "make_app"]
Count = Callable[[str, str, float], None]
"""Told of each call by gRPC that is over: its method, its code, and the seconds it took."""
Beside = Callable[[Broker, Count], AbstractAsyncContextManager[object]]
"""What else runs in the server's event loop, on the same group commit, for as long as the server does."""


class Server:
    """Serves a client's store at a socket that is bound already, until it is told to stop."""

    def __init__(
        self,
        client: Client,
        listener: socket.socket,
        settings: Settings | None = None,
        beside: Beside | None = None,
    ) -> None:
        self._client, self._listener, self._settings = client, listener, settings or Settings()
        self._beside = beside or _nothing
        self.ready = threading.Event()
        self._over = threading.Event()

    def run(self) -> None:
        """Serve, here, until a signal comes or ``stop`` is called; the store stays open."""
        _collect_rarely()
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
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
            broker = make_broker(self._client, gather, self._settings)
            app = make_app(broker, self._settings, measures)
            running = Running(app, gather, self._listener, self._settings, self.ready, self._over)
            running.show(measures)
            async with self._beside(broker, self._count(measures)):
                await running.serve()
        finally:
            await gather.close()
            self._over.set()
            await asyncio.to_thread(upkeep.join)

    def _count(self, measures: Measures) -> Count:
        return _counters(measures) if self._settings.access_log else measures.observe_call

    def _upkeep(self) -> Upkeep:
        store, wanted = self._client.store, self._settings.upkeep
        sweeper = Sweeper(store, f"{socket.gethostname()}:{os.getpid()}")
        upkeep = Upkeep(Scheduler(store) if wanted else None, sweeper if wanted else None, self._over)
        upkeep.start()
        return upkeep


def make_broker(client: Client, gather: Gather, settings: Settings) -> Broker:
    """What all calls of a running loop share."""
    return Broker(client, gather, settings.access, Seal(_key(client, settings)))


def make_app(broker: Broker, settings: Settings, measures: Measures) -> App:
    """The application of a running loop."""
    return App(
        broker,
        families(settings, measures),
        guard=settings.guard,
        request_timeout=settings.request_timeout,
        clients_clock=settings.clients_clock,
        observe=_observers(measures) if settings.access_log else measures.observe,
    )


def _collect_rarely() -> None:
    """Let the collector of cycles look less often, and not at what is there for good.

    What waits for a commit is alive, request by request, and looked through again and again for nothing.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _nothing(_broker: Broker, _count: Count) -> AbstractAsyncContextManager[None]:
    return nullcontext()


def _observers(measures: Measures) -> Observe:
    def observe(method: str, path: str, status: int, size: int, seconds: float) -> None:
        measures.observe(method, path, status, size, seconds)
        log_request(method, path, status, size, seconds)

    return observe


def _counters(measures: Measures) -> Count:
    def count(method: str, code: str, seconds: float) -> None:
        measures.observe_call(method, code, seconds)
        log_call(method, code, seconds)

    return count


def families(settings: Settings, measures: Measures | None = None) -> list[Family]:
    """Every family of routes there is."""
    found = [native.family(), hq.family(), sqs.family(settings.sqs), operations.family(measures)]
    return [*found, openapi.family(found), dashboard.family(settings)]


def _key(client: Client, settings: Settings) -> bytes:
    return hashlib.sha256(f"rowmq receipts {settings.secret or client.url}".encode()).digest()
