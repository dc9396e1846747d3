"""What must not stop a worker, strand a message or run it twice, whatever comes at a bad moment."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING

import pytest

import rowmq
from rowmq import ClaimedMessage, Kill, Middleware
from tests.runtime.working import drain, eventually, working

if TYPE_CHECKING:
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
        go_on.wait(10)

    id = q.push("x")
    with working(memory):
        eventually(lambda: q.stats().dead == 1, "burial")
        go_on.set()
    record = memory.get(id)
    assert record is not None
    assert (record.reason, runs) == ("lost", [1])
    assert "did not finish within 0.05 seconds" in memory.failures(id)[0].error
