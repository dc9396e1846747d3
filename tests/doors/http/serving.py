"""Real servers for tests: in a thread of this process, or as a process of their own."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from rowmq.doors.http.serving import Server, Settings, bind
from rowmq.runtime.client import Client, connect
from tests.doors.program import environment
from tests.servers import free_port

PATIENCE = 30.0


@contextmanager
def serving(where: str | Client = "memory://", *, port: int | None = None, **settings: Any) -> Iterator[str]:
    """Serve a store, by its URL or through a client, in a thread; the server's base URL.

    ``settings`` are those of serving.Settings: access, guard, request_timeout, clients_clock and others.
    A client that was given stays open.
    """
    client = connect(where) if isinstance(where, str) else where
    listener = bind("127.0.0.1", port or 0)
    server = Server(client, listener, Settings(**settings))
    thread = threading.Thread(target=server.run, name="tested-server")
    thread.start()
    try:
        while not server.ready.wait(0.05):
            assert thread.is_alive(), "the server has not started"
        scheme = "https" if settings.get("tls") else "http"
        yield f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.stop()
        thread.join(PATIENCE)
        if isinstance(where, str):
            client.close()
    assert not thread.is_alive(), "the server has not stopped"


class Served(NamedTuple):
    """A process that serves, and where."""

    process: subprocess.Popen[str]
    url: str


@contextmanager
def served(
    *arguments: str,
    folder: Path,
    port: int | None = None,
    said: bool = True,
    ends: bool = True,
    **extra: str,
) -> Iterator[Served]:
    """Run ``rowmq serve`` with these arguments as a process, from when it answers; killed at the end.

    Without a port it is a free one; unless ``said`` it must know it otherwise. ``ends`` asks it to stop
    first, and to end well.
    """
    chosen = free_port() if port is None else port
    command = [sys.executable, "-m", "rowmq", "serve", *(["-p", str(chosen)] if said else []), *arguments]
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(**extra),
    ) as process:
        try:
            scheme = "https" if "--tls-cert" in arguments else "http"
            url = f"{scheme}://127.0.0.1:{chosen}"
            _await(process, url)
            yield Served(process, url)
            if ends and process.poll() is None:
                process.terminate()
                assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


def _await(process: subprocess.Popen[str], url: str) -> None:
    end = time.monotonic() + PATIENCE
    while not _answers(url):
        if process.poll() is not None:
            raise AssertionError(f"the server has ended: {process.communicate()[0]}")
        assert time.monotonic() < end, "the server does not answer"
        time.sleep(0.02)


def _answers(url: str) -> bool:
    try:
        httpx.get(f"{url}/healthz", verify=False)  # noqa: S501 - to see whether it is there
    except httpx.TransportError:
        return False
    return True
