"""From the configuration to a server that runs, in one process or several."""

import os
import socket
import ssl
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from rowmq.core.errors import InvalidSetting
from rowmq.doors.http.access import Tokens
from rowmq.doors.http.connection import Limits
from rowmq.doors.http.guard import Guard, is_local, known_hosts
from rowmq.doors.http.serving import Beside, Server, Settings, bind
from rowmq.doors.http.sqs.settings import Settings as SQSSettings
from rowmq.runtime.client import connect
from rowmq.runtime.config import Config
from rowmq.runtime.config_sections import ServerConfig
from rowmq.runtime.crew import Crew

SINGLE = {
    "memory": "a memory store is one process's own",
    "sqlite": "SQLite has one writer at a time, and one process serves it best",
}
"""Why some stores are served by one process."""
FILES = 256
"""How many files a server has open beside its connections, at most."""


def launch(config: Config, tell: Callable[[str], None], beside: Beside | None = None) -> None:
    """Serve until a signal comes; ``tell`` is called with the server's URL once it listens.

    ``beside`` is what each process runs in the same event loop. Raises InvalidSetting if what was asked for
    is not safe, or cannot be.
    """
    said = config.server
    check(config)
    settings = settings_of(config)
    allow_files(said.connections)
    client = connect(config.url)  # also for several processes: what is wrong is said once, and here
    with bind(said.host, said.port) as listener, closing(client):
        tell(said.public_url or address(listener, said))
        if said.workers == 1:
            Server(client, listener, settings, beside).run()
        else:
            client.close()
            followers = replace(settings, parent=os.getpid())
            Crew(lambda: _follow(config.url, listener, followers, beside), said.workers).run()


def _follow(url: str, listener: socket.socket, settings: Settings, beside: Beside | None) -> None:
    """Serve as one of several."""
    with connect(url, migrate=False) as client:
        Server(client, listener, settings, beside).run()


def allow_files(connections: int) -> None:
    """Let this process have a file open for each connection, as far as the system lets it choose."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not for every system

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = connections + FILES
        if soft < wanted:
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def check(config: Config) -> None:
    """Refuse what would let strangers in, and processes that would only be in each other's way."""
    said, kind = config.server, config.url.partition(":")[0].partition("+")[0]
    if said.workers > 1 and kind in SINGLE:
        raise InvalidSetting(f"{SINGLE[kind]}: serve it with --workers 1, or have a database server")
    if is_local(said.host):
        return
    if said.tokens is None:
        raise InvalidSetting(
            f"at {said.host} others can reach this server, so it needs tokens: make some with rowmq tokens,"
            " and say --tokens FILE"
        )
    if said.tls_cert is None and not said.insecure:
        raise InvalidSetting(
            f"at {said.host} tokens and messages could be read on their way: say --tls-cert FILE,"
            " or --insecure if something in front of this server does TLS"
        )


def settings_of(config: Config) -> Settings:
    """The configuration as the server takes it."""
    said = config.server
    tokens = None if said.tokens is None else Tokens(Path(said.tokens))
    known = {} if tokens is None else {"access": tokens, "secret": tokens.secret}
    return Settings(
        **known,  # type: ignore[arg-type]
        guard=Guard(known_hosts(said.host, _names(said))),
        limits=Limits(head=said.header_timeout, body=said.body_timeout, connections=said.connections),
        request_timeout=said.request_timeout,
        stop_timeout=said.stop_timeout,
        keep_alive=said.keep_alive,
        tls=_context(said),
        upkeep=True,
        sqs=_sqs(config),
        access_log=said.access_log,
        archive=said.archive,
        reports=said.reports,
    )


def _sqs(config: Config) -> SQSSettings:
    return SQSSettings(
        account=config.sqs.account,
        region=config.sqs.region,
        public_url=config.server.public_url,
        purge_wait=config.sqs.purge_wait,
        delete_wait=config.sqs.delete_wait,
    )


def address(listener: socket.socket, said: ServerConfig) -> str:
    """The URL that a socket is reached by from here."""
    host = f"[{said.host}]" if ":" in said.host else said.host
    return f"{'https' if said.tls_cert else 'http'}://{host}:{listener.getsockname()[1]}"


def _names(said: ServerConfig) -> list[str]:
    """What callers may call this server."""
    names = [each.strip() for each in (said.allow_host or "").split(",") if each.strip()]
    public = urlsplit(said.public_url or "").netloc
    return [*names, public] if public else names


def _context(said: ServerConfig) -> ssl.SSLContext | None:
    if said.tls_cert is None:
        if said.tls_key is not None:
            raise InvalidSetting("a TLS key needs its certificate: say --tls-cert FILE")
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(said.tls_cert, said.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise InvalidSetting(
            f"TLS cannot be had with {said.tls_cert}: {error.strerror or error.reason}"  # type: ignore[attr-defined]
        ) from None
    return context
