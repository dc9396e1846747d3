"""What users write, right and wrong. The comment of a line that must be refused names the kind of error."""

from datetime import UTC, datetime, timedelta
from typing import assert_type
from uuid import UUID

import rowmq
from rowmq import ClaimedMessage, Client, Record, Snooze, Task, TaskResult, testing

mq = rowmq.connect("memory://")
assert_type(mq, Client)

# Queues
emails = mq.queue("emails", max_attempts=3, lease=30, backoff={"first": 1}, rate=(100, 1))
mq.queue("reports", lease=timedelta(minutes=5), dead_letter=None, retention=None)
mq.queue("emails", max_atempts=3)  # error: call-arg
mq.queue("emails", lease="30")  # error: arg-type
emails.configure(fifo=True, max_length=10)
emails.configure(fifo="yes")  # error: arg-type

# Pushes
assert_type(emails.push({"to": "ada"}), UUID)
emails.push(b"bytes", delay=60, priority=5, key="k", window=10, group="g", metadata={"v": "1"})
emails.push([1, 2], at=datetime(2026, 1, 1, tzinfo=UTC), deadline=None, id=rowmq.new_id(), tx=object())
emails.push()  # error: call-arg
emails.push("hello", prority=5)  # error: call-arg
emails.push("hello", priority="high")  # error: arg-type
emails.push("hello", metadata={"v": 1})  # error: dict-item
emails.push("hello", delay="a minute")  # error: arg-type
assert_type(mq.push_many("emails", ["a", "b"], priority=1), list[UUID])
mq.push_many("emails", 7)  # error: arg-type


# Handlers
@emails.handler
def send(message: ClaimedMessage) -> Snooze | None:
    assert_type(message.attempt, int)
    assert_type(message.metadata["v"], str)
    return Snooze(after=60) if message.last_attempt else None


@mq.handler("reports", concurrency=2, timeout=timedelta(minutes=1))
async def report(message: ClaimedMessage) -> None:
    message.ack(result={"pages": 3})


@mq.handler("strings")  # error: type-var
def of_strings(message: str) -> None: ...


@mq.handler("reports", concurency=2)  # error: call-arg
def misspelt(message: ClaimedMessage) -> None: ...


# Tasks
@mq.task
def greet(name: str, *, shout: bool = False) -> str:
    return name.upper() if shout else name


@mq.task(queue="sums", results=True, priority=3)
def add(a: int, b: int) -> int:
    return a + b


@mq.task(results=True)
async def fetch(url: str) -> bytes:
    return url.encode()


assert_type(greet("ada", shout=True), str)
assert_type(greet.push("ada", shout=True), TaskResult[str])
assert_type(add.push(2, b=3).result(timeout=5), int)
assert_type(fetch.push("https://example.com").result(), bytes)
assert_type(add.delay(60).push(2, 3), TaskResult[int])
assert_type(add.options(priority=9, tx=object()).push(2, 3), TaskResult[int])
add.push(2)  # error: call-arg
add.push(2, "3")  # error: arg-type
add.push(2, b=3, c=4)  # error: call-arg
add(2, "3")  # error: arg-type
add.delay(60).push("2", 3)  # error: arg-type
add.delay("a minute")  # error: arg-type
add.options(prority=9)  # error: call-arg
greet.push(name=7)  # error: arg-type
fetch.push(b"url")  # error: call-overload


@mq.task(qeue="sums")  # error: call-overload|untyped-decorator
def misspelt_task() -> None: ...


def takes_any_task(task: Task[[int, int], int]) -> None:
    task.push(1, 2)


takes_any_task(add)
takes_any_task(greet)  # error: arg-type

# Claims, results and what is looked up
for message in emails.claim(limit=10, wait=1, where={"v": "1", "lang": ["en", "de"]}):
    message.retry(after=5)
    message.ack(reslt=1)  # error: call-arg
record = mq.get("0197f3a5-0000-7000-8000-000000000000")
assert_type(record, Record | None)
assert_type(record.attempts, int)  # error: union-attr|assert-type
mq.worker("emails", concurrency=4, poll=0.5).start()
mq.worker(concurency=4)  # error: call-arg

# Tests
clock = testing.Clock()
assert_type(testing.drain(testing.connect(clock)), list[testing.Ran])
assert_type(testing.assert_pushed(mq, {"to": "ada"}, task=add, count=1), list[Record])
testing.assert_pushed(mq, count="one")  # error: arg-type
clock.move("a minute")  # error: arg-type
