"""The program that serves: where it listens, whom it lets in, and how it ends."""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import signal
import socket
import sqlite3
import ssl
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import trustme

from rowmq import State
from rowmq.doors.cli import cli
from rowmq.doors.http.launch import check
from rowmq.runtime.client import Client, connect
from rowmq.runtime.config import Config
from rowmq.runtime.config_sections import ServerConfig
from tests.doors.http.asked import token_text, write_tokens
from tests.doors.http.serving import PATIENCE, served, serving
from tests.doors.program import finished
from tests.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DOCUMENT = Path(__file__).parents[3] / "docs/server.md"
OPEN = ("--host", "0.0.0.0")  # noqa: S104 - which is what is refused


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Keep everybody else from writing to a SQLite file, until it is rolled back."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        if connection.in_transaction:
            connection.rollback()


def eventually(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.02)


class Asking(threading.Thread):
    """A request in a thread of its own."""

    def __init__(self, method: str, url: str, **options: Any) -> None:
        super().__init__()
        self._asked, self._options = (method, url), {"timeout": PATIENCE, **options}
        self.answer: httpx.Response | None = None
        self.start()

    def run(self) -> None:
        self.answer = httpx.request(*self._asked, **self._options)

    def status(self) -> int:
        self.join(PATIENCE)
        assert self.answer is not None
        return self.answer.status_code


def number(url: str, name: str) -> float:
    """One of the server's numbers."""
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"rowmq_http_{name} "))


def under_way(url: str) -> float:
    """How many requests are being answered, beside the one that asks."""
    return number(url, "under_way") - 1


# ---- starting ----------------------------------------------------------------------------------------------


def test_the_first_line_says_where_the_server_is_and_where_to_go(tmp_path: Path) -> None:
    port = free_port()
    with served("-d", "hq.db", "--grpc-port", str(port), folder=tmp_path) as server:
        assert server.process.stdout is not None
        line = server.process.stdout.readline()
    where = f"{server.url} and grpc://127.0.0.1:{port}"
    pages = f"dashboard: {server.url}/ui, API: {server.url}/docs"
    assert line == f"RowMQ serves sqlite:///hq.db at {where} ({pages})\n"
    assert (tmp_path / "hq.db").exists()


def test_machines_are_told_in_json(tmp_path: Path) -> None:
    with served("--json", "--url", "memory://", "--no-grpc", folder=tmp_path) as server:
        assert server.process.stdout is not None
        said = json.loads(server.process.stdout.readline())
    pages = {"dashboard": f"{server.url}/ui", "docs": f"{server.url}/docs"}
    assert said == {"url": server.url, "grpc": None, "store": "memory://", **pages}


def test_it_serves_what_is_configured_if_nothing_is_said(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "rowmq.toml").write_text(f'url = "sqlite:///x.db"\n[server]\nport = {port}\n')
    with connect(f"sqlite:///{tmp_path / 'x.db'}") as mq:
        mq.queue("emails")
    with served(folder=tmp_path, port=port, said=False) as server:
        assert [each["name"] for each in httpx.get(f"{server.url}/queues").json()] == ["emails"]


def test_the_variables_of_hq_count_unless_ours_are_there(tmp_path: Path) -> None:
    port = free_port()
    variables: dict[str, Any] = {
        "PORT": "1",
        "ROWMQ_SERVER_PORT": str(port),
        "DATABASE": "y.db",
        "REQUEST_TIMEOUT": "0.2",
    }
    with served(folder=tmp_path, port=port, said=False, **variables) as server:
        httpx.post(f"{server.url}/queues?name=a&max_attempts=1&visibility_timeout_seconds=1")
        with locked(tmp_path / "y.db"):
            answer = httpx.post(f"{server.url}/queues/a/enqueue", content=b"1", timeout=PATIENCE)
    assert (answer.status_code, answer.text) == (408, "this took longer than 0.2 seconds")
    assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    ("arguments", "variables", "sentence"),
    [
        (OPEN, {}, "at 0.0.0.0 others can reach this server, so it needs tokens"),
        (("--host", "::"), {}, "at :: others can reach this server, so it needs tokens"),
        ((*OPEN, "--insecure"), {}, "so it needs tokens"),
        ((*OPEN, "--tokens", "tokens.toml"), {}, "on their way: say --tls-cert FILE, or --insecure"),
        ((*OPEN, "--tokens", "none.toml", "--insecure"), {}, "none.toml cannot be read"),
        (("--tls-key", "key.pem"), {}, "a TLS key needs its certificate"),
        (("--tls-cert", "none.pem"), {}, "TLS cannot be had with none.pem: No such file or directory"),
        (("--tls-cert", "tokens.toml"), {}, "TLS cannot be had with tokens.toml"),
        (("--workers", "2", "-d", ":memory:"), {}, "a memory store is one process's own"),
        (("--workers", "2"), {}, "SQLite has one writer at a time"),
        (("-d", "x.db", "--url", "memory://"), {}, "say --url or --database, not both"),
        (("-p", "70000"), {}, "70000 is not in the range"),
        ((), {"PORT": "many"}, "PORT is a whole number of at least 0 and of at most 65535, not 'many'"),
        ((), {"REQUEST_TIMEOUT": "0"}, "REQUEST_TIMEOUT is a number of at least 0.001, not 0"),
        (
            ("--host", "nowhere.invalid", "--tokens", "tokens.toml"), {"ROWMQ_SERVER_INSECURE": "true"},
            "cannot listen at nowhere.invalid",
        ),
    ],
)  # fmt: skip
def test_what_is_not_safe_or_cannot_be_is_refused_in_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], variables: dict[str, str], sentence: str
) -> None:
    write_tokens(tmp_path / "tokens.toml", token_text("a", "a", read=["*"]))
    ran = finished("serve", *arguments, folder=tmp_path, **variables)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1].startswith("rowmq: ")
    assert sentence in ran.err
    assert "Traceback" not in ran.err


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = finished("serve", "-p", str(port), "-d", ":memory:", folder=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert f"cannot listen at 127.0.0.1 port {port}: Address already in use" in ran.err


def test_beyond_this_machine_it_asks_for_tokens(tmp_path: Path) -> None:
    write_tokens(tmp_path / "tokens.toml", token_text("a", "right", read=["*"]))
    said = (*OPEN, "--tokens", "tokens.toml", "--insecure", "-d", ":memory:")
    with served(*said, folder=tmp_path) as server:
        statuses = [
            httpx.get(f"{server.url}/queues", headers={"authorization": f"Bearer {token}"}).status_code
            for token in ("right", "wrong")
        ]
    assert statuses == [200, 401]


def test_it_answers_over_tls(tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "both.pem"))
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with served("-d", ":memory:", "--tls-cert", "both.pem", folder=tmp_path) as server:
        assert server.url.startswith("https://")
        assert httpx.get(f"{server.url}/queues", verify=trusting).json() == []
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.get(f"{server.url}/queues")
        with pytest.raises(httpx.TransportError):
            httpx.get(server.url.replace("https", "http") + "/queues")


def test_it_is_called_what_it_was_allowed_to_be_called(tmp_path: Path) -> None:
    said = ("-d", ":memory:", "--allow-host", "queue.test", "--public-url", "https://mq.test/")
    names = ("127.0.0.1", "localhost:9999", "queue.test", "mq.test", "evil.test")
    with served(*said, folder=tmp_path) as server:
        statuses = {
            name: httpx.get(f"{server.url}/queues", headers={"host": name}).status_code for name in names
        }
    assert statuses == dict.fromkeys(names, 200) | {"evil.test": 421}


def test_lines_go_to_standard_error_when_they_are_wanted(tmp_path: Path) -> None:
    said = ("--json", "-d", ":memory:", "--access-log")
    with served(*said, folder=tmp_path) as server:
        httpx.get(f"{server.url}/queues")
        server.process.terminate()
        out, _ = server.process.communicate(timeout=PATIENCE)
    lines = [json.loads(line) for line in out.splitlines()[1:]]
    assert {"http.request"} == {each["event"] for each in lines}
    assert ("GET", "/queues", 200) in {(each["method"], each["path"], each["status"]) for each in lines}


def test_it_clears_up_and_fires_schedules_too(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'rowmq.db'}"
    with connect(url) as mq:
        lost = mq.queue("lost", max_attempts=1, lease=0.001).push("x")
        mq.queue("lost").claim()
        mq.queue("ticks")
        mq.schedule("tick", queue="ticks", every=1)
        with served("--url", url, folder=tmp_path):
            eventually(lambda: mq.queue("ticks").stats().ready > 0, "the schedule has not fired")
            eventually(lambda: mq.get(lost).state == State.DEAD, "nobody has swept")  # type: ignore[union-attr]


def test_it_may_have_as_many_files_open_as_connections(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))  # which those started from here begin with
    try:
        with served("-d", ":memory:", folder=tmp_path) as server:
            limits = Path(f"/proc/{server.process.pid}/limits").read_text(encoding="ascii")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    (found,) = re.findall(r"Max open files +(\d+)", limits)
    assert int(found) == min(10_000 + 256, hard)


# ---- ending ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_answers_who_waits_and_ends_well(tmp_path: Path, sent: int) -> None:
    with served("-d", ":memory:", folder=tmp_path) as server:
        httpx.post(f"{server.url}/queues?name=a&max_attempts=1&visibility_timeout_seconds=1")
        caller = Asking("POST", f"{server.url}/v1/queues/a/claim", json={"wait": 20})
        eventually(lambda: number(server.url, "long_polls") == 1, "nobody waits")
        started = time.monotonic()
        server.process.send_signal(sent)
        assert caller.status() == 200
        assert server.process.wait(PATIENCE) == 0
        assert time.monotonic() - started < 15


def test_a_stop_finishes_what_is_under_way_and_takes_no_more(tmp_path: Path) -> None:
    path = tmp_path / "rowmq.db"
    with connect(f"sqlite:///{path}") as mq:
        mq.queue("a")
        with served("-d", str(path), folder=tmp_path) as server:
            with locked(path):
                caller = Asking("POST", f"{server.url}/queues/a/enqueue", content=b"1")
                eventually(lambda: under_way(server.url) > 0, "nothing is under way")
                server.process.terminate()
                eventually(lambda: not listens(server.url), "it still takes more")
                assert caller.is_alive()
            assert caller.status() == 200
            assert server.process.wait(PATIENCE) == 0
        assert mq.queue("a").stats().ready == 1


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    path = tmp_path / "rowmq.db"
    with connect(f"sqlite:///{path}") as mq:
        mq.queue("a")
    with served("-d", str(path), folder=tmp_path, ends=False) as server, locked(path):
        caller = threading.Thread(target=hung_up_on, args=(f"{server.url}/queues/a/enqueue",))
        caller.start()
        eventually(lambda: under_way(server.url) > 0, "nothing is under way")
        server.process.terminate()
        eventually(lambda: not listens(server.url), "it still takes more")
        server.process.terminate()
        assert server.process.wait(PATIENCE) == 128 + signal.SIGTERM
        caller.join()


def test_what_takes_too_long_at_a_stop_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "rowmq.db"
    with connect(f"sqlite:///{path}") as mq:
        mq.queue("a")
    said = ("-d", str(path), "--stop-timeout", "1")
    with served(*said, folder=tmp_path) as server:
        with locked(path):
            caller = Asking("POST", f"{server.url}/queues/a/enqueue", content=b"1")
            eventually(lambda: under_way(server.url) > 0, "nothing is under way")
            server.process.terminate()
            assert caller.status() == 503
        assert server.process.wait(PATIENCE) == 0
        assert server.process.stdout is not None
        assert "Traceback" not in server.process.stdout.read()


def listens(url: str) -> bool:
    try:
        httpx.get(f"{url}/healthz")
    except httpx.TransportError:
        return False
    return True


def hung_up_on(url: str) -> None:
    with pytest.raises(httpx.TransportError):
        httpx.post(url, content=b"1", timeout=PATIENCE)


# ---- several processes -------------------------------------------------------------------------------------


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(each) for each in found.split()]


@pytest.fixture
def crew(tmp_path: Path, postgres_url: str) -> Iterator[Any]:
    with served("--url", postgres_url, "--workers", "2", folder=tmp_path) as server:
        yield server


def test_several_processes_serve_one_store(crew: Any, postgres_url: str) -> None:
    assert len(children(crew.process.pid)) == 2
    httpx.post(f"{crew.url}/queues?name=a&max_attempts=5&visibility_timeout_seconds=30")
    for number in range(20):
        httpx.post(f"{crew.url}/queues/a/enqueue", json=number)
    held = [httpx.get(f"{crew.url}/queues/a/receive").json() for _ in range(20)]
    assert sorted(each["args"] for each in held) == list(range(20))
    for each in held:
        answer = httpx.put(f"{crew.url}/messages/{each['id']}/complete", params={"receipt": each["receipt"]})
        assert answer.headers["rowmq-settled"] == "settled"
    with connect(postgres_url) as mq:
        assert mq.queue("a").stats().done == 20


def test_a_process_that_dies_is_replaced(crew: Any) -> None:
    before = children(crew.process.pid)
    os.kill(before[0], signal.SIGKILL)
    eventually(lambda: len(set(children(crew.process.pid)) - set(before)) == 1, "nobody has come instead")
    eventually(lambda: all(listens(crew.url) for _ in range(5)), "it does not answer")
    assert before[1] in children(crew.process.pid)


def test_processes_end_when_the_one_that_started_them_is_killed(tmp_path: Path, postgres_url: str) -> None:
    said = ("--url", postgres_url, "--workers", "2")
    with served(*said, folder=tmp_path, ends=False) as server:
        started = children(server.process.pid)
        server.process.kill()
        eventually(lambda: not any(alive(pid) for pid in started), "they live on")
        assert not listens(server.url)


def alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return False


# ---- in a thread -------------------------------------------------------------------------------------------


def test_a_server_in_a_thread_leaves_the_client_open() -> None:
    with connect("memory://") as mq:
        with serving(mq) as url:
            assert httpx.get(f"{url}/queues").json() == []
        assert isinstance(mq, Client)
        assert mq.queues() == []


# ---- the document ------------------------------------------------------------------------------------------


COMMANDS = re.findall(r"^(rowmq serve.*?)(?: +#.*)?$", DOCUMENT.read_text(), re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_document_is_understood(command: str) -> None:
    assert len(COMMANDS) > 4
    _, name, *arguments = shlex.split(command)
    assert cli.commands[name].make_context(name, arguments).params


def test_the_dockerfile_starts_what_it_may_and_asks_what_is_there() -> None:
    (lines,) = re.findall(r"```dockerfile\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    words = [
        json.loads(line.partition(" ")[2]) for line in lines.splitlines() if line.startswith(("ENTRY", "CMD"))
    ]
    _, name, *arguments = words[0] + words[1]
    said = cli.commands[name].make_context(name, arguments).params
    config = ServerConfig(host=said["host"], tokens=said["tokens"], insecure=said["insecure"])
    check(Config(url="memory://", server=config))
    assert "http://127.0.0.1:9999/healthz" in lines
    assert ServerConfig().port == 9999


def test_what_is_configured_for_sqs_is_what_its_clients_see(tmp_path: Path) -> None:
    (tmp_path / "rowmq.toml").write_text('[sqs]\naccount = "123456789012"\n')
    said = ("-d", ":memory:", "--public-url", "https://mq.test")
    with served(*said, folder=tmp_path) as server:
        target = {"x-amz-target": "AmazonSQS.CreateQueue", "content-type": "application/x-amz-json-1.0"}
        answer = httpx.post(server.url, headers=target, json={"QueueName": "a"})
    assert answer.json() == {"QueueUrl": "https://mq.test/123456789012/a"}
