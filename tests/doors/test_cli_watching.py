"""top, observe, doctor and completion."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rowmq.core.history import Stats
from rowmq.doors.cli.doctor import sqlite_check
from rowmq.doors.cli.shapes import stats_shape
from rowmq.doors.cli.top import Look, rates
from rowmq.runtime.client import Client, connect
from tests.doors.program import Program, environment, finished, process
from tests.servers import Server, connect_redis


@pytest.fixture
def client(rowmq: Program) -> Any:
    with connect(f"sqlite:///{rowmq.folder}/rowmq.db") as made:
        made.queue("emails")
        yield made


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


class Terminal:
    """The program on a terminal of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._side, inner = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rowmq", *arguments],
            cwd=folder, stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
            env=environment(TERM="xterm-256color", COLUMNS="200", LINES="40"),
        )  # fmt: skip
        os.close(inner)
        self.seen = ""

    def read_until(self, text: str) -> None:
        end = time.monotonic() + 30
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            if not self._read():
                break
        assert text in self.seen

    def type(self, text: str) -> None:
        os.write(self._side, text.encode())

    def end(self) -> int:
        while self._read():
            pass
        code = self.process.wait(30)
        os.close(self._side)
        return code

    def _read(self) -> bool:
        try:
            found = os.read(self._side, 65536) if select.select([self._side], [], [], 10)[0] else b""
        except OSError:  # the other end is closed
            return False
        self.seen += found.decode(errors="replace")
        return bool(found)


def test_top_shows_the_queues_live_until_q_is_pressed(rowmq: Program, client: Client) -> None:
    terminal = Terminal(rowmq.folder, "top", "--every", "100ms")
    terminal.read_until("emails")
    client.queue("later[red]").push_many([1, 2])
    terminal.read_until("later[red]")
    terminal.type("q")
    assert terminal.end() == 0
    assert "done/s" in terminal.seen


def test_top_ends_with_130_at_an_interrupt_and_gives_the_terminal_back(
    rowmq: Program, client: Client
) -> None:
    assert client.queues()
    terminal = Terminal(rowmq.folder, "top")
    terminal.read_until("emails")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert terminal.seen.rindex("\x1b[?1049l") > terminal.seen.index("\x1b[?1049h")


def test_top_once_prints_one_table_and_without_a_terminal_too(rowmq: Program, client: Client) -> None:
    client.queue("emails", paused=True).push(1)
    for arguments in (["top", "--once"], ["top"]):
        head, row = rowmq(*arguments).out.splitlines()
        assert head.split()[:2] == ["queue", "ready"]
        assert row.split() == ["emails", "1", "0", "0", "0", "0", row.split()[6], "0", "paused"]
    assert rowmq("top", "--once", "--json").json[0]["consumers"] == 0


def test_rates_are_what_changed_between_two_looks() -> None:
    before = Look(10.0, {"q": stats_shape("q", Stats(5, 0, 0, 10, 0, None))})
    after = Look(12.0, {"q": stats_shape("q", Stats(3, 0, 1, 16, 0, None)), "new": {}})
    assert rates(before, after)[0]["in/s"] == 2.5
    assert rates(before, after)[0]["done/s"] == 3.0
    assert rates(after, before)[0]["done/s"] == 0
    assert rates(None, after)[0].get("done/s") is None


def test_a_progress_bar_is_for_terminals_and_ends_without_a_trace(rowmq: Program, client: Client) -> None:
    (rowmq.folder / "lines").write_text("1\n" * 3000)
    terminal = Terminal(rowmq.folder, "push", "emails", "--from", "lines")
    assert terminal.end() == 0
    assert "pushing to emails" in terminal.seen
    assert "pushed 3,000 messages to 'emails'" in terminal.seen
    assert client.queue("emails").stats().ready == 3000


def test_an_interrupted_stream_has_pushed_what_it_read(rowmq: Program, client: Client) -> None:
    with process("push", "emails", "-", folder=rowmq.folder) as started:
        assert started.stdin is not None
        started.stdin.write("1\n2\n")
        started.stdin.flush()
        until(lambda: client.queue("emails").stats().ready == 2)
        started.send_signal(signal.SIGINT)
        _, err = started.communicate(timeout=30)
    assert (started.returncode, "Traceback" in err) == (130, False), err


def test_a_payload_cannot_steer_a_terminal(rowmq: Program, client: Client) -> None:
    client.queue("emails").push("\x1b]0;owned\x07[bold]x[/bold]")
    terminal = Terminal(rowmq.folder, "find")
    assert terminal.end() == 0
    assert "]0;owned" in terminal.seen
    assert "\x1b]" not in terminal.seen
    assert "\x07" not in terminal.seen
    assert "[bold]x[/bold]" in terminal.seen.replace("\r\n", "")


def test_purge_asks_on_a_terminal(rowmq: Program, client: Client) -> None:
    client.queue("emails").push(1)
    terminal = Terminal(rowmq.folder, "purge", "emails")
    terminal.read_until("Delete 1 messages of queue 'emails'? [y/N]")
    terminal.type("y\n")
    assert terminal.end() == 0
    assert "deleted 1 messages" in terminal.seen


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_observe_prints_what_is_published_and_takes_its_queue_away_when_it_ends(
    rowmq: Program, client: Client, number: int
) -> None:
    with process("observe", "orders", "--json", folder=rowmq.folder) as started:
        until(lambda: client.topics() and client.consumers())
        client.topic("orders").publish({"n": 1}, metadata={"v": "1"})
        assert started.stdout is not None
        line = started.stdout.readline()
        started.send_signal(number)
        _, err = started.communicate(timeout=30)
    assert (started.returncode, "Traceback" in err) == (130, False), err
    assert '"payload": {"n": 1}' in line
    assert client.topics() == {}
    assert [queue.name for queue in client.queues()] == ["emails"]
    assert client.consumers() == []


def test_observe_on_a_named_queue_leaves_it_bound_and_ends_at_a_limit(rowmq: Program, client: Client) -> None:
    client.topic("orders").publish_many([1, 2, "\x1b[31mred"])
    ran = rowmq("observe", "orders", "--queue", "audit", "--limit", "2")
    assert [line.split()[-1] for line in ran.out.splitlines()] == ["1", "2"]
    ran = rowmq("observe", "orders", "--queue", "audit", "--limit", "1")
    assert ran.out.endswith('"\\u001b[31mred"\n')
    assert client.topics() == {"orders": ["audit"]}
    assert client.queue("audit").stats().done == 3


def test_a_named_queue_is_never_taken_for_one_that_was_left_behind(rowmq: Program, client: Client) -> None:
    client.topic("orders").publish(1)
    rowmq("observe", "orders", "--queue", "observe orders", "--limit", "1")
    client.topic("other").publish(2)
    rowmq("observe", "other", "--limit", "1")
    assert [queue.name for queue in client.queues()] == ["emails", "observe orders"]


def test_what_a_killed_observer_left_is_cleared_away_by_the_next(rowmq: Program, client: Client) -> None:
    (rowmq.folder / "rowmq.toml").write_text("consumer.beat = 0.05\n")
    with process("observe", "orders", folder=rowmq.folder) as started:
        until(lambda: [queue for queue in client.queues() if queue.tags])
        started.kill()
    until(lambda: not client.consumers())
    client.topic("orders").publish(1)
    assert len(client.topics()["orders"]) == 1
    with process("observe", "orders", "--limit", "1", folder=rowmq.folder) as started:
        until(lambda: len(client.consumers()) == 1)
        client.topic("orders").publish(2)
        out, _ = started.communicate(timeout=30)
    assert started.returncode == 0
    assert out.split()[-1] == "2"
    assert client.topics() == {}


def test_observe_follows_a_topic_of_postgresql(rowmq: Program, postgres_url: str) -> None:
    with connect(postgres_url) as there:
        with process(
            "observe", "orders", "--limit", "1", folder=rowmq.folder, ROWMQ_URL=postgres_url
        ) as started:
            until(lambda: there.topics() and there.consumers())
            there.topic("orders").publish({"n": 7})
            out, err = started.communicate(timeout=30)
        assert out.endswith('{"n": 7}\n'), err
        assert there.queues() == []


def states(checks: list[dict[str, str]]) -> dict[str, str]:
    return {each["check"]: each["state"] for each in checks}


def test_doctor_finds_nothing_broken_in_a_store_that_is_fine(rowmq: Program, client: Client) -> None:
    assert client.queues()
    found = states(rowmq("doctor", "--json").json)
    assert set(found) >= {
        "configuration",
        "connection",
        "schema",
        "durability",
        "clock",
        "sqlite",
        "time zones",
    }
    del found["sqlite"]  # as this machine's library is
    assert set(found.values()) == {"ok"}


def test_doctor_says_what_to_do_about_each_problem(rowmq: Program) -> None:
    missing = rowmq("doctor", "--json", code=1).json
    assert states(missing)["connection"] == "broken"
    assert "rowmq init" in next(each["advice"] for each in missing if each["check"] == "connection")
    (rowmq.folder / "rowmq.db").touch()
    empty = rowmq("doctor", "--json", code=1).json
    assert ("schema", "broken") in states(empty).items()
    assert "run: rowmq migrate" in next(each["advice"] for each in empty if each["check"] == "schema")
    (rowmq.folder / "rowmq.toml").write_text("url = 5")
    assert states(rowmq("doctor", "--json", code=1).json)["configuration"] == "broken"


def test_doctor_warns_of_weak_durability_and_hides_passwords(rowmq: Program, client: Client) -> None:
    assert client.queues()
    weak = rowmq("doctor", "--json", "--url", f"sqlite:///{rowmq.folder}/rowmq.db?durability=off").json
    assert states(weak)["durability"] == "warning"
    away = rowmq("doctor", "--url", "postgresql://ada:geheim@127.0.0.1:1/x", code=1).out
    assert "geheim" not in away


def test_doctor_examines_postgresql(rowmq: Program, postgres_url: str) -> None:
    rowmq("migrate", "--url", postgres_url)
    found = rowmq("doctor", "--json", "--url", postgres_url, code=None)
    assert found.code == 0, found.json
    assert states(found.json)["clock"] == "ok"


def test_doctor_examines_redis(rowmq: Program, own_redis: Server) -> None:
    found = states(rowmq("doctor", "--json", "--url", own_redis.url).json)
    assert {found[name] for name in ("connection", "schema", "server", "durability", "clock")} == {"ok"}
    with connect_redis(own_redis.url) as connection:
        connection.config_set("appendfsync", "everysec")
        connection.config_set("maxmemory-policy", "allkeys-lru")
    answer = rowmq("doctor", "--json", "--url", own_redis.url, code=1)
    assert states(answer.json) | {"server": "broken", "durability": "warning"} == states(answer.json)
    assert "noeviction" in answer.out


@pytest.mark.parametrize(
    ("version", "state"),
    [
        ((3, 51, 3), "ok"), ((3, 52, 0), "ok"), ((3, 50, 7), "ok"), ((3, 44, 6), "ok"),
        ((3, 51, 2), "warning"), ((3, 50, 6), "warning"), ((3, 45, 9), "warning"), ((3, 40, 1), "warning"),
    ],
)  # fmt: skip
def test_doctor_knows_the_sqlite_libraries_with_the_wal_reset_bug(
    version: tuple[int, ...], state: str
) -> None:
    assert sqlite_check(version).state == state


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(shell: str, rowmq: Program) -> None:
    assert "_ROWMQ_COMPLETE" in rowmq("completion", shell).out
    assert "_ROWMQ_COMPLETE" in rowmq("completion", shell, "--json").json["script"]


def complete(folder: Path, words: str, count: int, **extra: str) -> list[str]:
    ran = finished(
        folder=folder, _ROWMQ_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(count), **extra
    )
    assert ran.err == ""
    return [line.partition(",")[2] for line in ran.out.splitlines() if line]


def test_queues_commands_and_options_are_completed(rowmq: Program, client: Client) -> None:
    client.queue("errands")
    assert complete(rowmq.folder, "rowmq push e", 2) == ["emails", "errands"]
    assert complete(rowmq.folder, "rowmq stats emails er", 3) == ["errands"]
    assert complete(rowmq.folder, "rowmq pu", 1) == ["push", "purge", "publish"]
    assert "--max-attempts" in complete(rowmq.folder, "rowmq queues create x --max", 4)


@pytest.mark.parametrize(
    "url", ["", "nonsense", "postgresql://ada@127.0.0.1:1/x", "postgresql://ada@10.255.255.1/x"]
)
def test_completion_of_queues_is_silent_when_the_store_is_away(url: str, tmp_path: Path) -> None:
    began = time.monotonic()
    assert complete(tmp_path, "rowmq push e", 2, ROWMQ_URL=url) == []
    assert time.monotonic() - began < 20
    assert list(tmp_path.iterdir()) == []
