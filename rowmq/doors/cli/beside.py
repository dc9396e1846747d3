"""gRPC beside HTTP: one process, one event loop, one writer, the same tokens and certificate."""

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rowmq.core.errors import InvalidSetting
from rowmq.runtime.config import Config
from rowmq.runtime.config_sections import ServerConfig
from rowmq.runtime.log import event, logger

if TYPE_CHECKING:
    from rowmq.doors.grpc.call import Admit
    from rowmq.doors.grpc.serving import Settings
    from rowmq.doors.http.access import Access
    from rowmq.doors.http.call import Broker
    from rowmq.doors.http.serving import Beside, Count

MISSING = "gRPC needs packages that are not installed; run: pip install 'rowmq[grpc]', or say --no-grpc"
TOO_MANY = 429


class Grpc(NamedTuple):
    """Where gRPC is served, and how it begins."""

    url: str
    begin: "Beside"


@contextmanager
def beside(config: Config) -> Iterator[Grpc | None]:
    """A port for gRPC, and what begins there with the server; None if there is to be none.

    Where its packages are missing it is left out, and the log says so.
    """
    if not config.server.grpc:
        yield None
        return
    try:
        from rowmq.doors.grpc.serving import Reserved, Settings  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("rowmq"):
            raise
        event(logger, logging.WARNING, "grpc.missing", reason=MISSING)
        yield None
        return
    said = config.server
    with Reserved(said.host, said.grpc_port) as found:
        settings = Settings(host=said.host, port=found.port, tls=_pair(said), stop_timeout=said.stop_timeout)
        yield Grpc(_url(said, found.port), lambda broker, count: _begin(broker, settings, count))


@asynccontextmanager
async def _begin(broker: "Broker", settings: "Settings", count: "Count") -> AsyncIterator[None]:
    from rowmq.doors.grpc import call, serving  # noqa: PLC0415 - an extra

    ours = call.Broker(broker.gather, admitted(broker.access), broker.seal, count)
    async with serving.serving(ours, settings):
        yield


def admitted(access: "Access") -> "Admit":
    """Who may enter by HTTP may enter by gRPC, with the same token."""
    from grpc import StatusCode  # noqa: PLC0415 - an extra

    from rowmq.doors.grpc.status import Denied, unauthenticated  # noqa: PLC0415
    from rowmq.doors.http.refusal import Refusal  # noqa: PLC0415

    def admit(authorization: str | None, address: str) -> Any:
        try:
            return access.bearer(authorization, address)
        except Refusal as refusal:
            if refusal.status == TOO_MANY:
                raise Denied(StatusCode.RESOURCE_EXHAUSTED, refusal.sentence) from None
            raise unauthenticated() from None

    return admit


def _pair(said: ServerConfig) -> tuple[bytes, bytes] | None:
    """The key and the certificate as gRPC wants them; whether they fit is found out for HTTP."""
    if said.tls_cert is None:
        return None
    try:
        return Path(said.tls_key or said.tls_cert).read_bytes(), Path(said.tls_cert).read_bytes()
    except OSError as error:
        raise InvalidSetting(f"TLS cannot be had with {said.tls_cert}: {error.strerror}") from None


def _url(said: ServerConfig, port: int) -> str:
    host = f"[{said.host}]" if ":" in said.host else said.host
    return f"{'grpcs' if said.tls_cert else 'grpc'}://{host}:{port}"
