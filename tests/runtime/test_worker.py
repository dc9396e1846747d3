"""What a worker does with messages, handlers, and what handlers say."""

from __future__ import annotations

import asyncio
import logging
import operator
import threading
import time
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import create_engine, text

import rowmq
from rowmq import ClaimedMessage, InvalidSetting, Kill, Middleware, Retry, Snooze, WorkerState
from rowmq.core.delivery import CANDIDATES
from rowmq.core.message import Batch, Message
from tests.runtime.working import drain, eventually, working
from tests.timing import timed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rowmq.core.outcome import Outcome, Settled


def test_a_worker_handles_every_message_once_and_they_are_done(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    seen: list[Any] = []
    q.handler(lambda message: seen.append(message.payload))
    q.push_many(range(500))
    drain(mq)
    assert sorted(seen) == list(range(500))
    assert q.stats()._replace(oldest_age=None) == (0, 0, 0, 500, 0, None)


def test_a_worker_that_waits_handles_what_is_pushed_later(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    seen: list[Any] = []
    q.handler(lambda message: seen.append(message.payload))
    with working(mq):
        for number in range(5):
            q.push(number)
            eventually(partial(operator.eq, seen, list(range(number + 1))))
    assert q.stats().done == 5


def test_an_async_handler_runs_on_a_loop_many_at_once(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    together, most = 0, 0

    @q.handler
    async def wait(_: ClaimedMessage) -> None:
        nonlocal together, most
        together += 1
        most = max(most, together)
        await asyncio.sleep(0.05)
        together -= 1

    q.push_many(range(40))
    drain(mq, concurrency=20)
    assert q.stats().done == 40
    assert 2 <= most <= 20


def test_plain_and_async_tasks_of_one_queue_run_side_by_side(mq: rowmq.Client) -> None:
    seen: list[str] = []

    @mq.task
    def plain(name: str) -> None:
        seen.append(f"{name} in {threading.current_thread().name.split('-')[1]}")

    @mq.task
    async def on_loop(name: str) -> None:
        await asyncio.sleep(0)
        seen.append(f"{name} in {threading.current_thread().name.split('-')[1]}")

    for number in range(10):
        plain.push(str(number))
        on_loop.push(str(number))
    drain(mq, concurrency=2)
    assert sorted(seen) == sorted(
        [f"{n} in handler" for n in range(10)] + [f"{n} in loop" for n in range(10)]
    )


def test_an_exception_is_kept_with_its_traceback_and_the_message_is_retried(mq: rowmq.Client) -> None:
    q = mq.queue("q", backoff={"first": 0, "jitter": 0}, max_attempts=3)

    @q.handler
    def fail(message: ClaimedMessage) -> None:
        raise ValueError(f"no luck {message.attempt}")

    id = q.push("x")
    drain(mq)
    record = mq.get(id)
    assert record is not None
    assert (record.state, record.reason) == ("dead", "exhausted")
    errors = [each.error for each in mq.failures(id)]
    assert [f"ValueError: no luck {n}" in error for n, error in enumerate(errors, 1)] == [True] * 3
    assert all("in fail" in error for error in errors)
    assert {each.consumer for each in mq.failures(id)} != {None}


def test_a_failed_message_waits_for_its_backoff(mq: rowmq.Client) -> None:
    q = mq.queue("q", backoff={"first": 3600, "cap": 7200, "jitter": 0})

    @q.handler
    def fail(_: ClaimedMessage) -> None:
        raise ValueError

    id = q.push("x")
    drain(mq)
    record = mq.get(id)
    assert record is not None
    assert record.state == "scheduled"
    assert record.visible_at is not None
    assert 3500 < (record.visible_at - mq.store.now()).total_seconds() <= 3600


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit, RecursionError])
def test_whatever_a_handler_raises_the_worker_goes_on(
    memory: rowmq.Client, error: type[BaseException]
) -> None:
    q = memory.queue("q", max_attempts=1)

    @q.handler
    def crash(message: ClaimedMessage) -> None:
        if message.payload == "bad":
            raise error

    q.push_many(["bad", "good", "bad", "good"])
    drain(memory, concurrency=1)
    assert (q.stats().done, q.stats().dead) == (2, 2)


def test_kill_buries_at_once_with_its_reason(mq: rowmq.Client) -> None:
    q = mq.queue("q")

    @q.handler
    def kill(_: ClaimedMessage) -> None:
        raise Kill("no such user")

    id = q.push("x")
    drain(mq)
    record = mq.get(id)
    assert record is not None
    assert (record.state, record.reason, record.attempts) == ("dead", "killed", 1)
    assert [each.error for each in mq.failures(id)] == ["no such user"]


def test_retry_comes_back_after_the_time_it_says_and_counts(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    attempts: list[int] = []

    @q.handler
    def again(message: ClaimedMessage) -> None:
        attempts.append(message.attempt)
        if message.attempt < 3:
            raise Retry("not yet", after=0)

    id = q.push("x")
    drain(mq)
    assert attempts == [1, 2, 3]
    assert [each.error for each in mq.failures(id)] == ["not yet", "not yet"]


def test_a_snoozed_message_comes_back_and_the_attempt_does_not_count(mq: rowmq.Client) -> None:
    q = mq.queue("q", max_attempts=1)
    attempts: list[int] = []

    @q.handler
    def later(message: ClaimedMessage) -> Snooze | None:
        attempts.append(message.attempt)
        return Snooze(after=0) if len(attempts) < 4 else None

    id = q.push("x")
    drain(mq)
    assert attempts == [1, 1, 1, 1]
    record = mq.get(id)
    assert record is not None
    assert record.state == "done"


def test_a_snoozed_message_stays_away_for_that_long(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    q.handler(lambda _: Snooze(after=3600))
    q.push("x")
    drain(mq)
    assert q.stats().scheduled == 1


def test_a_message_that_is_not_json_is_buried_and_the_queue_goes_on(url: str) -> None:
    with rowmq.connect(url) as mq:
        q = mq.queue("q")
        refused: list[tuple[bytes, str]] = []
        q.handler(lambda _: None)
        id = rowmq.new_id()
        mq.store.push(
            [Batch("q", [Message(id=id, body=b"{not json"), Message(id=rowmq.new_id(), body=b"1")])]
        )
        drain(mq, on_invalid=lambda message, error: refused.append((message.body, str(error))))
        record = mq.get(id)
        assert record is not None
        assert (record.state, record.reason) == ("dead", "invalid")
        assert refused[0][0] == b"{not json"
        assert "not JSON" in refused[0][1]
        assert q.stats().done == 1


def test_an_unknown_task_is_buried_as_invalid_and_the_queue_goes_on(mq: rowmq.Client) -> None:
    done: list[int] = []

    @mq.task(queue="q")
    def known(number: int) -> None:
        done.append(number)

    q = mq.queue("q")
    bad = q.push({"args": [], "kwargs": {}}, metadata={"rowmq.task": "os.system"})
    known.push(1)
    drain(mq)
    record = mq.get(bad)
    assert record is not None
    assert (record.state, record.reason) == ("dead", "invalid")
    assert "no task is called 'os.system'" in mq.failures(bad)[0].error
    assert done == [1]


def test_a_task_whose_arguments_do_not_fit_is_buried_as_invalid(memory: rowmq.Client) -> None:
    @memory.task(queue="q", name="t")
    def task(number: int) -> None: ...

    q = memory.queue("q")
    ids = [
        q.push({"args": [1, 2], "kwargs": {}}, metadata={"rowmq.task": "t"}),
        q.push("nonsense", metadata={"rowmq.task": "t"}),
    ]
    drain(memory)
    assert [record.reason for id in ids if (record := memory.get(id))] == ["invalid", "invalid"]
    assert "does not take these arguments" in memory.failures(ids[0])[0].error


def test_an_async_handler_that_takes_too_long_is_cancelled_and_retried(mq: rowmq.Client) -> None:
    q = mq.queue("q", max_attempts=1)
    ended: list[str] = []

    @q.handler(timeout=0.05)
    async def slow(_: ClaimedMessage) -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    id = q.push("x")
    drain(mq)
    assert ended == ["cancelled"]
    assert "TimeoutError" in mq.failures(id)[0].error


def test_a_plain_handler_that_takes_too_long_is_told_and_its_message_is_settled_without_it(
    mq: rowmq.Client,
) -> None:
    q = mq.queue("q", max_attempts=1)
    told = threading.Event()

    @q.handler(timeout=0.1)
    def slow(message: ClaimedMessage) -> None:
        eventually(lambda: message.lost, "being told")
        told.set()

    id = q.push("x")
    with working(mq):
        eventually(told.is_set, "the handler being told")
        eventually(lambda: q.stats().dead == 1, "burial")
    assert "slow did not finish within 0.1 seconds" in mq.failures(id)[0].error


@timed
def test_leases_are_kept_alive_while_handlers_run_and_while_messages_wait(url: str) -> None:
    with rowmq.connect(url) as mq:
        q = mq.queue("q", lease=1, max_attempts=1)
        started = threading.Event()
        go_on = threading.Event()
        seen: list[int] = []

        @q.handler
        def slow(message: ClaimedMessage) -> None:
            if message.payload >= 20:  # enough quick ones, so that the worker claims ahead
                started.set()
                go_on.wait(60)
            seen.append(message.payload)

        q.push_many(range(40))
        with working(mq, concurrency=1, buffer=100) as worker:
            started.wait(60)
            eventually(lambda: len(worker.held()) > 5, "claiming ahead")
            end = time.monotonic() + 2.5
            while time.monotonic() < end:  # somebody else would get what is not kept
                assert q.claim(40, lease=60) == []
                time.sleep(0.05)
            go_on.set()
            eventually(lambda: q.stats().done == 40)
        assert sorted(seen) == list(range(40))


def test_a_lost_lease_flags_the_message_and_nothing_is_settled(url: str) -> None:
    with rowmq.connect(url) as mq, rowmq.connect(url) as other:
        q = mq.queue("q", lease=0.5)
        lost = threading.Event()
        running = threading.Event()

        @q.handler
        def hold(message: ClaimedMessage) -> None:
            running.set()
            eventually(lambda: message.lost, "loss")
            lost.set()

        id = q.push("x")
        with working(mq):
            running.wait(60)
            other.amend([id], "kill")  # an operator takes it away
            eventually(lost.is_set, "the handler's end")
        record = mq.get(id)
        assert record is not None
        assert (record.state, record.reason) == ("dead", "killed")


def test_a_lost_lease_cancels_an_async_handler(url: str) -> None:
    with rowmq.connect(url) as mq:
        q = mq.queue("q", lease=0.5)
        running, cancelled = threading.Event(), threading.Event()

        @q.handler
        async def hold(_: ClaimedMessage) -> None:
            running.set()
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                cancelled.set()
                raise

        id = q.push("x")
        with working(mq):
            running.wait(60)
            mq.amend([id], "kill")
            eventually(cancelled.is_set, "cancelling")
        assert q.stats().dead == 1


def test_no_more_handlers_run_at_once_than_a_queue_allows(mq: rowmq.Client) -> None:
    narrow, wide = mq.queue("narrow"), mq.queue("wide")
    lock = threading.Lock()
    now = {"narrow": 0, "wide": 0}
    most = {"narrow": 0, "wide": 0}

    def run(message: ClaimedMessage) -> None:
        with lock:
            now[message.queue] += 1
            most[message.queue] = max(most[message.queue], now[message.queue])
        time.sleep(0.01)
        with lock:
            now[message.queue] -= 1

    narrow.handler(concurrency=1)(run)
    wide.handler(run)
    narrow.push_many(range(20))
    wide.push_many(range(40))
    drain(mq, concurrency=6)
    assert most["narrow"] == 1
    assert 2 <= most["wide"] <= 6


def test_messages_of_a_group_are_handled_one_after_the_other_in_order(url: str) -> None:
    with rowmq.connect(url) as mq:
        q = mq.queue("q")
        seen: dict[str, list[int]] = {"a": [], "b": []}
        inside: set[str] = set()

        @q.handler
        def handle(message: ClaimedMessage) -> None:
            assert message.group is not None
            assert message.group not in inside
            inside.add(message.group)
            seen[message.group].append(message.payload)
            time.sleep(0.001)
            inside.discard(message.group)

        for number in range(15):
            q.push(number, group="a")
            q.push(number, group="b")
        drain(mq)
        assert seen == {"a": list(range(15)), "b": list(range(15))}


def test_a_queues_rate_holds_across_workers(url: str) -> None:
    with rowmq.connect(url) as mq, rowmq.connect(url) as second:
        q = mq.queue("q", rate=(10, 0.5))
        times: list[float] = []
        for client in (mq, second):
            client.handler("q")(lambda _: times.append(time.monotonic()))
        q.push_many(range(40))
        began = time.monotonic()  # not when the first handler runs, which may be long after its claim
        with working(mq), working(second):
            eventually(lambda: len(times) == 40)
        assert max(times) - began >= (40 - 10) / 20  # a full bucket at once, the others at 20 a second


def test_a_worker_can_be_started_once_and_stopped_once(memory: rowmq.Client) -> None:
    memory.queue("q").handler(lambda _: None)
    worker = memory.worker()
    with pytest.raises(WorkerState, match="not running"):
        worker.stop()
    worker.start()
    with pytest.raises(WorkerState, match="started already"):
        worker.start()
    worker.stop(5)
    with pytest.raises(WorkerState, match="not running"):
        worker.stop()


def test_stopping_lets_running_handlers_finish_and_their_acks_count(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    running = threading.Event()

    @q.handler
    def slow(_: ClaimedMessage) -> None:
        running.set()
        time.sleep(0.3)

    id = q.push("x")
    worker = mq.worker()
    worker.start()
    running.wait(60)
    worker.stop(60)
    record = mq.get(id)
    assert record is not None
    assert (record.state, record.attempts, record.receives) == ("done", 1, 1)


@timed
def test_stopping_gives_buffered_messages_back_with_the_attempt_refunded(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    blocked, go_on = threading.Event(), threading.Event()

    @q.handler
    def handle(message: ClaimedMessage) -> None:
        if message.payload >= 20:
            blocked.set()
            go_on.wait(60)

    q.push_many(range(100))
    worker = mq.worker(concurrency=1, buffer=1000)
    worker.start()
    blocked.wait(60)
    eventually(lambda: len(worker.held()) > 10, "claiming ahead")
    threading.Timer(0.1, go_on.set).start()
    worker.stop(60)
    stats = q.stats()
    assert stats.leased == 0
    assert stats.done + stats.ready == 100
    assert stats.ready > 10
    assert {record.attempts for record in q.find(state="ready")} == {0}


@timed
def test_stopping_says_so_when_handlers_take_longer_and_their_messages_come_back(url: str) -> None:
    with rowmq.connect(url) as mq:
        q = mq.queue("q", lease=0.5)
        running, go_on = threading.Event(), threading.Event()

        @q.handler
        def stuck(_: ClaimedMessage) -> None:
            running.set()
            go_on.wait(60)

        q.push("x")
        worker = mq.worker()
        worker.start()
        running.wait(60)
        with pytest.raises(rowmq.StopTimeout, match="1 handlers were still running"):
            worker.stop(0.1)
        (message,) = q.claim(wait=10)
        assert message.attempt == 2
        go_on.set()


def test_a_handler_that_acks_in_its_own_transaction_is_not_settled_again(url: str) -> None:
    with rowmq.connect(url) as mq:
        q = mq.queue("q")
        engine = create_engine(url) if "sqlite" in url else mq.store.database.engine  # type: ignore[attr-defined]
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE effects (number INTEGER)"))

        @q.handler
        def handle(message: ClaimedMessage) -> None:
            with engine.begin() as connection:
                connection.execute(text("INSERT INTO effects VALUES (:n)"), {"n": message.payload})
                message.ack(tx=connection)
                if message.payload == 2 and message.attempt == 1:
                    raise ValueError("rolls back both")

        q.configure(backoff={"first": 0})
        q.push_many([1, 2, 3])
        drain(mq, concurrency=1)
        with engine.connect() as connection:
            numbers = connection.execute(text("SELECT number FROM effects ORDER BY number")).scalars().all()
        assert numbers == [1, 2, 3]
        assert q.stats().done == 3
        with engine.begin() as connection:
            connection.execute(text("DROP TABLE effects"))
        engine.dispose()


def test_middleware_sees_a_message_before_around_and_after(mq: rowmq.Client) -> None:
    seen: list[str] = []

    class Watch(Middleware):
        def on_claim(self, queue: str, messages: Sequence[ClaimedMessage]) -> None:
            seen.append(f"claimed {len(messages)} of {queue}")

        def before(self, message: ClaimedMessage) -> None:
            seen.append(f"before {message.payload}")

        @contextmanager
        def around(self, message: ClaimedMessage) -> Iterator[None]:
            seen.append("in")
            try:
                yield
            except ValueError as error:
                seen.append(f"saw {error}")
                raise Kill("translated") from error
            finally:
                seen.append("out")

        def after(self, message: ClaimedMessage, outcome: Outcome, error: BaseException | None) -> None:
            seen.append(f"after {type(outcome).__name__} {type(error).__name__}")

        def on_settle(self, settled: Sequence[tuple[ClaimedMessage, Outcome, Settled]]) -> None:
            seen.append(f"{settled[0][2]}")

        @contextmanager
        def around_worker(self, worker: rowmq.Worker) -> Iterator[None]:
            seen.append("up")
            yield
            seen.append("down")

    q = mq.queue("q")

    @q.handler
    def handle(message: ClaimedMessage) -> None:
        if message.payload == "bad":
            raise ValueError("bad")

    mq.use(Watch())
    q.push("good")
    drain(mq)
    assert seen == [
        "up",
        "claimed 1 of q",
        "before good",
        "in",
        "out",
        "after Ack NoneType",
        "settled",
        "down",
    ]
    seen.clear()
    q.push("bad")
    drain(mq)
    assert seen[3:7] == ["in", "saw bad", "out", "after Bury Kill"]
    assert q.stats().dead == 1


def test_a_hook_that_fails_before_the_handler_fails_the_message_and_one_after_changes_nothing(
    memory: rowmq.Client,
) -> None:
    class Broken(Middleware):
        def before(self, message: ClaimedMessage) -> None:
            if message.payload == "stop me":
                raise Kill("stopped")

        def after(self, message: ClaimedMessage, outcome: Outcome, error: BaseException | None) -> None:
            raise RuntimeError("in after")

    q = memory.queue("q")
    handled: list[Any] = []
    q.handler(lambda message: handled.append(message.payload))
    q.push_many(["stop me", "let me"])
    drain(memory, middleware=[Broken()])
    assert handled == ["let me"]
    assert (q.stats().done, q.stats().dead) == (1, 1)


def test_a_worker_claims_only_what_its_filter_and_age_limit_let_through(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    seen: list[Any] = []
    q.handler(lambda message: seen.append(message.payload))
    q.push("one", metadata={"v": "1"})
    q.push("two", metadata={"v": "2"})
    drain(mq, where={"v": ["2", "3"]})
    assert seen == ["two"]
    drain(mq, max_age=0.000001)
    assert seen == ["two"]
    drain(mq, max_age=3600)
    assert seen == ["two", "one"]


def test_a_worker_that_stops_when_empty_looks_behind_many_messages_that_are_not_for_it(
    tmp_path: Path,
) -> None:
    seen: list[Any] = []
    with rowmq.connect(f"sqlite:///{tmp_path}/q.db") as mq:
        q = mq.queue("q")
        q.handler(lambda message: seen.append(message.payload))
        q.push_many(range(CANDIDATES + 1))
        q.push("mine", metadata={"v": "2"})
        drain(mq, where={"v": "2"})
    assert seen == ["mine"]


def test_a_worker_claims_only_what_was_created_in_its_period(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    seen: list[Any] = []
    q.handler(lambda message: seen.append(message.payload))
    q.push("one")
    now = mq.store.now()
    drain(mq, until=now - timedelta(hours=1))
    drain(mq, since=now + timedelta(hours=1))
    assert seen == []
    drain(mq, since=now - timedelta(hours=1), until=now + timedelta(hours=1))
    assert seen == ["one"]
    with pytest.raises(InvalidSetting, match="since has a time zone"):
        mq.worker("q", since=datetime(2026, 5, 1))  # noqa: DTZ001 - what is refused


def test_a_worker_is_a_consumer_of_its_queues_while_it_runs(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    q.handler(lambda _: None)
    with working(mq, name="worker one"):
        assert [each.name for each in mq.consumers("q")] == ["worker one"]
    assert mq.consumers("q") == []


def test_a_deleted_queue_does_not_stop_the_worker_of_another(url: str) -> None:
    with rowmq.connect(url) as mq:
        seen: list[Any] = []
        for name in ("a", "b"):
            mq.queue(name).handler(lambda message: seen.append(message.payload))
        with working(mq):
            mq.queue("a").delete()
            mq.push("b", 1)
            eventually(lambda: seen == [1])
            mq.queue("a").push(2)
            eventually(lambda: seen == [1, 2])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"concurrency": 0}, "concurrency is a whole number of at least 1, not 0"),
        ({"batch": 1.5}, "batch is a whole number"),
        ({"poll": 0}, "poll is longer than 0"),
        ({"lease": "soon"}, "lease is a number of seconds or a timedelta, not 'soon'"),
        ({"thread": 3}, "a worker has no option thread"),
    ],
)
def test_options_that_cannot_be_are_refused(memory: rowmq.Client, options: Any, sentence: str) -> None:
    memory.queue("q").handler(lambda _: None)
    with pytest.raises(InvalidSetting, match=sentence):
        memory.worker(**options)


def test_a_worker_with_nothing_to_do_is_refused(memory: rowmq.Client) -> None:
    with pytest.raises(InvalidSetting, match="register a handler"):
        memory.worker()
    with pytest.raises(InvalidSetting, match="queue 'q' has no handler"):
        memory.worker("q")
    with pytest.raises(InvalidSetting, match="one process's own"):
        memory.work(processes=2)


def test_a_worker_says_what_happens_on_the_logger_and_metrics_it_is_given(
    memory: rowmq.Client, caplog: pytest.LogCaptureFixture
) -> None:
    class Count(Middleware):
        claimed = 0

        def on_claim(self, queue: str, messages: Sequence[ClaimedMessage]) -> None:
            self.claimed += len(messages)

    q, count = memory.queue("q", max_attempts=1), Count()

    @q.handler
    def fail(_: ClaimedMessage) -> None:
        raise ValueError("no")

    q.push("x")
    with caplog.at_level("INFO", logger="mine"):
        drain(memory, logger=logging.getLogger("mine"), metrics=count)
    said = {(record.name, record.getMessage().split()[0]) for record in caplog.records}
    assert {("mine", "worker.started"), ("mine", "message.failed"), ("mine", "worker.stopped")} <= said
    assert count.claimed == 1


def test_plain_and_async_handlers_take_turns_where_only_one_may_run(memory: rowmq.Client) -> None:
    seen: list[str] = []
    memory.handler("plain")(lambda _: seen.append("plain"))

    @memory.handler("async")
    async def on_loop(_: ClaimedMessage) -> None:
        seen.append("async")

    memory.queue("plain").push_many(range(200))
    memory.queue("async").push_many(range(200))
    drain(memory, concurrency=1)
    assert len(seen) == 400
    middle = seen[50:350]
    assert 50 < middle.count("async") < 250


def test_a_task_declared_after_the_worker_began_is_run(mq: rowmq.Client) -> None:
    mq.queue("default")

    @mq.task(name="plain")
    def plain() -> None: ...

    with working(mq):

        @mq.task(name="late", results=True)
        async def late() -> str:
            await asyncio.sleep(0)
            return "in time"

        assert late.push().result(timeout=60) == "in time"


def test_a_tasks_concurrency_holds_in_whatever_queue_it_turns_up(memory: rowmq.Client) -> None:
    lock, now, most = threading.Lock(), 0, 0

    @memory.task(queue="a", name="one", concurrency=1)
    def one() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.005)
        with lock:
            now -= 1

    memory.handler("b")(lambda _: None)
    for queue in ("a", "b"):
        memory.queue(queue).push_many([{"args": [], "kwargs": {}}] * 10, metadata={"rowmq.task": "one"})
    drain(memory)
    assert most == 1


def test_a_worker_that_stops_when_empty_waits_for_a_queues_rate(mq: rowmq.Client) -> None:
    q = mq.queue("q", rate=(5, 0.2))
    q.handler(lambda _: None)
    q.push_many(range(12))
    drain(mq)
    assert q.stats().done == 12
