"""A gRPC server in a thread of this process, and plain calls of it."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

import grpc

from rowmq.doors.grpc.call import Admit, Broker
from rowmq.doors.grpc.serving import Settings
from rowmq.doors.grpc.serving import serving as begin
from rowmq.doors.receipt import Seal
from rowmq.doors.right import ANYBODY, Principal
from rowmq.runtime.gather import Gather

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rowmq.core.store import Store

OWN = (("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1))
PATIENCE = timedelta(seconds=30)


def anybody(authorization: str | None, address: str) -> Principal:
    return ANYBODY


@contextmanager
def serving(
    store: Store, *, admit: Admit = anybody, patience: timedelta = PATIENCE, run: str = "one", port: int = 0
) -> Iterator[str]:
    """Serve a store, which stays open; the server's address."""
    loop, over, ready = asyncio.new_event_loop(), asyncio.Event(), threading.Event()
    ports: list[int] = []

    async def main() -> None:
        gather = Gather(store)
        gather.start()
        settings = Settings(port=port, patience=patience, run=run, stop_timeout=0.2)
        async with begin(Broker(gather, admit, Seal(b"key")), settings) as found:
            ports.append(found)
            ready.set()
            await over.wait()
        await gather.close()

    thread = threading.Thread(target=loop.run_until_complete, args=[main()], name="tested-grpc")
    thread.start()
    try:
        assert ready.wait(60)
        yield f"127.0.0.1:{ports[0]}"
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(30)
        loop.close()
    assert not thread.is_alive()


class Caller:
    """Calls methods over one connection."""

    def __init__(self, address: str, token: str | None = None) -> None:
        self.channel = grpc.insecure_channel(address, options=OWN)
        self.metadata = (("authorization", f"Bearer {token}"),) if token else ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()

    def __call__(self, path: str, asked: Any, gives: Any, **options: Any) -> Any:
        method = self.channel.unary_unary(
            path,
            request_serializer=type(asked).SerializeToString,
            response_deserializer=gives.FromString,
        )
        return method(asked, metadata=self.metadata, **{"timeout": 30, **options})

    def refused(self, path: str, asked: Any, gives: Any) -> tuple[str, str]:
        """The status code and the sentence that a call is refused with."""
        try:
            self(path, asked, gives)
        except grpc.RpcError as error:
            return error.code().name, str(error.details())
        raise AssertionError("the call was not refused")

    def streamed(self, path: str, asked: Any, gives: Any, kind: Any) -> Any:
        """A call whose requests are a stream, and its answers too."""
        method = self.channel.stream_stream(
            path, request_serializer=kind.SerializeToString, response_deserializer=gives.FromString
        )
        return method(asked, metadata=self.metadata, timeout=30)

    def poured(self, path: str, asked: Sequence[Any], gives: Any) -> Any:
        """A call whose requests are a stream, and its one answer."""
        method: Any = self.channel.stream_unary(
            path,
            request_serializer=lambda each: each.SerializeToString(),
            response_deserializer=gives.FromString,
        )
        return method(iter(asked), metadata=self.metadata, timeout=60)
