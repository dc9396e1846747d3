"""SQS over HTTP, to RowMQ's server and to moto_server alike: the adapter starts the server and is its client.

    sqs_adapter.py rowmq | moto

The client speaks AWS's JSON protocol over connections that stay open, without boto3, whose own cost would
hide the servers'. It is one for both.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.peers.adapters.peer import Peer
from benchmarks.peers.adapters.serve import serve

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CONNECTIONS = 16
TEN = 10
FILLING = 60.0
"""Seconds for which a FIFO queue is filled at most: moto_server needs ever longer for a message."""
SIGNED = "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0"


class Connection:
    """One connection to the server."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        self._http.connect()
        self._http.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, action: str, **given: Any) -> dict[str, Any]:
        """One call of the API."""
        headers = {
            "x-amz-target": f"AmazonSQS.{action}",
            "content-type": "application/x-amz-json-1.0",
            "authorization": SIGNED,
        }
        self._http.request("POST", "/", json.dumps(given), headers)
        answer = self._http.getresponse()
        body = answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{action}: {answer.status} {body[:300]!r}")
        found: dict[str, Any] = json.loads(body or b"{}")
        return found


class Sqs(Peer):
    """A server, and so many connections to it at once."""

    limit = TEN * CONNECTIONS

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.over = threading.Event()
        self.server: subprocess.Popen[bytes] | None = None
        self.idle: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        self.pool = ThreadPoolExecutor(CONNECTIONS)
        self.threads: list[threading.Thread] = []

    def describe(self) -> dict[str, Any]:
        client = f"{CONNECTIONS} connections, SendMessageBatch, ReceiveMessage and DeleteMessageBatch of ten"
        if self.kind == "rowmq":
            return {
                "version": version("rowmq"),
                "settings": f"rowmq serve on SQLite, durable, history kept; {client}",
            }
        return {
            "version": self._moto_version(),
            "settings": f"moto_server, which keeps everything in memory: not durable; {client}",
        }

    def _moto_version(self) -> str:
        asked = [f"{os.environ['PEERS_HOME']}/bin/python", "-c", "import moto; print(moto.__version__)"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603

    def open(self, url: str, *, make: bool) -> None:
        """Start the server on a place of its own, or find the one that was started there."""
        note = Path(url, "port")
        if make:
            note.write_text(str(self._serve(url)))
        self.port = int(note.read_text())
        for _ in range(CONNECTIONS):
            self.idle.put(Connection(self.port))
        self.url = self._create("q")

    def _create(self, name: str, **more: str) -> str:
        with_lease = {"VisibilityTimeout": "3600", **more}
        return str(
            Connection(self.port).call("CreateQueue", QueueName=name, Attributes=with_lease)["QueueUrl"]
        )

    def _serve(self, url: str) -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if self.kind == "rowmq":
            program = [sys.executable, "-m", "rowmq", "serve", "--port", str(port)]
        else:
            program = [f"{os.environ['PEERS_HOME']}/bin/moto_server", "-p", str(port)]
        settings = os.environ | {"ROWMQ_URL": f"sqlite:///{url}/rowmq.db"}
        self.server = subprocess.Popen(  # noqa: S603 - a server of ours, or moto's
            program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=settings
        )
        for _ in range(600):
            try:
                Connection(port)
            except OSError:
                time.sleep(0.1)
            else:
                return port
        raise RuntimeError(f"{program[0]} does not answer")

    def call(self, action: str, **given: Any) -> dict[str, Any]:
        """A call over a connection that is idle."""
        connection = self.idle.get()
        try:
            return connection.call(action, QueueUrl=self.url, **given)
        finally:
            self.idle.put(connection)

    def push(self, message: dict[str, Any]) -> None:
        self.call("SendMessage", MessageBody=json.dumps(message))

    def push_each(self, messages: Iterator[dict[str, Any]], until: float) -> int:
        """One message a request, over all connections at once."""
        counts = self.pool.map(
            lambda _: super(Sqs, self).push_each(_locked(messages), until), range(CONNECTIONS)
        )
        return sum(counts)

    def push_many(self, messages: Sequence[dict[str, Any]]) -> None:
        tens = [messages[at : at + TEN] for at in range(0, len(messages), TEN)]
        list(self.pool.map(self._push_ten, tens))

    def _push_ten(self, messages: Sequence[dict[str, Any]]) -> None:
        entries = [{"Id": str(at), "MessageBody": json.dumps(one)} for at, one in enumerate(messages)]
        self.call("SendMessageBatch", Entries=entries)

    def start(self) -> None:
        self.over.clear()
        # A few are enough when single messages are waited for, and idle polls cost moto_server much.
        many = 2 if self.told else CONNECTIONS
        self.threads = [threading.Thread(target=self._work, daemon=True) for _ in range(many)]
        for thread in self.threads:
            thread.start()

    def _work(self) -> None:
        connection = Connection(self.port)
        while not self.over.is_set():
            asked = {"QueueUrl": self.url, "MaxNumberOfMessages": TEN, "WaitTimeSeconds": 1}
            found = connection.call("ReceiveMessage", **asked).get("Messages", [])
            if not found:
                continue
            entries = [
                {"Id": str(at), "ReceiptHandle": each["ReceiptHandle"]} for at, each in enumerate(found)
            ]
            connection.call("DeleteMessageBatch", QueueUrl=self.url, Entries=entries)
            for each in found:
                self.handle(json.loads(each["Body"])["n"])

    def stop(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join()

    def close(self) -> None:
        if self.server is not None:
            self.server.terminate()
            self.server.wait()

    def left(self) -> int:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.call("GetQueueAttributes", AttributeNames=names)["Attributes"]
        return sum(int(found[name]) for name in names)

    def servers(self) -> list[int]:
        return [self.server.pid] if self.server else []

    def cycle(self, count: int, seconds: float, size: int, waiting: int, *, fifo: bool) -> dict[str, Any]:
        """Send, receive, delete, one by one over all connections; what was deleted counts."""
        more = {"FifoQueue": "true", "ContentBasedDeduplication": "true"} if fifo else {}
        self.url = self._create("cycle.fifo" if fifo else "cycle", **more)
        filled = self._fill(waiting, size, until=time.monotonic() + FILLING)
        numbers, started = itertools.count(), time.monotonic()
        until = started + seconds
        rounds = self.pool.map(
            lambda _: self._cycles(numbers, count, until, size, fifo=fifo), range(CONNECTIONS)
        )
        return {"count": sum(rounds), "seconds": time.monotonic() - started, "waiting": filled}

    def _fill(self, waiting: int, size: int, until: float) -> int:
        """So many in a FIFO queue, each in a group of its own, or as many as can be sent in time."""

        def ten(first: int) -> int:
            if time.monotonic() > until:
                return 0
            self.call("SendMessageBatch", Entries=[_entry(at, size) for at in range(first, first + TEN)])
            return TEN

        return sum(self.pool.map(ten, range(0, waiting, TEN)))

    def _cycles(self, numbers: Iterator[int], count: int, until: float, size: int, *, fifo: bool) -> int:
        done = 0
        while time.monotonic() < until and (number := next(numbers)) < count:
            group = {"MessageGroupId": f"new{number}"} if fifo else {}
            self.call("SendMessage", MessageBody=f"new {number} " + "x" * size, **group)
            for each in self.call("ReceiveMessage", MaxNumberOfMessages=1).get("Messages", []):
                self.call("DeleteMessage", ReceiptHandle=each["ReceiptHandle"])
                done += 1
        return done


def _entry(number: int, size: int) -> dict[str, str]:
    body = f"{number} " + "x" * size
    return {"Id": str(number % TEN), "MessageBody": body, "MessageGroupId": str(number)}


def _locked(messages: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    while True:
        with LOCK:
            message = next(messages, None)
        if message is None:
            return
        yield message


LOCK = threading.Lock()

if __name__ == "__main__":
    serve(Sqs(sys.argv[1]))
