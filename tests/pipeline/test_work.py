"""Handlers and tasks on executors: as workers, in micro-batches, and from the command line."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import rowmq
from rowmq.core.errors import InvalidSetting, InvalidURL
from rowmq.doors.cli.program import run
from rowmq.pipeline.handlers.work import Counts, Work, work
from rowmq.pipeline.handlers.workers import work_for_a_round
from rowmq.pipeline.stream.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from rowmq.runtime.claimed import ClaimedMessage
    from rowmq.runtime.client import Client


def loading(url: str) -> Callable[[], Client]:
    """What makes a client with a handler and a task, here and on executors."""

    def load() -> Client:
        mq = rowmq.connect(url)

        @mq.handler("jobs")
        def handle(message: ClaimedMessage) -> None:
            if message.payload == "crash":
                os._exit(1)
            if message.payload % 10 == 0:
                raise rowmq.Kill("no")
            if message.payload % 10 == 1 and message.attempt == 1:
                raise rowmq.Retry(after=0)

        @mq.task(queue="sums", name="add", results=True)
        def add(a: int, b: int) -> int:
            return a + b

        return mq

    return load


def pushed(load: Callable[[], Client], count: int = 100) -> Client:
    mq = load()
    mq.queue("jobs", max_attempts=2)
    mq.queue("sums")
    mq.push_many("jobs", range(count))
    return mq


@pytest.mark.parametrize("mode", ["workers", "microbatch"])
def test_handlers_and_tasks_on_executors_do_what_a_worker_does(
    spark: SparkSession, store_url: str, mode: Any
) -> None:
    load = loading(store_url)
    rounds: list[Counts] = []
    with pushed(load) as mq:
        id = mq.push("sums", {"args": [1], "kwargs": {"b": 2}}, metadata={"rowmq.task": "add"})
        counts = work(spark, mq, load, mode=mode, tasks=2, stop_when_empty=True, report=rounds.append)
        stats, record = mq.store.queues.stats("jobs"), mq.get(id)
    assert (stats.done, stats.dead, stats.ready, stats.leased) == (90, 10, 0, 0)
    assert counts == {"done": 91, "dead": 10, "retried": 10}
    assert sum(rounds, Counter()) == counts
    assert record is not None
    assert (record.state, record.result) == ("done", b"3")


def test_a_message_that_kills_its_process_is_found_and_buried_alone(
    spark: SparkSession, sqlite_url: str
) -> None:
    load = loading(sqlite_url)
    with pushed(load, 0) as mq:
        mq.queue("jobs", max_attempts=1)
        mq.push_many("jobs", [2, 3, "crash", 4])
        work(spark, mq, load, mode="microbatch", tasks=1, stop_when_empty=True)
        stats = mq.store.queues.stats("jobs")
        (dead,) = mq.find("jobs", state="dead")
    assert (stats.done, stats.dead) == (3, 1)
    assert dead.payload == "crash"


def test_workers_go_on_after_a_message_killed_their_process(spark: SparkSession, sqlite_url: str) -> None:
    load = loading(sqlite_url)
    with pushed(load, 0) as mq:
        mq.queue("jobs", max_attempts=1, lease=0.5)
        mq.push_many("jobs", ["crash", 2, 3])
        work(spark, mq, load, mode="workers", tasks=1, poll=0.6, stop_when_empty=True)
        stats = mq.store.queues.stats("jobs")
        (dead,) = [record for record in mq.find("jobs", state="dead") if record.payload == "crash"]
    assert (stats.leased, stats.done + stats.dead) == (0, 3)
    assert dead.reason == "exhausted"


def test_what_is_not_a_message_s_fault_is_raised_and_costs_no_attempt(
    spark: SparkSession, sqlite_url: str
) -> None:
    driver = os.getpid()

    def load() -> Client:
        if os.getpid() != driver:
            raise LookupError("not installed here")
        return loading(sqlite_url)()

    with pushed(load, 3) as mq:
        with pytest.raises(Exception, match="not installed here"):
            work(spark, mq, load, mode="microbatch", tasks=1, stop_when_empty=True)
        assert mq.store.queues.stats("jobs").ready == 3
        assert {record.attempts for record in mq.find("jobs")} == {0}


def test_work_ends_after_what_runs_when_it_is_told_to(spark: SparkSession, sqlite_url: str) -> None:
    load = loading(sqlite_url)
    over = threading.Event()
    with pushed(load, 2) as mq:
        counts = work(
            spark, mq, load, mode="workers", tasks=1, round=1.0, until=over, report=lambda _: over.set()
        )
        assert mq.store.queues.stats("jobs").leased == 0
    assert counts["done"] + counts["retried"] + counts["dead"] >= 2


def test_the_command_works_on_what_was_created_in_the_period_and_counts(
    spark: SparkSession, sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWMQ_URL", sqlite_url)
    target = "tests.pipeline.sample_app:mq"
    command = ["spark-work", target, "--tasks", "1", "--stop-when-empty", "--json"]
    with rowmq.connect(sqlite_url) as mq:
        ids = [mq.queue("letters").push(text) for text in ("a", "b", "")]
        assert run(["spark-work", target, "--dry-run", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == [{"queue": "letters", "ready": 3}]
        _, since, until = (record.created_at.isoformat() for record in mq.find("letters"))
        assert run([*command, "--since", since, "--until", until]) == 0
        assert json.loads(capsys.readouterr().out)["done"] == 1
        assert [str(record.state) for id in ids if (record := mq.get(id))] == ["ready", "done", "ready"]
    assert run(command) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"queues": ["letters"], "done": 1, "retried": 0, "dead": 1, "released": 0}


def test_only_what_was_created_in_the_period_is_worked_on(spark: SparkSession, sqlite_url: str) -> None:
    load = loading(sqlite_url)
    with pushed(load, 0) as mq:
        early, middle, late = (mq.push("jobs", number) for number in (2, 3, 4))
        times = [record.created_at for record in mq.find("jobs")]
        chosen: Any
        for chosen in ({"period": (None, times[1])}, {"period": (times[2], None), "mode": "microbatch"}):
            assert work(spark, mq, load, "jobs", tasks=1, stop_when_empty=True, **chosen) == {"done": 1}
        states = [str(record.state) for id in (early, middle, late) if (record := mq.get(id))]
    assert states == ["done", "ready", "done"]


def test_a_dry_run_counts_what_meets_the_conditions(
    sqlite_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pushed(loading(sqlite_url), 0) as mq:
        vars(sys.modules[__name__])["client"] = mq
        mq.push("jobs", 2)
        mq.push("jobs", 3, metadata={"v": "1"})
        for said, count in ((), 2), (["--where", "v=1"], 1), (["--until", "1h"], 0), (["--max-age", "1h"], 2):
            assert run(["spark-work", f"{__name__}:client", "--dry-run", "--json", *said]) == 0
            assert json.loads(capsys.readouterr().out)[0] == {"queue": "jobs", "ready": count}
        assert run(["spark-work", f"{__name__}:client", "--since", "1h", "--until", "2h"]) == 2
        assert "a period ends after it begins" in capsys.readouterr().err


def test_a_signal_lets_what_runs_finish_and_leaves_nothing_leased(
    spark: SparkSession, sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWMQ_URL", sqlite_url)
    options = ["--tasks", "1", "--concurrency", "1", "--batch", "1", "--json"]
    with rowmq.connect(sqlite_url) as mq:
        slow = mq.queue("slow")
        for mode, number in (("workers", signal.SIGTERM), ("microbatch", signal.SIGINT)):
            before = slow.stats().done
            slow.push_many([2] * 6)  # seconds
            signalling = signalled(number, lambda: slow.stats().leased)
            assert run(["spark-work", "tests.pipeline.slow_app:mq", "--mode", mode, *options]) == 0
            signalling.join()
            said, stats = json.loads(capsys.readouterr().out), slow.stats()
            assert (stats.done - before, stats.leased, stats.dead) == (said["done"], 0, 0)
            assert 1 <= said["done"] < 6
            assert all(record.attempts == 0 for record in mq.find("slow", state="ready"))
            slow.purge()


def signalled(number: int, begun: Callable[[], object]) -> threading.Thread:
    """Send this process a signal once something has begun."""

    def send() -> None:
        while not begun():
            time.sleep(0.05)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


def test_a_round_of_a_worker_says_whether_there_was_nothing_left(sqlite_url: str) -> None:
    load = loading(sqlite_url)
    with pushed(load, 3):
        said = Work(load=load, url=sqlite_url, queues=["jobs"], tasks=1, round=30.0, stop_when_empty=True)
        counts, empty = work_for_a_round(said)
    assert (counts, empty) == ({"done": 2, "retried": 1, "dead": 1}, True)


def test_a_round_that_ran_out_of_time_does_not_say_that_there_was_nothing(sqlite_url: str) -> None:
    load = loading(sqlite_url)
    with pushed(load, 3):
        said = Work(load=load, url=sqlite_url, queues=["jobs"], tasks=1, round=0.2)
        _, empty = work_for_a_round(said)
    assert not empty


def test_a_pace_is_halved_by_failures_and_doubled_by_successes() -> None:
    pace = Pace(10)
    sizes = []
    for step in (pace.slower, pace.slower, pace.slower, pace.slower, pace.faster, pace.faster):
        step()
        sizes.append(pace.size)
    assert sizes == [5, 2, 1, 1, 2, 4]
    for _ in range(3):
        pace.faster()
    assert pace.size == 10


def test_a_store_in_memory_is_refused(spark: SparkSession) -> None:
    with pytest.raises(InvalidURL, match="memory"):
        work(spark, rowmq.connect("memory://"), loading("memory://"), stop_when_empty=True)


def test_a_mode_there_is_none_of_is_refused(spark: SparkSession, sqlite_url: str) -> None:
    unknown: Any = "batch"
    with loading(sqlite_url)() as mq, pytest.raises(InvalidSetting, match="workers or microbatch"):
        work(spark, mq, loading(sqlite_url), mode=unknown)


def test_a_queue_that_nothing_handles_is_refused(spark: SparkSession, sqlite_url: str) -> None:
    with loading(sqlite_url)() as mq, pytest.raises(InvalidSetting, match="queue 'other' has no handler"):
        work(spark, mq, loading(sqlite_url), "other")


def test_an_at_most_once_queue_is_worked_on_by_workers_only(spark: SparkSession, sqlite_url: str) -> None:
    load = loading(sqlite_url)
    with pushed(load, 1) as mq:
        mq.queue("jobs", delivery="at_most_once")
        with pytest.raises(InvalidSetting, match="spark-work --mode workers"):
            work(spark, mq, load, "jobs", mode="microbatch", tasks=1, stop_when_empty=True)
