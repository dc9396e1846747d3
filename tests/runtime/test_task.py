"""Functions that are called here, or pushed and run by a worker."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import rowmq
from rowmq import InvalidMessage, InvalidSetting, TaskFailed
from tests.runtime.working import drain, working


def test_a_task_is_still_the_function_it_was(memory: rowmq.Client) -> None:
    @memory.task
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    assert add(2, b=3) == 5
    assert add.__doc__ == "Add."
    assert add.name.endswith("add")


def test_a_pushed_task_runs_with_its_arguments_and_its_result_is_kept_on_request(mq: rowmq.Client) -> None:
    @mq.task(queue="sums", results=True)
    def add(a: int, b: int = 1) -> dict[str, int]:
        return {"sum": a + b}

    @mq.task(queue="sums", results=True)
    async def later(a: int) -> int:
        await asyncio.sleep(0)
        return a * 2

    with working(mq):
        assert add.push(2, b=3).result(timeout=60) == {"sum": 5}
        assert later.push(21).result(timeout=60) == 42


def test_a_task_is_pushed_with_options_of_its_own_and_of_the_call(mq: rowmq.Client) -> None:
    @mq.task(queue="q", priority=7, metadata={"team": "a"})
    def work(n: int) -> None: ...

    ids = [
        work.push(1).id,
        work.delay(60).push(2).id,
        work.options(priority=2, metadata={"team": "b"}).push(n=3).id,
    ]
    plain, delayed, own = (record for id in ids if (record := mq.get(id)) is not None)
    assert (plain.priority, plain.state, plain.metadata["team"]) == (7, "ready", "a")
    assert (delayed.priority, delayed.state) == (7, "scheduled")
    assert (own.priority, own.metadata["team"]) == (2, "b")
    assert own.payload == {"args": [], "kwargs": {"n": 3}}
    assert own.metadata["rowmq.task"] == work.name


def test_a_result_waits_and_then_times_out(memory: rowmq.Client) -> None:
    @memory.task(results=True)
    def never() -> None: ...

    pushed = never.push()
    with pytest.raises(TimeoutError, match=r"has no result after 0\.05 seconds"):
        pushed.result(timeout=0.05)
    assert pushed.state == "ready"


def test_the_result_of_a_task_that_died_is_its_error(mq: rowmq.Client) -> None:
    mq.queue("default", max_attempts=1)

    @mq.task(results=True)
    def fail() -> None:
        raise ValueError("it broke")

    pushed = fail.push()
    drain(mq)
    with pytest.raises(TaskFailed, match=r"(?s)is dead \(exhausted\).*ValueError: it broke"):
        pushed.result()
    mq.queue("default").purge(state="dead")
    with pytest.raises(TaskFailed, match="is not in the store any more"):
        pushed.result()


def test_asking_for_a_result_that_is_not_kept_says_how_to_keep_it(memory: rowmq.Client) -> None:
    @memory.task
    def work() -> int:
        return 1

    with pytest.raises(InvalidSetting, match=r"results=True"):
        work.push().result()


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ((object(),), "task 't' was given an argument that is not JSON"),
        ((1, 2), r"task 't' does not take these arguments: too many positional arguments"),
        ((), "missing a required argument: 'n'"),
    ],
)
def test_a_call_that_cannot_be_pushed_is_refused_and_nothing_is_written(
    memory: rowmq.Client, args: Any, sentence: str
) -> None:
    @memory.task(name="t")
    def task(n: object) -> None: ...

    memory.queue("default")
    with pytest.raises(InvalidMessage, match=sentence):
        task.push(*args)
    assert list(memory.find()) == []


def test_a_result_that_is_not_json_fails_the_task(memory: rowmq.Client) -> None:
    memory.queue("default", max_attempts=1)

    @memory.task(results=True)
    def odd() -> object:
        return object()

    pushed = odd.push()
    drain(memory)
    with pytest.raises(TaskFailed, match="a payload is bytes or a JSON value"):
        pushed.result()


def test_two_tasks_of_one_name_are_refused(memory: rowmq.Client) -> None:
    memory.task(name="t")(lambda: None)
    with pytest.raises(InvalidSetting, match="there is a task 't' already"):
        memory.task(name="t")(lambda: None)
    memory.handler("q")(lambda _: None)
    with pytest.raises(InvalidSetting, match="queue 'q' has a handler already"):
        memory.handler("q")(lambda _: None)


def test_a_task_can_be_awaited(mq: rowmq.Client) -> None:
    @mq.task(results=True)
    def double(n: int) -> int:
        return 2 * n

    async def story() -> int:
        pushed = await double.aio.push(4)
        result: int = await pushed.aio.result(timeout=60)
        return result

    with working(mq):
        assert asyncio.run(story()) == 8


def test_a_scheduled_task_runs_by_the_clock(memory: rowmq.Client) -> None:
    seen: list[int] = []

    @memory.task(queue="q", name="tick")
    def tick(n: int) -> None:
        seen.append(n)

    schedule = tick.schedule("every hour", every=3600, args=(7,))
    assert memory.store.schedules.fire(schedule.name, schedule.next_at, schedule.next_at)
    drain(memory)
    assert seen == [7]


def test_the_result_of_a_task_that_was_dead_lettered_is_its_error(mq: rowmq.Client) -> None:
    mq.queue("graveyard")
    mq.queue("default", max_attempts=1, dead_letter="graveyard")

    @mq.task(results=True)
    def fail() -> None:
        raise ValueError("it broke")

    pushed = fail.push()
    drain(mq)
    with pytest.raises(TaskFailed, match="it broke"):
        pushed.result(timeout=5)


def test_a_timeout_of_nothing_is_refused(memory: rowmq.Client) -> None:
    with pytest.raises(InvalidSetting, match="a timeout is longer than 0, not 0"):
        memory.task(timeout=0)(lambda: None)
