"""Workers that are killed, stopped, doubled, and whose database goes away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import rowmq
from tests.runtime.crew import Process
from tests.runtime.working import eventually, working

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers import Server


def done_once(mq: rowmq.Client, count: int) -> None:
    """Every message is done, and no more than that."""
    q = mq.queue("q")
    stats = q.stats()
    assert (stats.done, stats.dead, stats.leased, stats.ready, stats.scheduled) == (count, 0, 0, 0, 0)
    assert sorted(record.payload for record in q.find(state="done")) == list(range(count))


@pytest.mark.timeout(180)
def test_ten_workers_killed_in_the_middle_lose_nothing_and_finish_nothing_twice(url: str) -> None:
    with rowmq.connect(url) as mq:
        q = mq.queue("q", lease=2, max_attempts=None)
        q.push_many(range(5000))
        for _ in range(10):
            worker = Process(url, concurrency=4)
            worker.ready()
            time.sleep(0.15)  # let it get into the middle of things
            worker.send(signal.SIGKILL)
            assert worker.wait()[0] == -signal.SIGKILL
        killed = q.stats()
        assert killed.leased > 0
        assert 0 < killed.done < 5000
        mq.handler("q")(lambda _: None)
        with working(mq):
            eventually(lambda: q.stats().done == 5000, "the end")
        done_once(mq, 5000)
        assert max(record.receives for record in q.find()) > 1


def test_a_busy_worker_that_is_asked_to_stop_causes_no_redelivery(url: str) -> None:
    with rowmq.connect(url) as mq:
        q = mq.queue("q", lease=60)
        q.push_many(range(3000))
        worker = Process(url, concurrency=4, pause=0.005)
        worker.ready()
        eventually(lambda: q.stats().done > 100, "work")
        worker.send(signal.SIGTERM)
        code, handled = worker.wait()
        assert code == 0
        stats = q.stats()
        assert stats.leased == 0
        assert stats.done == len(handled) == len(set(handled))
        assert stats.done + stats.ready == 3000
        assert stats.ready > 0
        assert {record.attempts for record in q.find(state="ready")} == {0}


def test_a_second_signal_stops_at_once(sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("q").push_many(range(20))
        worker = Process(sqlite_url, pause=30, concurrency=2)
        eventually(lambda: mq.queue("q").stats().leased >= 2, "work")
        worker.send(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            worker.process.wait(0.5)
        worker.send(signal.SIGINT)
        assert worker.wait()[0] == 128 + signal.SIGINT


def test_several_processes_share_the_work_and_one_that_is_killed_is_replaced(url: str) -> None:
    with rowmq.connect(url) as mq:
        q = mq.queue("q", lease=1, max_attempts=None)
        worker = Process(url, processes=2, concurrency=2)
        q.push_many(range(200))
        worker.ready()
        eventually(lambda: q.stats().done == 200, "work")
        eventually(lambda: len(mq.consumers("q")) == 2, "two workers")
        names = {each.name for each in mq.consumers("q")}
        victim = int(next(iter(names)).split(":")[1])
        os.kill(victim, signal.SIGKILL)
        eventually(lambda: len({each.name for each in mq.consumers("q")} - names) == 1, "a replacement")
        q.push_many(range(200))
        eventually(lambda: q.stats().done == 400, "more work")
        worker.send(signal.SIGTERM)
        assert worker.wait()[0] == 0


def test_a_signal_that_reaches_parent_and_children_stops_them_gracefully(sqlite_url: str) -> None:
    with rowmq.connect(sqlite_url) as mq:
        q = mq.queue("q", lease=60)
        q.push_many(range(20))
        crew = Process(sqlite_url, processes=2, concurrency=2, pause=1)
        crew.ready()
        eventually(lambda: q.stats().leased >= 3, "work in both")
        for child in {int(each.name.split(":")[1]) for each in mq.consumers("q")}:
            os.kill(child, signal.SIGINT)
        crew.send(signal.SIGINT)
        code, handled = crew.wait()
        assert (code, q.stats().leased) == (0, 0)
        assert q.stats().done == len(handled) < 20


def test_a_child_of_somebody_else_is_not_taken_for_a_worker(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'queue.db'}"
    script = f"""
import logging, subprocess, sys, rowmq
logging.basicConfig()
subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
mq = rowmq.connect({url!r})
mq.handler("q")(lambda message: __import__("time").sleep(2))
mq.queue("q").push_many([1, 2])
mq.work(processes=2, concurrency=1, stop_when_empty=True)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "process_died" not in ran.stderr


def test_a_busy_worker_goes_on_by_itself_after_postgresql_was_restarted(own_postgres: Server) -> None:
    with rowmq.connect(own_postgres.url) as mq:
        q = mq.queue("q", lease=2, max_attempts=None, backoff={"first": 0})
        seen: list[Any] = []
        lock = threading.Lock()

        @q.handler
        def handle(message: rowmq.ClaimedMessage) -> None:
            time.sleep(0.002)
            with lock:
                seen.append(message.payload)

        q.push_many(range(2000))
        with working(mq, concurrency=4):
            eventually(lambda: len(seen) > 200, "work")
            own_postgres.kill()
            own_postgres.restart()
            eventually(lambda: set(seen) == set(range(2000)), "going on")
            eventually(lambda: q.stats().done == 2000, "settling")
        done_once(mq, 2000)


HOLDER = """
import sys, rowmq
with rowmq.connect(sys.argv[1]) as mq:
    [message] = mq.queue("q").claim(lease=0.5)
    print("held", flush=True)
    sys.stdin.readline()
    for act in (message.ack, message.retry, message.kill, message.release, message.extend):
        try:
            act()
            print("done")
        except rowmq.LeaseLost:
            print("LeaseLost")
"""


def test_a_holder_paused_past_its_lease_gets_lease_lost_and_changes_nothing(url: str) -> None:
    with rowmq.connect(url) as mq:
        q = mq.queue("q")
        q.push("x")
        command = [sys.executable, "-c", HOLDER, url]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            holder.send_signal(signal.SIGSTOP)
            (message,) = q.claim(wait=20, lease=60)
            holder.send_signal(signal.SIGCONT)
            said, _ = holder.communicate("go on\n", timeout=60)
        assert said.split() == ["LeaseLost"] * 5
        assert message.attempt == 2
        assert q.stats().leased == 1
        message.ack()
