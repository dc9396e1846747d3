"""gRPC in ``rowmq serve``: beside HTTP, in several processes, left out, and stopped."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import grpc
import httpx
import pytest

import rowmq
from rowmq.core.delivery import Want
from rowmq.doors.cli.beside import beside
from rowmq.doors.grpc.serving import Reserved
from rowmq.runtime.config import load
from rowmq.stores.grpc import rowmq_pb2 as wire
from tests.doors.grpc.gomq import crowd
from tests.doors.grpc.serving import Caller
from tests.doors.grpc.subscribing import eventually
from tests.doors.http.serving import served
from tests.servers import free_port

if TYPE_CHECKING:
    from pathlib import Path


def test_http_and_grpc_serve_the_same_store_and_receipts(tmp_path: Path) -> None:
    port = free_port()
    with served("-d", "q.db", "--grpc-port", str(port), folder=tmp_path) as server:
        with rowmq.connect(f"grpc://127.0.0.1:{port}") as mq:
            mq.queue("q").push(7)
            (found,) = mq.store.claim("q", [Want()])[0]
        receipt = f"{found.seq}.{found.token.decode()}"
        said = {"settlements": [{"receipt": receipt, "outcome": "ack"}]}
        answer = httpx.post(f"{server.url}/v1/settle", json=said)
        assert answer.json() == {"results": ["settled"]}, answer.text


def test_calls_are_counted_by_their_codes_and_logged_where_that_is_wanted(tmp_path: Path) -> None:
    port, over = free_port(), threading.Event()

    def requests() -> Any:
        yield wire.SubscribeRequest(start=wire.Start(topic="t"))
        over.wait(30)

    arguments = ("--json", "-d", "q.db", "--access-log", "--grpc-port", str(port))
    with served(*arguments, folder=tmp_path) as server:
        with Caller(f"127.0.0.1:{port}") as caller:
            asked = wire.PublishRequest(topic="t", messages=[wire.NewMessage(payload=b"1")])
            caller("/rowmq.v1.RowMQ/Publish", asked, wire.PublishResponse)
            with pytest.raises(grpc.RpcError):
                caller("/rowmq.v1.RowMQ/Claim", wire.ClaimRequest(queue="none"), wire.ClaimResponse)
            stream = caller.streamed(
                "/rowmq.v1.RowMQ/Subscribe", requests(), wire.SubscribeResponse, wire.SubscribeRequest
            )
            assert next(stream).started.queue
            stream.cancel()
            over.set()
        counted = {("Publish", "OK"), ("Claim", "NOT_FOUND"), ("Subscribe", "CANCELLED")}
        for method, code in counted:
            wanted = f'rowmq_grpc_calls_total{{code="{code}",method="{method}"}} 1.0'
            eventually(lambda wanted=wanted: wanted in httpx.get(f"{server.url}/metrics").text)
        server.process.terminate()
        out, _ = server.process.communicate(timeout=30)
    lines = [json.loads(line) for line in out.splitlines()[1:]]
    assert {(each["method"], each["code"]) for each in lines if each["event"] == "grpc.call"} == counted


def test_several_processes_serve_one_port(tmp_path: Path, postgres_url: str) -> None:
    port = free_port()

    async def main(address: str) -> None:
        async with crowd(address, 13) as (publisher, *consumers):
            await asyncio.gather(*(each.subscribe("a", "c") for each in consumers))
            await asyncio.gather(*(publisher.publish("a", b"%d" % number) for number in range(20)))
            for found in await asyncio.gather(*(each.receive("c", 20) for each in consumers)):
                assert len(found) == 20

    arguments = ("--url", postgres_url, "--workers", "2", "--grpc-port", str(port))
    with served(*arguments, folder=tmp_path):
        asyncio.run(main(f"127.0.0.1:{port}"))


def test_open_streams_do_not_hold_up_a_stop(tmp_path: Path) -> None:
    port = free_port()

    def requests() -> Any:
        yield wire.SubscribeRequest(start=wire.Start(topic="t"))
        time.sleep(30)

    with (
        served("-d", "q.db", "--grpc-port", str(port), folder=tmp_path, ends=False) as server,
        Caller(f"127.0.0.1:{port}") as caller,
    ):
        path = "/rowmq.v1.RowMQ/Subscribe"
        call = caller.streamed(path, requests(), wire.SubscribeResponse, wire.SubscribeRequest)
        assert next(call).started.queue
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        with pytest.raises(grpc.RpcError) as stopped:
            next(call)
        assert stopped.value.code() is grpc.StatusCode.UNAVAILABLE
        assert server.process.wait(60) == 0
        assert time.monotonic() - began < 25


def test_without_its_packages_grpc_is_left_out_and_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in [name for name in sys.modules if name.startswith("rowmq.doors.grpc.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "grpc", None)
    monkeypatch.setitem(sys.modules, "grpc_health.v1", None)
    with beside(load({"url": "memory://"})) as found:
        assert found is None
    assert "pip install 'rowmq[grpc]'" in caplog.text


def test_a_port_that_is_taken_is_said_in_one_sentence(tmp_path: Path) -> None:
    port = free_port()
    with served("-d", "a.db", "--grpc-port", str(port), folder=tmp_path):
        config = load({"url": "memory://", "server.grpc_port": port})
        with pytest.raises(rowmq.InvalidSetting, match=f"port {port} for gRPC.*--grpc-port"), beside(config):
            pass


def test_a_port_of_the_systems_choice_is_free_for_both_kinds_of_address() -> None:
    with ExitStack() as taken:
        for _ in range(500):
            taken.enter_context(socket.create_server(("127.0.0.1", 0)))
        for _ in range(500):
            with Reserved("::", 0) as found:
                assert found.port > 0
