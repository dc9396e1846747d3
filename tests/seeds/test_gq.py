"""gq's queue: gathered pushes, registered consumers, shares, deadlines; and what goes wrong there.

gq's words and ours: NewProducer(push_batch) = queue.producer(batch); NewConsumer(pop_batch) =
queue.consumer(batch); Process = consumer.run(process); queued = ready; consumed = leased;
processed = done; failed = dead; mode = the queue's delivery; index = consumer.index; active = consumer.count.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

import rowmq
from rowmq import Client, QueueHandle, Reason, State
from rowmq.engine import Message
from rowmq.stores.sql import database
from tests.seeds.watching import eventually, process, said
from tests.stores.proxy import proxied
from tests.timing import timed

AT_MOST_ONCE: dict[str, Any] = {"delivery": "at_most_once", "max_attempts": None}
QUICK = {"first": 0.02, "factor": 1, "cap": 0.02, "jitter": 0}


class Batches(rowmq.Middleware):
    """Notes how many messages went together."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def on_pushed(self, queue: str, messages: Sequence[Message]) -> None:
        self.sizes.append(len(messages))


def soon(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


def payloads(messages: Sequence[rowmq.ClaimedMessage]) -> list[object]:
    return [message.payload for message in messages]


# ---- producers ---------------------------------------------------------------------------------------------


def test_a_producer_pushes_each_message_by_itself_unless_told_otherwise(mq: Client) -> None:
    emails = mq.queue("emails")
    with emails.producer() as producer:
        id = producer.push("hello")
        assert emails.stats().ready == 1
        assert [record.id for record in emails.find()] == [id]


def test_messages_gather_and_go_in_batches_and_the_rest_at_close(mq: Client) -> None:
    batches = Batches()
    mq.use(batches)
    emails = mq.queue("emails")
    with emails.producer(batch=3, linger=60) as producer:
        ids = [producer.push(number) for number in range(5)]
        eventually(lambda: batches.sizes)
        assert (batches.sizes, emails.stats().ready) == ([3], 3)
    assert batches.sizes == [3, 2]
    assert [record.id for record in emails.find()] == ids


def test_a_batch_that_does_not_fill_goes_when_its_time_has_come(mq: Client) -> None:
    emails = mq.queue("emails")
    with emails.producer(batch=100, linger=0.05) as producer:
        producer.push("alone")
        eventually(lambda: emails.stats().ready == 1)


def test_a_pushed_deadline_is_there_when_the_message_is_popped(mq: Client) -> None:
    emails, deadline = mq.queue("emails"), soon(60)
    with emails.producer() as producer, emails.consumer() as consumer:
        producer.push("verify", deadline=deadline)
        (message,) = consumer.pop()
    assert message.deadline == deadline


# ---- a producer outlives trouble with the store ------------------------------------------------------------


@contextmanager
def trouble(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[QueueHandle]:
    """A queue whose store is away for longer than the store itself tries again."""
    with ExitStack() as stack:
        if url.startswith("sqlite"):
            emails = stack.enter_context(rowmq.connect(url)).queue("emails")
            monkeypatch.setattr(database, "PATIENCE", 0.2)
            stack.enter_context(locked(url.removeprefix("sqlite:///"), 1.2))
        else:
            way, proxy = stack.enter_context(proxied(url))
            emails = stack.enter_context(rowmq.connect(way)).queue("emails")
            proxy.cut_next_commit("request", times=16)
        yield emails


@contextmanager
def locked(path: str, seconds: float) -> Iterator[None]:
    """Somebody else writes to the file for that long."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(seconds, lambda: connection.execute("ROLLBACK"))
    timer.start()
    try:
        yield
    finally:
        timer.join()
        connection.close()


@pytest.mark.parametrize("batch", [1, 10])
def test_a_producer_loses_nothing_while_the_store_is_away(
    mq: Client, url: str, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    with trouble(url, monkeypatch) as emails, emails.producer(batch=batch, linger=0.01) as producer:
        ids = [producer.push(number) for number in range(25)]
    assert [record.id for record in mq.find("emails")] == ids


def test_a_producer_says_which_messages_it_could_not_push_in_the_time_it_was_given(
    mq: Client, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[tuple[Exception, list[UUID]]] = []
    with trouble(url, monkeypatch) as emails:
        with emails.producer(batch=2, retry_for=0.2, on_error=lambda *said: failed.append(said)) as producer:
            ids = [producer.push(number) for number in range(2)]
            eventually(lambda: failed)
        ((error, named),) = failed
    assert isinstance(error, rowmq.StoreError)
    assert named == ids
    assert list(mq.find("emails")) == []


# ---- consumers ---------------------------------------------------------------------------------------------


def test_a_consumer_pops_ten_at_a_time_unless_told_otherwise_oldest_first(mq: Client) -> None:
    emails = mq.queue("emails")
    emails.push_many(range(25))
    with emails.consumer() as consumer:
        assert payloads(consumer.pop()) == list(range(10))
        assert payloads(consumer.pop()) == list(range(10, 20))


def test_each_payload_is_handed_to_the_process_function_and_is_then_processed(mq: Client) -> None:
    emails = mq.queue("emails")
    emails.push_many(["a", "b", "c"])
    seen: list[str] = []
    with emails.consumer(batch=2) as consumer:
        consumer.run(seen.append, stop_when_empty=True)
    assert seen == ["a", "b", "c"]
    assert emails.stats().done == 3


def test_an_error_puts_the_message_back_in_the_queue(mq: Client) -> None:
    emails = mq.queue("emails", backoff={"first": 0, "cap": 0})
    id = emails.push("flaky")
    seen: list[str] = []

    def flaky(payload: str) -> None:
        seen.append(payload)
        if len(seen) < 3:
            raise ConnectionError("no route")

    with emails.consumer() as consumer:
        consumer.run(flaky, stop_when_empty=True)
    assert seen == ["flaky"] * 3
    assert [failure.error for failure in mq.failures(id)] == ["ConnectionError: no route"] * 2
    assert emails.stats().done == 1


def test_a_process_function_may_say_that_trying_again_would_not_help_or_when_to_do_it(mq: Client) -> None:
    emails = mq.queue("emails")
    hopeless, later = emails.push("Kill"), emails.push("Retry")

    def refuse(payload: str) -> None:
        raise rowmq.Kill("no such user") if payload == "Kill" else rowmq.Retry("busy", after=3600)

    with emails.consumer() as consumer:
        consumer.run(refuse, stop_when_empty=True)
    assert [record.id for record in emails.find(state="dead")] == [hopeless]
    assert [record.id for record in emails.find(state="scheduled")] == [later]
    assert [mq.failures(id)[0].error for id in (hopeless, later)] == ["no such user", "busy"]


def test_an_idle_consumer_gets_a_message_as_soon_as_it_is_pushed(mq: Client, url: str) -> None:
    emails = mq.queue("emails")
    seen = threading.Event()
    with emails.consumer() as consumer:
        thread = threading.Thread(target=consumer.run, args=(lambda _: seen.set(),))
        thread.start()
        with rowmq.connect(url) as other:
            other.push("emails", "hello")
        assert seen.wait(60)
        consumer.close()
        thread.join(60)
    assert not thread.is_alive()


# ---- registration ------------------------------------------------------------------------------------------


def test_consumers_are_registered_with_an_index_in_order_of_birth(mq: Client) -> None:
    emails = mq.queue("emails")
    with emails.consumer(name="first") as first, emails.consumer(name="second") as second:
        assert [each.name for each in mq.consumers("emails")] == ["first", "second"]
        assert (first.index, second.index, second.count) == (0, 1, 2)
    assert mq.consumers("emails") == []


LONELY = """
    import sys, time, rowmq
    emails = rowmq.connect(sys.argv[1]).queue("emails")
    consumer = emails.consumer(name="elder", beat=0.1, missed=3)
    print("born", flush=True)
    time.sleep(60)
"""


def test_a_consumer_that_is_killed_is_forgotten_and_the_others_move_up(mq: Client, url: str) -> None:
    emails = mq.queue("emails")
    with process(LONELY, url) as elder:
        assert said(elder) == "born"
        with emails.consumer(name="younger", beat=0.05, check_every=1) as younger:
            assert (younger.index, younger.count) == (1, 2)
            elder.kill()
            eventually(lambda: (younger.index, younger.count) == (0, 1))
            assert [each.name for each in mq.consumers("emails")] == ["younger"]


def test_a_consumer_that_finds_itself_forgotten_registers_again(
    mq: Client, caplog: pytest.LogCaptureFixture
) -> None:
    emails = mq.queue("emails")
    with emails.consumer(name="sleeper", beat=0.1):
        assert mq.store.consumers.retire("emails", "sleeper")
        eventually(lambda: [each.name for each in mq.consumers("emails")] == ["sleeper"])
        eventually(lambda: "consumer.registered_again" in caplog.text)


# ---- shares ------------------------------------------------------------------------------------------------


def residues(messages: Sequence[rowmq.ClaimedMessage], count: int) -> set[int]:
    """Whose share these are."""
    return {message.delivery.seq % count for message in messages}


def test_each_of_two_consumers_pops_its_own_share(mq: Client) -> None:
    emails = mq.queue("emails")
    emails.push_many(range(40))
    with emails.consumer() as first, emails.consumer() as second:
        one, other = first.pop(), second.pop()
    assert residues(one, 2) == {0}
    assert residues(other, 2) == {1}
    assert len(one) == len(other) == 10


def test_the_share_is_computed_anew_at_every_pop(mq: Client) -> None:
    emails = mq.queue("emails")
    emails.push_many(range(60))
    with emails.consumer(beat=30) as first:
        assert residues(first.pop(), 2) == {0, 1}
        with emails.consumer(beat=30), emails.consumer(beat=30):
            assert residues(first.pop(), 3) == {0}
        assert residues(first.pop(), 3) != {0}


def test_the_share_of_a_slow_consumer_is_taken_by_the_others(mq: Client) -> None:
    emails = mq.queue("emails")
    emails.push_many(range(30))
    seen: list[int] = []
    with emails.consumer(name="slow") as slow, emails.consumer() as quick:
        (held, *_) = slow.pop()
        quick.run(seen.append, stop_when_empty=True)
        assert len(seen) == 20
        assert held.payload not in seen
        assert emails.stats().ready == 0


def test_consumers_that_pop_at_once_never_get_the_same_message(mq: Client) -> None:
    emails = mq.queue("emails")
    emails.push_many(range(300))
    got: list[int] = []

    def consume() -> None:
        with emails.consumer(batch=7) as consumer:
            consumer.run(got.append, stop_when_empty=True)

    threads = [threading.Thread(target=consume) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(got) == list(range(300))


# ---- deadlines and modes -----------------------------------------------------------------------------------


def test_at_most_once_a_message_is_popped_only_before_its_deadline(mq: Client) -> None:
    emails = mq.queue("emails", **AT_MOST_ONCE)
    late = emails.push("late", deadline=soon(-1))
    emails.push("timely", deadline=soon(60))
    emails.push("for ever")
    with emails.consumer() as consumer:
        assert payloads(consumer.pop()) == ["timely", "for ever"]
    record = mq.get(late)
    assert record is not None
    assert (record.state, record.reason, record.attempts) == (State.DEAD, Reason.EXPIRED, 0)


@timed
def test_at_most_once_an_error_puts_it_back_without_limit_until_its_deadline_and_then_it_is_dead(
    mq: Client,
) -> None:
    emails = mq.queue("emails", **AT_MOST_ONCE, backoff=QUICK)
    id = emails.push("never works", deadline=soon(0.8))
    tried: list[float] = []

    def fail(_: str) -> None:
        tried.append(time.time())
        raise ConnectionError("no route")

    with emails.consumer() as consumer:
        while emails.stats().dead == 0:
            consumer.run(fail, stop_when_empty=True)
    record = mq.get(id)
    assert record is not None
    assert len(tried) > 5, "more often than a queue's usual limit"
    assert record.deadline is not None
    assert tried[-1] < record.deadline.timestamp() + 0.1
    assert (record.state, record.reason) == (State.DEAD, Reason.EXPIRED)
    assert len(mq.failures(id)) == len(tried)


def test_at_most_once_a_message_whose_holder_vanished_is_never_delivered_again(mq: Client) -> None:
    emails = mq.queue("emails", **AT_MOST_ONCE, lease=0.1)
    id = emails.push("once")
    with emails.consumer() as consumer:
        assert payloads(consumer.pop()) == ["once"]
        time.sleep(0.15)
        assert consumer.pop() == []
    record = mq.get(id)
    assert record is not None
    assert (record.state, record.reason) == (State.DEAD, Reason.LOST)


@timed
def test_at_least_once_a_message_whose_holder_vanished_comes_back_when_its_lease_ends(mq: Client) -> None:
    emails = mq.queue("emails", lease=1)
    emails.push("again")
    with emails.consumer() as first, emails.consumer() as second:
        (held,) = first.pop()
        assert second.pop() == []
        (again,) = eventually(second.pop)
        assert (again.id, again.attempt) == (held.id, 2)
        with pytest.raises(rowmq.LeaseLost):
            held.ack()


@timed
def test_at_least_once_a_lease_ends_at_the_deadline_so_that_others_may_take_the_message(mq: Client) -> None:
    emails = mq.queue("emails", lease=60)
    deadline = soon(0.3)
    emails.push("urgent", deadline=deadline)
    with emails.consumer() as first, emails.consumer() as second:
        (held,) = first.pop()
        assert held.lease_until == deadline
        (again,) = eventually(second.pop)
        assert again.lease_until > deadline + timedelta(seconds=50), "past its deadline it is still due"


def test_what_nobody_comes_for_is_found_dead_by_a_sweep(mq: Client) -> None:
    emails = mq.queue("emails", **AT_MOST_ONCE)
    emails.push("late", deadline=soon(-1))
    assert mq.sweep().buried == 1
    assert [record.reason for record in emails.find(state="dead")] == [Reason.EXPIRED]


# ---- a dead state ------------------------------------------------------------------------------------------


def fail_all(emails: QueueHandle) -> None:
    def fail(_: object) -> None:
        raise ValueError("broken")

    with emails.consumer() as consumer:
        consumer.run(fail, stop_when_empty=True)


def test_what_fails_too_often_is_dead_and_can_be_looked_at_and_given_another_life(mq: Client) -> None:
    emails = mq.queue("emails", max_attempts=2, backoff={"first": 0, "cap": 0})
    id = emails.push("broken")
    fail_all(emails)
    assert emails.stats().dead == 1
    assert [failure.error for failure in mq.failures(id)] == ["ValueError: broken"] * 2
    assert emails.redrive() == 1
    seen: list[str] = []
    with emails.consumer() as consumer:
        consumer.run(seen.append, stop_when_empty=True)
    assert seen == ["broken"]


def test_what_fails_too_often_can_go_to_a_queue_of_its_own(mq: Client) -> None:
    mq.queue("graveyard")
    emails = mq.queue("emails", max_attempts=1, dead_letter="graveyard")
    emails.push("broken")
    fail_all(emails)
    (message,) = mq.queue("graveyard").claim()
    assert (message.payload, message.source, message.attempt) == ("broken", "emails", 1)
