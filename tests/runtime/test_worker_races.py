"""What must not stop a worker, strand a message or run it twice, whatever comes at a bad moment."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

import rowmq
from rowmq import ClaimedMessage, Kill, Middleware, StopTimeout, StoreUnavailable, WorkerState
from rowmq.runtime import hands
from tests.runtime.working import drain, eventually, working
from tests.timing import timed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime, timedelta

    from rowmq.core.delivery import Claim, Receipt
    from rowmq.core.outcome import Outcome


class Mute(Exception):
    """An error whose text cannot be had."""

    def __str__(self) -> str:
        raise ValueError("no text")


class MuteKill(Mute, Kill):
    """The same, of those that are asked for their text."""


@pytest.mark.parametrize("error", [Mute, MuteKill])
def test_an_error_whose_text_fails_is_a_failed_attempt_and_the_worker_goes_on(
    memory: rowmq.Client, error: type[Exception]
) -> None:
    q = memory.queue("q", max_attempts=1)

    @q.handler
    def handle(message: ClaimedMessage) -> None:
        if message.payload == "bad":
            raise error

    q.push_many(["bad", "good"])
    drain(memory, concurrency=1)
    assert (q.stats().dead, q.stats().done) == (1, 1)


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_a_middleware_that_swallows_an_error_has_the_message_done(memory: rowmq.Client, kind: str) -> None:
    class Swallow(Middleware):
        def around(self, message: ClaimedMessage) -> AbstractContextManager[object]:
            return suppress(ValueError)

    def plain(_: ClaimedMessage) -> None:
        raise ValueError

    async def on_loop(_: ClaimedMessage) -> None:
        raise ValueError

    q = memory.queue("q")
    q.handler(plain if kind == "plain" else on_loop)
    q.push_many([1, 2])
    drain(memory, concurrency=1, middleware=[Swallow()])
    assert q.stats().done == 2


def test_a_hook_that_wants_to_exit_ends_no_thread_of_the_worker(memory: rowmq.Client) -> None:
    class Exits(Middleware):
        def after(self, message: ClaimedMessage, outcome: Outcome, error: BaseException | None) -> None:
            raise SystemExit(threading.current_thread().name)

    q = memory.queue("q")
    q.handler(lambda _: None)
    q.push_many([1, 2, 3])
    drain(memory, concurrency=1, middleware=[Exits()])
    assert q.stats().done == 3


def test_a_handler_that_takes_too_long_is_not_joined_by_a_second_one_where_once_is_the_most(
    memory: rowmq.Client,
) -> None:
    q = memory.queue("q", delivery="at_most_once", backoff={"first": 0})
    runs: list[int] = []
    go_on = threading.Event()

    @q.handler(timeout=0.05)
    def slow(message: ClaimedMessage) -> None:
        runs.append(message.attempt)
        go_on.wait(60)

    id = q.push("x")
    with working(memory):
        eventually(lambda: q.stats().dead == 1, "burial")
        go_on.set()
    record = memory.get(id)
    assert record is not None
    assert (record.reason, runs) == ("lost", [1])
    assert "did not finish within 0.05 seconds" in memory.failures(id)[0].error


class Outage:
    """Has a store refuse to extend leases while it lasts."""

    def __init__(self, mq: rowmq.Client, patch: pytest.MonkeyPatch) -> None:
        self.over = threading.Event()
        self._extend = mq.store.extend
        patch.setattr(mq.store, "extend", self.extend)

    def extend(self, receipts: Sequence[Receipt | Claim], lease: timedelta) -> list[datetime | None]:
        """Extend, or refuse."""
        if not self.over.is_set():
            raise StoreUnavailable("away")
        return self._extend(receipts, lease)


@timed
def test_a_handler_that_gives_up_on_a_doubtful_lease_does_not_have_its_message_done(
    memory: rowmq.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    q = memory.queue("q", lease=0.2)
    outage = Outage(memory, monkeypatch)
    attempts: list[int] = []

    @q.handler
    def handle(message: ClaimedMessage) -> None:
        attempts.append(message.attempt)
        if message.attempt == 1:
            q.pause()  # so that nobody takes it before the doubt
            eventually(lambda: message.lost, "doubt")

    q.push("x")
    with working(memory) as worker:
        eventually(lambda: attempts and not worker.held(), "a first run")
        outage.over.set()
        q.resume()
        eventually(lambda: q.stats().done == 1, "being done")
    assert attempts == [1, 2]


@timed
def test_a_lease_that_was_in_doubt_is_kept_again_when_the_store_is_back(
    memory: rowmq.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    q = memory.queue("q", lease=0.8)
    outage = Outage(memory, monkeypatch)
    doubted: list[bool] = []

    @q.handler
    def handle(message: ClaimedMessage) -> None:
        q.pause()
        eventually(lambda: message.lost, "doubt")
        outage.over.set()
        eventually(lambda: not message.lost, "being sure again")
        q.resume()
        time.sleep(1.8)
        doubted.append(message.lost)

    q.push("x")
    with working(memory):
        eventually(lambda: doubted == [False], "the end of one run")


def test_a_message_that_comes_back_to_its_own_worker_is_lost_for_the_handler_that_had_it(
    memory: rowmq.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    q = memory.queue("q", lease=0.2)
    told, awake = threading.Event(), threading.Event()

    def hang(receipts: Sequence[Receipt], _: timedelta) -> list[None]:
        awake.wait(60)
        return [None for _ in receipts]

    monkeypatch.setattr(memory.store, "extend", hang)

    @q.handler
    def handle(message: ClaimedMessage) -> None:
        if message.attempt == 1:
            eventually(lambda: message.lost, "loss")
            told.set()

    q.push("x")
    with working(memory):
        eventually(told.is_set, "being told")
        eventually(lambda: q.stats().done == 1, "the second run's end")
        monkeypatch.undo()
        awake.set()


@timed
def test_the_keeper_outlives_an_error_that_nobody_foresaw(
    memory: rowmq.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    q = memory.queue("q", lease=1)
    extend, asked = memory.store.extend, threading.Event()
    runs: list[int] = []

    def fail_once(receipts: Sequence[Receipt], lease: timedelta) -> list[datetime | None]:
        if not asked.is_set():
            asked.set()
            raise RuntimeError("what a driver may say")
        return extend(receipts, lease)

    monkeypatch.setattr(memory.store, "extend", fail_once)

    @q.handler
    def handle(_: ClaimedMessage) -> None:
        runs.append(1)
        time.sleep(2)

    q.push("x")
    with working(memory):
        eventually(lambda: q.stats().done == 1, "the end")
    assert (asked.is_set(), runs) == (True, [1])


def test_a_handler_that_has_acked_in_its_own_transaction_is_not_timed_out(memory: rowmq.Client) -> None:
    q = memory.queue("q")
    lost: list[bool] = []

    @q.handler(timeout=0.05)
    def handle(message: ClaimedMessage) -> None:
        message.ack()
        time.sleep(0.3)
        lost.append(message.lost)

    q.push("x")
    drain(memory)
    assert (lost, q.stats().done) == ([False], 1)


@timed
def test_a_queues_lease_that_is_made_shorter_is_kept_all_the_same(memory: rowmq.Client) -> None:
    q = memory.queue("q", lease=30)
    runs: list[str] = []

    @q.handler
    def handle(message: ClaimedMessage) -> None:
        runs.append(message.payload)
        if message.payload == "slow":
            time.sleep(2)

    with working(memory):
        q.push("quick")
        eventually(lambda: runs == ["quick"], "the settings being known")
        q.configure(lease=1)
        q.push("slow")
        eventually(lambda: q.stats().done == 2, "the end")
    assert runs == ["quick", "slow"]


def test_an_async_handler_that_cannot_be_cancelled_is_left_behind_at_a_stop(
    memory: rowmq.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hands, "PATIENCE", 0.1)
    q = memory.queue("q", lease=0.5)
    running, go_on = threading.Event(), threading.Event()

    @q.handler
    async def block(_: ClaimedMessage) -> None:
        running.set()
        go_on.wait(60)

    q.push("x")
    worker = memory.worker(poll=0.1, sweep=False, schedules=False)
    worker.start()
    running.wait(60)
    with pytest.raises(StopTimeout, match="1 handlers were still running"):
        worker.stop(0.1)
    eventually(lambda: q.stats().ready == 1, "the message coming back")
    go_on.set()


def test_a_task_of_a_handlers_own_that_wants_to_exit_does_not_end_the_loop(memory: rowmq.Client) -> None:
    q = memory.queue("q", max_attempts=1)

    async def leave() -> None:
        raise SystemExit

    @q.handler
    async def handle(message: ClaimedMessage) -> None:
        if message.payload == "bad":
            await asyncio.gather(leave())

    q.push_many(["bad", "good"])
    drain(memory)
    assert (q.stats().dead, q.stats().done) == (1, 1)


def test_a_start_that_fails_leaves_nothing_behind_and_nothing_to_stop(memory: rowmq.Client) -> None:
    seen: list[str] = []

    class Watch(Middleware):
        @contextmanager
        def around_worker(self, worker: rowmq.Worker) -> Iterator[None]:
            seen.append("up")
            try:
                yield
            finally:
                seen.append("down")

    class Broken(Middleware):
        def around_worker(self, worker: rowmq.Worker) -> AbstractContextManager[object]:
            raise ValueError("not today")

    memory.queue("q").handler(lambda _: None)
    worker = memory.worker(middleware=[Watch(), Broken()])
    with pytest.raises(ValueError, match="not today"):
        worker.start()
    with pytest.raises(WorkerState, match="not running"):
        worker.stop(1)
    assert seen == ["up", "down"]
