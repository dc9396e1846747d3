"""What the HTTP server makes of one message a request, beside a constant answer, and beside moto_server.

    python -m benchmarks.http [--store sqlite] [--seconds 5] [--rounds 5] [--connections 64] [--json]

wrk asks over so many connections. Everything is measured in turn, round by round; a ratio is the median of
the rounds' own. The store is durable. The last figure is what a thousand idle long polls cost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.latency import cpu_seconds
from benchmarks.places import places
from tests.servers import free_port

HERE = Path(__file__).parent
POLLS = 1000
IDLE = 10.0


class Case(NamedTuple):
    """What wrk does: a script at a path of one of the servers, and how many requests make one."""

    name: str
    server: str
    path: str
    script: str
    requests: int = 1
    messages: int = 1


CASES = (
    Case("constant answer", "rowmq", "/constant", "post.lua"),
    Case("hq enqueue", "rowmq", "/queues/q/enqueue", "post.lua"),
    Case("enqueue, a transaction each", "rowmq", "/alone/q", "post.lua"),
    Case("hq enqueue, receive, complete", "rowmq", "/", "hq_cycle.lua", 3),
    Case("SQS send, receive, delete", "rowmq", "/", "sqs_cycle.lua", 3),
    Case("the same, moto_server", "moto", "/", "sqs_cycle.lua", 3),
    Case("SQS, ten at once", "rowmq", "/", "sqs_cycle.lua", 3, 10),
    Case("the same, moto_server", "moto", "/", "sqs_cycle.lua", 3, 10),
)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", choices=("sqlite", "postgres", "mysql"), default="sqlite")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing: install the Debian package wrk")
    with ExitStack() as stack:
        spots = stack.enter_context(places(options.store))
        url = stack.enter_context(spots.url())
        servers = {
            "rowmq": stack.enter_context(rowmq_server(url)),
            "moto": stack.enter_context(moto_server()),
        }
        rates: dict[int, list[float]] = {place: [] for place in range(len(CASES))}
        for number in range(options.rounds):
            for place, case in enumerate(CASES):
                base, _ = servers[case.server]
                # A queue of its own: what wrk leaves behind when its time is over would slow moto down.
                queue = create_queue(base, f"bench{number}-{place}")
                rates[place].append(rate(case, base, queue, options.seconds, options.connections))
        idle = idle_polls(*servers["rowmq"])
    show(options, rates, idle)


@contextmanager
def rowmq_server(url: str) -> Iterator[tuple[str, int]]:
    """Our server, durable; its address and process."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.http_server", url, str(port)]
    with running(command, f"http://127.0.0.1:{port}/healthz") as pid:
        yield f"http://127.0.0.1:{port}", pid


@contextmanager
def moto_server() -> Iterator[tuple[str, int]]:
    """The server of moto, in an environment of its own."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        pip = [f"{folder}/bin/pip", "install", "--quiet", "moto[server,sqs]"]
        subprocess.run(pip, check=True)  # noqa: S603 - a package by its name
        port = free_port()
        with running([f"{folder}/bin/moto_server", "-p", str(port)], f"http://127.0.0.1:{port}/") as pid:
            yield f"http://127.0.0.1:{port}", pid


@contextmanager
def running(command: list[str], address: str) -> Iterator[int]:
    """A process, from when it answers to the end."""
    log = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=log, stderr=log) as process:  # noqa: S603 - ours, or moto's
        try:
            end = time.monotonic() + 60
            while not answers(address):
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"{command[0]} does not answer")
                time.sleep(0.1)
            yield process.pid
        finally:
            process.terminate()


def answers(address: str) -> bool:
    """Whether a server does."""
    try:
        urllib.request.urlopen(address, timeout=5).close()  # noqa: S310 - our own address
    except OSError as error:
        return hasattr(error, "code")
    return True


def create_queue(base: str, name: str) -> str:
    """Make a queue as AWS's clients do; its URL."""
    request = urllib.request.Request(  # noqa: S310 - our own address
        base,
        data=b'{"QueueName": "%s", "Attributes": {"VisibilityTimeout": "600"}}' % name.encode(),
        headers={
            "x-amz-target": "AmazonSQS.CreateQueue",
            "content-type": "application/x-amz-json-1.0",
            "authorization": "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/sqs/aws4_request, "
            "SignedHeaders=host, Signature=0",
        },
    )
    with urllib.request.urlopen(request) as answer:  # noqa: S310 - our own address
        found: str = json.load(answer)["QueueUrl"]
        return found


def rate(case: Case, base: str, queue_url: str, seconds: int, connections: int) -> float:
    """How many a second: messages, for what goes through the queue."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(HERE / "wrk" / case.script)]
    environment = os.environ | {"QUEUE_URL": queue_url, "COUNT": str(case.messages)}
    done = subprocess.run(  # noqa: S603 - wrk, with our script
        [*command, base + case.path], capture_output=True, text=True, check=True, env=environment
    )
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
    if bad:
        raise RuntimeError(f"{case.name}: {bad.group(1)} requests were refused")
    found = re.search(r"Requests/sec: +([\d.]+)", done.stdout)
    if found is None:
        raise RuntimeError(f"{case.name}: wrk said {done.stdout}")
    return float(found.group(1)) * case.messages / case.requests


def idle_polls(base: str, pid: int) -> float:
    """What part of a core the server uses while a thousand long polls wait, in percent."""
    made = urllib.request.Request(f"{base}/v1/queues/idle", data=b"{}", method="PUT")  # noqa: S310 - ours
    urllib.request.urlopen(made).close()  # noqa: S310 - our own address
    return asyncio.run(_idle_polls(base, pid))


async def _idle_polls(base: str, pid: int) -> float:
    host, port = base.removeprefix("http://").split(":")
    body = b'{"wait": 20}'
    head = b"POST /v1/queues/idle/claim HTTP/1.1\r\nhost: %s\r\ncontent-type: application/json\r\n"
    opened = []
    for _ in range(POLLS):
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(head % host.encode() + b"content-length: %d\r\n\r\n" % len(body) + body)
        opened.append(writer)
    await asyncio.sleep(2)
    before, began = cpu_seconds(pid), time.monotonic()
    await asyncio.sleep(IDLE)
    share = 100 * (cpu_seconds(pid) - before) / (time.monotonic() - began)
    for writer in opened:
        writer.close()
    return share


def show(options: argparse.Namespace, rates: dict[int, list[float]], idle: float) -> None:
    """Print what was measured."""
    constant = rates[0]
    rows = []
    for place, case in enumerate(CASES):
        ratio = statistics.median(one / whole for one, whole in zip(rates[place], constant, strict=True))
        rows.append(
            {
                "case": case.name,
                "per_second": round(statistics.median(rates[place])),
                "ratio": round(ratio, 2),
            }
        )
    if options.json:
        print(json.dumps({"rows": rows, "idle_percent": round(idle, 2)}))
        return
    how = f"{options.connections} connections, {options.rounds} rounds of {options.seconds} s"
    print(f"{options.store}, {how}\n")
    print("| what | a second | of a constant answer |\n|---|---:|---:|")
    for row in rows:
        print(f"| {row['case']} | {row['per_second']:,} | {row['ratio']:.2f} |")
    print(f"\nenqueue against a transaction each: {ratio_of(rates, 1, 2):.1f}x")
    print(f"SQS against moto_server: {ratio_of(rates, 4, 5):.1f}x; ten at once: {ratio_of(rates, 6, 7):.1f}x")
    print(f"{POLLS} idle long polls: {idle:.1f} % of a core")


def ratio_of(rates: dict[int, list[float]], one: int, other: int) -> float:
    """The median of the rounds' ratios; a server that answered nothing in time counts as nearly nothing."""
    return statistics.median(a / max(b, 0.01) for a, b in zip(rates[one], rates[other], strict=True))


if __name__ == "__main__":
    main()
