"""Real servers that speak SQS alone, each in a thread of this process, and clients for them."""

import asyncio
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import uvicorn
import uvloop

from rowmq.doors.http.access import Access, Open
from rowmq.doors.http.app import App
from rowmq.doors.http.call import Broker
from rowmq.doors.http.route import Family
from rowmq.doors.http.serving import bind
from rowmq.doors.http.sqs import Settings, family
from rowmq.doors.receipt import Seal
from rowmq.runtime.client import Client
from rowmq.runtime.gather import Gather

PATIENCE = 30.0
KEY = b"a key for tests"
REGION = "us-east-1"
ACCOUNT = "000000000000"


@contextmanager
def serving(
    client: Client, settings: Settings | None = None, *, access: Access | None = None
) -> Iterator[str]:
    """Serve a client's store; the server's base URL. Requests may say what time it is."""
    listener = bind("127.0.0.1", 0)
    served = _Served(client, [family(settings)], access or Open())
    thread = threading.Thread(target=served.run, args=(listener,), name="tested-sqs")
    thread.start()
    try:
        assert served.ready.wait(PATIENCE), "the server has not started"
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        served.stop()
        thread.join(PATIENCE)
    assert not thread.is_alive(), "the server has not stopped"


class _Served:
    def __init__(self, client: Client, families: Sequence[Family], access: Access) -> None:
        self._client, self._families, self._access = client, families, access
        self.ready = threading.Event()

    def run(self, listener: socket.socket) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve(listener))

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)

    async def _serve(self, listener: socket.socket) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        gather = Gather(self._client.store)
        gather.start()
        app = App(Broker(self._client, gather, self._access, Seal(KEY)), self._families, clients_clock=True)
        server = _Quiet(uvicorn.Config(app, http="httptools", lifespan="off", log_config=None))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        self.ready.set()  # the socket listens already
        await self._stopping.wait()
        gather.rest()
        server.should_exit = True
        await serving
        await gather.close()


class _Quiet(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Clock:
    """The time that requests say it is; the store's own until it is moved."""

    def __init__(self) -> None:
        self._ahead: timedelta | None = None

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self._ahead = (self._ahead or timedelta()) + timedelta(seconds=seconds)

    def reset(self) -> None:
        """Let the store's own clock count again."""
        self._ahead = None

    def say(self, request: Any, **_: object) -> None:
        """Put the time into a request of boto3's."""
        if self._ahead is not None:
            request.headers["Rowmq-Now"] = (datetime.now(UTC) + self._ahead).isoformat()


def client_of(service: str, endpoint: str, **options: Any) -> Any:
    """A client of boto3's, with keys that nobody knows."""
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=REGION,
        **{"aws_access_key_id": "anybody", "aws_secret_access_key": "anything"} | options,
    )
