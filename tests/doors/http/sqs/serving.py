"""Real servers that speak SQS alone, each in a thread of this process."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import uvicorn
import uvloop

from rowmq.doors.http.access import Access, Open
from rowmq.doors.http.app import App
from rowmq.doors.http.call import Broker
from rowmq.doors.http.receipt import Seal
from rowmq.doors.http.route import Family
from rowmq.doors.http.serving import bind
from rowmq.doors.http.sqs import Settings, family
from rowmq.runtime.client import Client
from rowmq.runtime.gather import Gather

PATIENCE = 30.0
KEY = b"a key for tests"


@contextmanager
def serving(
    client: Client, settings: Settings | None = None, *, access: Access | None = None
) -> Iterator[str]:
    """Serve a client's store; the server's base URL."""
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

    def run(self, listener: object) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve(listener))

    def stop(self) -> None:
        self._server.should_exit = True

    async def _serve(self, listener: object) -> None:
        gather = Gather(self._client.store)
        gather.start()
        app = App(Broker(self._client, gather, self._access, Seal(KEY)), self._families)
        config = uvicorn.Config(app, http="httptools", lifespan="off", log_config=None, access_log=False)
        self._server = uvicorn.Server(config)
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        serving = asyncio.create_task(self._server.serve(sockets=[listener]))  # type: ignore[list-item]
        while not self._server.started and not serving.done():
            await asyncio.sleep(0.001)
        self.ready.set()
        try:
            await self._rest_at_the_end(gather)
            await serving
        finally:
            await gather.close()

    async def _rest_at_the_end(self, gather: Gather) -> None:
        while not self._server.should_exit:
            await asyncio.sleep(0.01)
        gather.rest()
