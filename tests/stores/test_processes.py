"""Many processes on one database: paused, killed, forked, and starting at the same moment."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread
from typing import TYPE_CHECKING

from rowmq.core.delivery import Settlement, Want
from rowmq.core.message import Batch, Pushed
from rowmq.core.outcome import ACK, Settled, State
from rowmq.stores import open_store
from rowmq.testing.build import messages
from tests.stores.crew import crew

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rowmq.core.delivery import Delivery
    from rowmq.core.history import Record
    from rowmq.core.message import Message
    from rowmq.core.store import Store

LATER = timedelta(hours=1)


def given(store: Store, count: int, **settings: object) -> list[str]:
    """Make a queue of so many messages, and return their ids."""
    store.queues.put("q", settings)
    return pushed(store, messages(count))


def pushed(store: Store, new: Sequence[Message]) -> list[str]:
    (answer,) = store.push([Batch("q", new)])
    assert isinstance(answer, Pushed), answer
    return [str(each) for each in answer.ids]


def acked(store: Store, held: Sequence[Delivery], now: datetime | None = None) -> list[str]:
    answers = store.settle([Settlement(each.receipt, ACK) for each in held], now=now)
    return [str(each.id) for each, answer in zip(held, answers, strict=True) if answer is Settled.SETTLED]


def counts(store: Store, now: datetime | None = None) -> dict[str, int]:
    stats = store.queues.stats("q", now=now)._asdict()
    return {state: count for state, count in stats.items() if state != "oldest_age" and count}


def records(store: Store, state: State | None = None) -> list[Record]:
    first, last = store.history.bounds()
    return store.history.scan(first, last, queue="q", state=state)


def test_eight_processes_deliver_every_message_of_a_queue_exactly_once(database_url: str) -> None:
    with closing(open_store(database_url)) as store:
        ids = given(store, 10_000)
        with crew(8, "drain", database_url, 50, 60) as workers:
            said = [line for worker in workers for line in worker.lines()]
        held = [each for line in said for each in line["held"]]
        assert len(held) == len(ids)
        assert set(held) == set(ids)
        assert all(line["won"] == line["held"] for line in said)
        assert counts(store) == {"done": 10_000}


def test_one_store_shared_by_many_threads_delivers_every_message_exactly_once(database_url: str) -> None:
    threads, rounds = 32, 6
    barrier = Barrier(threads)
    with closing(open_store(database_url)) as store, ThreadPoolExecutor(threads) as pool:
        store.queues.put("q")

        def mix(_: int) -> tuple[list[str], list[str]]:
            barrier.wait(timeout=30)
            gave: list[str] = []
            took: list[str] = []
            for _ in range(rounds):
                gave += pushed(store, messages(5))
                took += acked(store, store.claim("q", [Want(limit=4)])[0])
            return gave, took

        parts = list(pool.map(mix, range(threads)))
        gave = [each for part, _ in parts for each in part]
        took = [each for _, part in parts for each in part]
        while found := store.claim("q", [Want(limit=10_000)])[0]:
            took += acked(store, found)
        assert len(took) == threads * rounds * 5
        assert set(took) == set(gave)
        assert counts(store) == {"done": len(gave)}


def reclaimed(store: Store) -> Delivery:
    """Claim the message as soon as its lease is over."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        (held,) = store.claim("q", [Want(lease=timedelta(minutes=1))])
        if held:
            return held[0]
        time.sleep(0.02)
    raise AssertionError("the lease never ended")


def test_a_holder_paused_past_its_lease_has_lost_the_message(database_url: str) -> None:
    with closing(open_store(database_url)) as store:
        (id_,) = given(store, 1)
        with crew(1, "hold", database_url, 0.3) as (worker,):
            assert worker.line() == id_
            worker.signal(signal.SIGSTOP)
            worker.tell()
            held = reclaimed(store)
            before = records(store)
            worker.signal(signal.SIGCONT)
            assert worker.line() == [True, "lost", "lost"]
            worker.lines()
        assert (str(held.id), held.attempt) == (id_, 2)
        assert records(store) == before
        assert acked(store, [held]) == [id_]
        assert counts(store) == {"done": 1}


def test_a_holder_paused_past_its_lease_may_still_ack_what_nobody_else_has_claimed(database_url: str) -> None:
    with closing(open_store(database_url)) as store:
        given(store, 1, lease=timedelta(milliseconds=1))
        with crew(1, "drain", database_url, 1, 0.001) as (worker,):
            (line,) = worker.lines()
        assert line["won"] == line["held"]


def killed_at_random(url: str, workers: int, chance: random.Random) -> list[str]:
    """Let workers claim and ack, kill each of them at some moment, and return what they saw acked."""
    seen: list[str] = []
    with crew(workers, "labour", url, 5, 0.3) as running:
        for worker in running:
            seen += worker.line()
        for worker in running:
            time.sleep(chance.random() * 0.02)
            seen += [each for line in worker.kill() for each in line]
    return seen


def test_no_message_is_lost_or_stuck_when_workers_are_killed(database_url: str) -> None:
    chance = random.Random(1)  # noqa: S311 it decides when to kill
    with closing(open_store(database_url)) as store:
        ids = given(store, 2_000, max_attempts=None)
        seen = [each for _ in range(2) for each in killed_at_random(database_url, 5, chance)]
        done = {str(each.id) for each in records(store, State.DONE)}
        assert len(seen) == len(set(seen))
        assert set(seen) <= done
        later = datetime.now(UTC) + LATER
        rest = acked(store, store.claim("q", [Want(limit=2_000)], now=later)[0], now=later)
        assert sorted([*rest, *done]) == sorted(ids)
        assert counts(store) == {"done": 2_000}
        assert min(each.attempts for each in records(store)) >= 1


def test_what_a_killed_pusher_was_told_is_there_and_no_batch_is_torn(database_url: str) -> None:
    chance = random.Random(2)  # noqa: S311 it decides when to kill
    with closing(open_store(database_url)) as store:
        store.queues.put("q")
        told: list[str] = []
        with crew(4, "produce", database_url, 20) as workers:
            told += [worker.line() for worker in workers]
            for worker in workers:
                time.sleep(chance.random() * 0.04)
                told += worker.kill()
        stored = Counter(each.metadata["batch"] for each in records(store))
        assert set(stored.values()) == {20}
        assert set(told) <= set(stored)
        assert len(stored) <= len(told) + 4


def test_processes_that_open_a_new_database_at_once_make_one_schema(database_url: str) -> None:
    with crew(4, "settle_in", database_url) as workers:
        assert [worker.lines() for worker in workers] == [[[]]] * 4
    with closing(open_store(database_url, migrate=False)) as store:
        assert len(records(store)) == 4
        assert len(store.queues.list()) == 1


def test_parent_and_child_both_go_on_with_a_store_opened_before_the_fork(database_url: str) -> None:
    with closing(open_store(database_url)) as store:
        store.queues.put("q")
        with crew(1, "fork", database_url, 40) as (worker,):
            assert worker.lines() == [0]
        acked(store, store.claim("q", [Want(limit=120)])[0])
        assert counts(store) == {"done": 120}


def test_a_child_forked_while_threads_use_the_store_can_use_it_too(database_url: str) -> None:
    with closing(open_store(database_url)) as store:
        store.queues.put("q")
        with crew(1, "fork_amid_threads", database_url, 40) as (worker,):
            assert worker.lines() == [[0] * 10]
        acked(store, store.claim("q", [Want(limit=200)])[0])
        assert counts(store) == {"done": 4 * 40 + 10 * 3}


def test_a_child_keeps_its_messages_when_the_parent_closes_the_store(database_url: str) -> None:
    with closing(open_store(database_url)) as store:
        store.queues.put("q")
    with crew(1, "daemon", database_url, 50) as (worker,):
        assert worker.line() == "closed"
        with closing(open_store(database_url)) as store:
            pushed(store, messages(1))
            worker.tell()
            for _ in range(50):
                pushed(store, messages(1))
            assert worker.lines() == [0]
    with closing(open_store(database_url)) as store:
        assert counts(store) == {"ready": 101, "done": 50}


def test_no_connection_is_opened_to_watch_a_sqlite_file_while_a_process_forks(tmp_path: Path) -> None:
    """A child that inherits one believes that it holds locks that it does not hold."""
    with closing(open_store(f"sqlite:///{tmp_path / 'queue.db'}")) as store:
        store.queues.put("q")
        database = store.database  # type: ignore[attr-defined]
        watching = database.dialect._watching
        database.dialect.hold_still(database.engine)
        waiter = Thread(
            target=database.dialect.wait, args=(database, [1], time.monotonic() + 0.3), daemon=True
        )
        waiter.start()
        waiter.join(0.6)
        assert waiter.is_alive()  # it waits for the fork, past its own time
        assert watching._connection is None
        database.dialect.let_go()
        waiter.join(10)
        assert not waiter.is_alive()
