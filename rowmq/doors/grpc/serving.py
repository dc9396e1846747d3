"""The gRPC server: a port beside the HTTP one, in the same event loop and on the same store."""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from rowmq.core.errors import InvalidSetting
from rowmq.doors.grpc import native, routeguide
from rowmq.doors.grpc.call import Broker
from rowmq.doors.grpc.inbox import PATIENCE
from rowmq.doors.grpc.method import service
from rowmq.doors.grpc.peers import Peers
from rowmq.doors.grpc.routeguide import RouteGuide
from rowmq.stores.grpc.transport import LARGEST

LARGEST_METADATA = 16 * 2**10
CALLS = 10_000
"""How many calls may be under way."""
STREAMS = 1000
"""How many of them over one connection."""
SHARED = hasattr(socket, "SO_REUSEPORT")
"""Whether several processes may listen at one port; elsewhere there is one, and it has to be quick."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to serve. ``tls`` is a key and its certificate chain, in PEM."""

    host: str = "127.0.0.1"
    port: int = 0
    tls: tuple[bytes, bytes] | None = field(default=None, repr=False)
    patience: timedelta = PATIENCE
    stop_timeout: float = 30.0
    run: str = field(default_factory=lambda: secrets.token_hex(8))
    """Of all processes that were started together: their connections end together."""


@asynccontextmanager
async def serving(broker: Broker, settings: Settings) -> AsyncIterator[int]:
    """Serve in the running event loop, and on a gather that has started; the port."""
    server = grpc.aio.server(options=_options(), maximum_concurrent_rpcs=CALLS)
    peers = Peers(
        broker.gather,
        broker.news,
        server=f"{socket.gethostname()}:{settings.port}",
        run=settings.run,
        patience=settings.patience,
    )
    server.add_generic_rpc_handlers(
        (
            service(routeguide.NAME, RouteGuide(peers).methods(), broker),
            service(native.NAME, native.METHODS, broker),
        )
    )
    healthy = await _look_after(server, [routeguide.NAME, native.NAME])
    port = _listen(server, settings)
    tending = asyncio.create_task(peers.tend())
    await server.start()
    try:
        yield port
    finally:
        await healthy.enter_graceful_shutdown()
        tending.cancel()
        with suppress(asyncio.CancelledError):
            await tending
        await server.stop(settings.stop_timeout)
        await peers.close()


@dataclass(slots=True)
class Reserved:
    """A port that is ours before the server is there, as every process of it will listen there itself."""

    host: str
    port: int
    held: socket.socket = field(init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            family, _, _, _, address = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)[0]
            if self.port or not SHARED:
                with socket.create_server(address[:2], family=family) as probe:  # fails if somebody is there
                    self.port = probe.getsockname()[1]
            self.held = socket.socket(family, socket.SOCK_STREAM)
            if SHARED:
                self.held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                self.held.bind((address[0], self.port))
                self.port = self.held.getsockname()[1]
        except OSError as error:
            raise InvalidSetting(
                f"cannot listen at {self.host} port {self.port} for gRPC: {error.strerror or error};"
                " say --grpc-port with another one, or --no-grpc"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.held.close()


def _options() -> list[tuple[str, Any]]:
    return [
        ("grpc.max_receive_message_length", LARGEST),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_metadata_size", LARGEST_METADATA),
        ("grpc.max_concurrent_streams", STREAMS),
        ("grpc.so_reuseport", 1),
        # Who has vanished without a word is noticed; who asks too often whether we are there is sent away.
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
        ("grpc.http2.max_ping_strikes", 2),
    ]


async def _look_after(server: grpc.aio.Server, names: list[str]) -> Any:
    """Tell who asks that we are well, and what we can do."""
    healthy = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(healthy, server)
    for name in ("", *names):
        await healthy.set(name, health_pb2.HealthCheckResponse.SERVING)
    reflection.enable_server_reflection((*names, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    return healthy


def _listen(server: grpc.aio.Server, settings: Settings) -> int:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"{host}:{settings.port}"
    try:
        if settings.tls is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, grpc.ssl_server_credentials([settings.tls]))
    except RuntimeError:
        raise InvalidSetting(f"cannot listen for gRPC at {address}") from None
