"""gqs's worker: leases kept, backoff, kill, observer, cleaner; and what goes wrong there.

gqs's words and ours: Pusher.Push(msg, delay) = queue.push(payload, delay=); Pull(batch, lock) = claim(limit,
lease=); ExtendLock = extend; Complete = ack; Return(backoff) = retry(after=); Kill = kill; Observer.Get =
mq.get; Observer.List = find(state=, limit=); Cleaner = purge(state=, before=); CleanWorker = the queue's
retention and the worker's sweep; Pending, Processing, Done, Dead = ready or scheduled, leased, done, dead;
locked_until and next_run_at = visible_at; ErrKill = rowmq.Kill; pull interval = poll; LockTimeout = lease.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import rowmq
from rowmq import ClaimedMessage, Client, QueueHandle, Reason, Record, State
from tests.seeds.watching import eventually, process, working
from tests.timing import timed

AT_ONCE = {"first": 0, "cap": 0}


def record(mq: Client, id: object) -> Record:
    found = mq.get(str(id))
    assert found is not None
    return found


def stale(jobs: QueueHandle) -> tuple[ClaimedMessage, ClaimedMessage]:
    """One message in the hands of two: a holder who was away too long, and the present one."""
    (old,) = jobs.claim(lease=0.1)
    (new,) = jobs.claim(wait=10, lease=30)
    assert old.id == new.id
    return old, new


# ---- push, pull, settle ------------------------------------------------------------------------------------


def test_a_message_has_an_id_of_the_senders_metadata_and_the_exact_bytes(mq: Client) -> None:
    jobs, id = mq.queue("jobs"), rowmq.new_id()
    assert jobs.push(b"\x00\xff raw", id=id, metadata={"kind": "blob"}) == id
    (message,) = jobs.claim()
    assert (message.id, message.payload, message.metadata) == (id, b"\x00\xff raw", {"kind": "blob"})


def test_another_message_with_the_same_id_is_an_error_and_the_first_one_stays(mq: Client) -> None:
    jobs, id = mq.queue("jobs"), rowmq.new_id()
    jobs.push("first", id=id)
    with pytest.raises(rowmq.DuplicateMessage):
        jobs.push("second", id=id)
    assert [each.payload for each in jobs.find()] == ["first"]


def test_the_same_message_again_is_stored_once_so_that_a_push_may_be_repeated(mq: Client) -> None:
    jobs, id = mq.queue("jobs"), rowmq.new_id()
    assert jobs.push("first", id=id) == jobs.push("first", id=id) == id
    assert jobs.stats().ready == 1


def test_a_delayed_message_is_not_pulled_before_its_time(mq: Client) -> None:
    jobs = mq.queue("jobs")
    id = jobs.push("later", delay=0.3)
    assert jobs.claim() == []
    assert record(mq, id).state == State.SCHEDULED
    (message,) = jobs.claim(wait=10)
    assert message.lease_until - message.created_at >= timedelta(seconds=0.3)


def test_a_pull_takes_a_batch_and_locks_it(mq: Client) -> None:
    jobs = mq.queue("jobs")
    ids = jobs.push_many(range(5))
    before = mq.store.now()
    pulled = jobs.claim(3, lease=60)
    assert [message.id for message in pulled] == ids[:3]
    assert all(message.lease_until >= before + timedelta(seconds=60) for message in pulled)
    assert [message.id for message in jobs.claim(10)] == ids[3:]


@timed
def test_a_lock_can_be_extended(mq: Client) -> None:
    jobs = mq.queue("jobs", lease=0.3)
    id = jobs.push("long")
    (message,) = jobs.claim()
    until = message.extend(60)
    assert until == message.lease_until == record(mq, id).visible_at
    time.sleep(0.35)
    assert jobs.claim() == []
    message.ack()


def test_complete_makes_it_done(mq: Client) -> None:
    jobs = mq.queue("jobs")
    id = jobs.push("x")
    (message,) = jobs.claim()
    message.ack()
    done = record(mq, id)
    assert (done.state, done.attempts, done.reason) == (State.DONE, 1, None)
    assert done.finished_at is not None


def test_return_brings_it_back_after_the_backoff_that_is_said(mq: Client) -> None:
    jobs = mq.queue("jobs")
    id = jobs.push("x")
    (message,) = jobs.claim()
    message.retry(after=0.3, error="busy")
    assert record(mq, id).state == State.SCHEDULED
    assert jobs.claim() == []
    (again,) = jobs.claim(wait=10)
    assert (again.id, again.attempt) == (id, 2)
    assert [failure.error for failure in mq.failures(id)] == ["busy"]


def test_kill_makes_it_dead_at_once_with_the_reason_kept(mq: Client) -> None:
    jobs = mq.queue("jobs")
    id = jobs.push("x")
    (message,) = jobs.claim()
    message.kill("no such user")
    dead = record(mq, id)
    assert (dead.state, dead.reason) == (State.DEAD, Reason.KILLED)
    assert mq.failures(id)[0].error == "no such user"


# ---- the holder's fence ------------------------------------------------------------------------------------


@pytest.mark.parametrize("settle", ["ack", "retry", "kill", "release", "extend"])
def test_a_holder_who_was_away_too_long_can_do_nothing_any_more(mq: Client, settle: str) -> None:
    jobs = mq.queue("jobs")
    id = jobs.push("x")
    old, new = stale(jobs)
    with pytest.raises(rowmq.LeaseLost):
        getattr(old, settle)()
    now = record(mq, id)
    assert (now.state, now.attempts, now.visible_at) == (State.LEASED, 2, new.lease_until)
    new.ack()
    assert record(mq, id).state == State.DONE


# ---- observer and cleaner ----------------------------------------------------------------------------------


def test_the_observer_gets_one_message_with_all_that_is_known_of_it(mq: Client) -> None:
    jobs = mq.queue("jobs")
    id = jobs.push({"n": 1}, metadata={"k": "v"})
    (message,) = jobs.claim(consumer="ada")
    seen = record(mq, id)
    assert (seen.payload, seen.metadata, seen.queue) == ({"n": 1}, {"k": "v"}, "jobs")
    assert (seen.state, seen.attempts, seen.consumer) == (State.LEASED, 1, "ada")
    assert seen.created_at == message.created_at
    assert seen.visible_at == message.lease_until
    assert mq.get(rowmq.new_id()) is None


def test_the_observer_lists_the_messages_of_a_status_up_to_a_limit(mq: Client) -> None:
    jobs = mq.queue("jobs")
    ids = jobs.push_many(range(6))
    later = jobs.push("later", delay=60)
    done, dead, *_ = jobs.claim(3)
    done.ack()
    dead.kill()
    listed = {state: [each.id for each in jobs.find(state=state)] for state in State}
    assert listed == {
        State.DONE: [ids[0]],
        State.DEAD: [ids[1]],
        State.LEASED: [ids[2]],
        State.READY: ids[3:],
        State.SCHEDULED: [later],
    }
    assert [each.id for each in jobs.find(state="ready", limit=2)] == ids[3:5]


def test_the_cleaner_deletes_what_has_had_a_status_since_before_a_moment(mq: Client) -> None:
    jobs = mq.queue("jobs")
    jobs.push_many(range(3))
    old, other, held = jobs.claim(3)
    old.ack()
    other.kill()
    assert jobs.purge(state="done", before=mq.store.now() - timedelta(hours=1)) == 0
    assert jobs.purge(state="done", before=mq.store.now() + timedelta(seconds=1)) == 1
    assert [each.id for each in jobs.find()] == [other.id, held.id]


def test_a_working_worker_cleans_up_by_itself_and_keeps_what_is_not_finished(mq: Client) -> None:
    jobs = mq.queue("jobs", retention=0.1)
    later = jobs.push("later", delay=3600)
    jobs.handler(lambda _: None)
    with working(mq, sweep_every=0.1):
        for _ in range(3):
            jobs.push("x")
        eventually(lambda: [each.id for each in jobs.find()] == [later] and mq.store.history.ledger("jobs"))
    assert sum(entry.count for entry in mq.store.history.ledger("jobs")) == 3


# ---- the worker --------------------------------------------------------------------------------------------


def test_a_worker_runs_as_many_handlers_at_once_as_it_is_told_and_no_more(mq: Client) -> None:
    jobs = mq.queue("jobs")
    jobs.push_many(range(12))
    lock, running, most = threading.Lock(), 0, 0
    together = threading.Barrier(3)

    @jobs.handler
    def work(message: ClaimedMessage) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(60)
        with lock:
            running -= 1

    with working(mq, concurrency=3):
        eventually(lambda: jobs.stats().done == 12)
    assert most == 3


class Gate:
    """A handler that is quick until it meets a message that says to stop, and then waits to be let on."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.reached = threading.Event()

    def __call__(self, message: ClaimedMessage) -> None:
        if message.payload == "stop":
            self.reached.set()
            assert self.open.wait(60)


def gated(mq: Client, **settings: Any) -> tuple[QueueHandle, Gate]:
    """A queue with quick messages, one that stops the worker, and eight more behind it."""
    jobs, gate = mq.queue("jobs", **settings), Gate()
    jobs.push_many([*["quick"] * 5, "stop", *["behind"] * 8])
    jobs.handler(gate)
    return jobs, gate


def test_a_worker_claims_ahead_but_no_more_than_its_buffer_holds(mq: Client) -> None:
    jobs, gate = gated(mq)
    with working(mq, concurrency=1, buffer=3):
        assert gate.reached.wait(60)
        eventually(lambda: jobs.stats().leased == 4)
        time.sleep(0.1)
        stats = jobs.stats()
        assert (stats.leased, stats.ready) == (4, 5), "one at work and three in the buffer"
        gate.open.set()
        eventually(lambda: jobs.stats().done == 14)


@timed
def test_a_lease_does_not_run_out_while_its_message_waits_in_the_buffer(mq: Client) -> None:
    jobs, gate = gated(mq, lease=1)
    with working(mq, concurrency=1):
        assert gate.reached.wait(60)
        eventually(lambda: jobs.stats().leased == 9)
        time.sleep(2)
        assert jobs.stats().leased == 9
        assert jobs.claim(10) == [], "nobody else gets them"
        gate.open.set()
        eventually(lambda: jobs.stats().done == 14)
    assert {each.receives for each in jobs.find()} == {1}


@timed
def test_a_lease_is_extended_while_the_handler_runs(mq: Client) -> None:
    jobs = mq.queue("jobs", lease=1)
    id = jobs.push("long")
    attempts = []

    @jobs.handler
    def work(message: ClaimedMessage) -> None:
        attempts.append(message.attempt)
        until = time.monotonic() + 2
        while time.monotonic() < until:
            assert jobs.claim() == []
            time.sleep(0.02)

    with working(mq):
        eventually(lambda: jobs.stats().done == 1)
    assert attempts == [1]
    assert mq.failures(id) == []


def test_an_async_handler_is_cancelled_when_its_lease_is_lost(mq: Client) -> None:
    jobs = mq.queue("jobs", lease=0.3)
    id = jobs.push("doomed")
    began, cancelled = threading.Event(), threading.Event()

    @jobs.handler
    async def work(message: ClaimedMessage) -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with working(mq):
        assert began.wait(60)
        assert mq.amend([id], "kill") == 1
        assert cancelled.wait(60)
    assert (record(mq, id).state, record(mq, id).attempts) == (State.DEAD, 1)


def test_a_plain_handler_is_told_when_its_lease_is_lost(mq: Client) -> None:
    jobs = mq.queue("jobs", lease=0.3)
    id = jobs.push("doomed")
    began, told = threading.Event(), threading.Event()

    @jobs.handler
    def work(message: ClaimedMessage) -> None:
        began.set()
        eventually(lambda: message.lost)
        told.set()

    with working(mq):
        assert began.wait(60)
        assert mq.amend([id], "kill") == 1
        assert told.wait(60)
    assert record(mq, id).state == State.DEAD


def test_a_handler_that_returns_makes_its_message_done_and_one_that_raises_kill_makes_it_dead(
    mq: Client,
) -> None:
    jobs = mq.queue("jobs")
    good, bad = jobs.push("good"), jobs.push("bad")

    @jobs.handler
    def work(message: ClaimedMessage) -> None:
        if message.payload == "bad":
            raise rowmq.Kill("not a customer")

    mq.worker(stop_when_empty=True).run()
    assert record(mq, good).state == State.DONE
    assert (record(mq, bad).state, record(mq, bad).reason) == (State.DEAD, Reason.KILLED)
    assert [failure.error for failure in mq.failures(bad)] == ["not a customer"]


def test_the_backoff_grows_by_its_factor_up_to_its_cap(mq: Client) -> None:
    jobs = mq.queue("jobs", max_attempts=5, backoff={"first": 0.02, "factor": 2, "cap": 0.05, "jitter": 0})
    id = jobs.push("x")
    waits = []
    for _ in range(4):
        (message,) = eventually(jobs.claim)
        message.retry()
        due = record(mq, id).visible_at
        assert due is not None
        waits.append(due - mq.failures(id)[-1].ended_at)
    assert waits == [timedelta(milliseconds=each) for each in (20, 40, 50, 50)]


def test_the_backoff_is_spread_by_its_jitter(mq: Client) -> None:
    jobs = mq.queue("jobs", backoff={"first": 100, "jitter": 0.5})
    ids = jobs.push_many(range(20))
    for message in jobs.claim(20):
        message.retry()
    ended = [mq.failures(id)[0].ended_at for id in ids]
    waits = [(record(mq, id).visible_at or end) - end for id, end in zip(ids, ended, strict=True)]
    assert len(set(waits)) > 10
    assert all(timedelta(seconds=50) <= wait <= timedelta(seconds=150) for wait in waits)


def test_a_message_that_fails_past_the_limit_is_dead(mq: Client) -> None:
    jobs = mq.queue("jobs", max_attempts=3, backoff=AT_ONCE)
    id = jobs.push("x")

    @jobs.handler
    def work(message: ClaimedMessage) -> None:
        raise ValueError(f"attempt {message.attempt}, last: {message.last_attempt}")

    with working(mq):
        eventually(lambda: jobs.stats().dead == 1)
    assert record(mq, id).reason == Reason.EXHAUSTED
    told = [failure.error.strip().splitlines()[-1] for failure in mq.failures(id)]
    assert told == [f"ValueError: attempt {n}, last: {n == 3}" for n in (1, 2, 3)]


# ---- a crash in a handler ----------------------------------------------------------------------------------


class Disaster(BaseException):
    """Something that no handler should raise."""


CRASHES = [SystemExit(1), KeyboardInterrupt(), Disaster(), asyncio.CancelledError(), MemoryError()]
ODD = [rowmq.Retry(after=-1), rowmq.Retry(after="soon")]  # type: ignore[arg-type]


def crashing(jobs: QueueHandle, crash: BaseException, *, is_async: bool) -> None:
    """Give a queue a handler that crashes at its first message's first attempt."""

    def work(message: ClaimedMessage) -> None:
        if message.payload == "first" and message.attempt == 1:
            raise crash

    async def work_async(message: ClaimedMessage) -> None:
        work(message)

    jobs.handler(work_async if is_async else work)


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("crash", [*CRASHES, *ODD], ids=repr)
def test_a_crash_in_a_handler_is_a_failed_attempt_and_the_worker_goes_on(
    mq: Client, crash: BaseException, is_async: bool
) -> None:
    jobs = mq.queue("jobs", backoff=AT_ONCE)
    id = jobs.push("first")
    jobs.push("second")
    crashing(jobs, crash, is_async=is_async)
    with working(mq, concurrency=1):
        eventually(lambda: jobs.stats().done == 2, within=5)
    assert record(mq, id).attempts == 2
    assert len(mq.failures(id)) == 1


@pytest.mark.parametrize("crash", [ValueError("no"), SystemExit(1)], ids=repr)
def test_a_crash_in_the_callback_for_invalid_messages_does_not_stop_the_worker(
    mq: Client, crash: BaseException
) -> None:
    jobs = mq.queue("jobs")
    jobs.handler(lambda _: None)
    bad = jobs.push("x", metadata={"rowmq.task": "no.such.task"})
    jobs.push("good")

    def crashing(message: ClaimedMessage, error: Exception) -> None:
        raise crash

    with working(mq, on_invalid=crashing):
        eventually(lambda: jobs.stats().done == 1)
        eventually(lambda: jobs.stats().dead == 1)
    assert record(mq, bad).reason == Reason.INVALID


KILLED = """
    import os, sys, rowmq
    mq = rowmq.connect(sys.argv[1])
    @mq.queue("jobs").handler
    def work(message):
        os._exit(9)
    mq.work()
"""


def test_the_limit_of_attempts_holds_when_workers_die_in_the_middle(mq: Client, url: str) -> None:
    jobs = mq.queue("jobs", max_attempts=2, lease=0.3)
    id = jobs.push("deadly")
    for _ in range(2):
        with process(KILLED, url) as worker:
            assert worker.wait(60) == 9
    eventually(lambda: not jobs.claim() and jobs.stats().dead == 1)
    assert (record(mq, id).reason, record(mq, id).attempts) == (Reason.EXHAUSTED, 2)
    assert len(mq.failures(id)) == 2


# ---- starting and stopping ---------------------------------------------------------------------------------


def test_acks_of_handlers_that_finish_during_the_stop_count(mq: Client) -> None:
    jobs = mq.queue("jobs")
    jobs.push_many(range(4))
    running, go = threading.Semaphore(0), threading.Event()

    @jobs.handler
    def work(message: ClaimedMessage) -> None:
        running.release()
        assert go.wait(60)

    with working(mq, concurrency=4) as worker:
        for _ in range(4):
            assert running.acquire(timeout=60)
        stop = threading.Thread(target=worker.stop)
        stop.start()
        go.set()
        stop.join(60)
    assert jobs.stats().done == 4


def test_what_waits_in_the_buffer_goes_back_at_once_when_the_worker_stops_and_no_attempt_is_counted(
    mq: Client,
) -> None:
    jobs, gate = gated(mq, lease=60)
    with working(mq, concurrency=1) as worker:
        assert gate.reached.wait(60)
        eventually(lambda: jobs.stats().leased == 9)
        stop = threading.Thread(target=worker.stop)
        stop.start()
        eventually(lambda: jobs.stats().ready == 8)
        assert {each.attempts for each in jobs.find(state="ready")} == {0}
        gate.open.set()
        stop.join(60)
    assert jobs.stats().done == 6
    assert {message.attempt for message in jobs.claim(10)} == {1}


def test_a_worker_that_is_started_twice_or_stopped_twice_or_never_started_says_so(mq: Client) -> None:
    mq.queue("jobs").handler(lambda _: None)
    worker = mq.worker()
    with pytest.raises(rowmq.WorkerState, match="not running"):
        worker.stop()
    worker.start()
    with pytest.raises(rowmq.WorkerState, match="already"):
        worker.start()
    worker.stop()
    with pytest.raises(rowmq.WorkerState, match="not running"):
        worker.stop()


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
@timed
def test_a_stop_that_takes_too_long_says_so_and_the_message_comes_back(mq: Client, is_async: bool) -> None:
    jobs = mq.queue("jobs", lease=0.4)
    jobs.push("slow")
    began, go = threading.Event(), threading.Event()

    def work(message: ClaimedMessage) -> None:
        if message.attempt == 1:
            began.set()
            assert go.wait(60)

    async def work_async(message: ClaimedMessage) -> None:
        began.set()
        await asyncio.sleep(60)

    jobs.handler(work_async if is_async else work)
    with working(mq) as worker:
        assert began.wait(60)
        with pytest.raises(rowmq.StopTimeout, match="1 handler"):
            worker.stop(0.1)
    (again,) = jobs.claim(wait=10)
    go.set()
    assert again.attempt == 2
    again.ack()


# ---- defaults and validation -------------------------------------------------------------------------------


def test_everything_has_a_default(mq: Client) -> None:
    jobs = mq.queue("jobs")
    jobs.push("x")
    jobs.handler(lambda _: None)
    mq.worker(stop_when_empty=True).run()
    assert jobs.stats().done == 1
    settings = jobs.settings()
    assert (settings.max_attempts, settings.lease) == (5, timedelta(seconds=30))


WRONG: dict[str, Callable[[Client], object]] = {
    "attempts": lambda mq: mq.queue("jobs", max_attempts=0),
    "lease": lambda mq: mq.queue("jobs", lease=-1),
    "unknown setting": lambda mq: mq.queue("jobs", retries=3),  # type: ignore[call-arg]
    "backoff": lambda mq: mq.queue("jobs", backoff={"factor": 0.5}),
    "name": lambda mq: mq.queue(""),
    "concurrency": lambda mq: mq.worker("jobs", concurrency=0),
    "buffer": lambda mq: mq.worker("jobs", buffer=-1),
    "batch": lambda mq: mq.worker("jobs", batch=0),
    "poll": lambda mq: mq.worker("jobs", poll=0),
    "worker's lease": lambda mq: mq.worker("jobs", lease=-1),
    "unknown option": lambda mq: mq.worker("jobs", threads=4),  # type: ignore[call-arg]
    "no handler": lambda mq: mq.worker("others"),
    "limit": lambda mq: mq.queue("jobs").claim(0),
    "delay": lambda mq: mq.push("jobs", "x", delay=-1),
    "payload": lambda mq: mq.push("jobs", object()),
    "metadata": lambda mq: mq.push("jobs", "x", metadata={"n": 1}),  # type: ignore[dict-item]
    "deadline": lambda mq: mq.push("jobs", "x", deadline=datetime.now()),  # noqa: DTZ005
    "time": lambda mq: mq.push("jobs", "x", at=datetime.now(UTC), delay=1),
    "state": lambda mq: list(mq.queue("jobs").find(state="pending")),
    "id": lambda mq: mq.get("not a uuid"),
    "url": lambda _: rowmq.connect("oracle://here"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_is_refused_with_a_sentence(mq: Client, wrong: str) -> None:
    mq.queue("jobs").handler(lambda _: None)
    with pytest.raises(rowmq.InvalidInput) as refused:
        WRONG[wrong](mq)
    assert len(str(refused.value).split()) > 3
