"""How threads share what waits: quick messages by the handful, and none stuck behind a slow one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

import pytest

from rowmq.runtime import desk as desks
from rowmq.runtime import settler
from rowmq.runtime.registry import Job
from tests.runtime.working import eventually, working
from tests.timing import timed

if TYPE_CHECKING:
    import rowmq
    from rowmq import ClaimedMessage
    from rowmq.core.delivery import Settlement
    from rowmq.core.outcome import Settled

QUICK = 1000


@pytest.fixture
def gate() -> threading.Event:
    """What a slow handler waits for."""
    return threading.Event()


def test_quick_messages_are_taken_along_by_the_handful(
    mq: rowmq.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    made = desks.Handful.__init__

    def noted(self: desks.Handful, lane: desks.Lane, messages: list[desks.Held]) -> None:
        sizes.append(len(messages))
        made(self, lane, messages)

    monkeypatch.setattr(desks.Handful, "__init__", noted)
    q = mq.queue("q")
    q.handler(lambda _: None)
    q.push_many(range(QUICK))
    with working(mq):
        eventually(lambda: q.stats().done == QUICK)
    assert sum(sizes) == QUICK
    assert max(sizes) > 1
    assert max(sizes) <= desks.MOST


def test_what_was_taken_along_is_not_stuck_behind_a_message_that_takes_long(
    mq: rowmq.Client, gate: threading.Event
) -> None:
    q = mq.queue("q")

    @q.handler
    def handle(message: ClaimedMessage) -> None:
        if message.payload == "slow":
            gate.wait()

    q.push_many([*range(QUICK), "slow", *range(QUICK)])
    with working(mq, concurrency=2):
        eventually(lambda: q.stats().done == 2 * QUICK)
        gate.set()
        eventually(lambda: q.stats().done == 2 * QUICK + 1)


def test_messages_that_turn_slow_get_all_hands(mq: rowmq.Client, gate: threading.Event) -> None:
    q, at_work = mq.queue("q"), []

    @q.handler
    def handle(message: ClaimedMessage) -> None:
        if message.payload == "slow":
            at_work.append(threading.current_thread())
            gate.wait()

    q.push_many(range(QUICK))
    with working(mq, concurrency=8):
        eventually(lambda: q.stats().done == QUICK)
        for _ in range(16):  # one by one: none is taken along with another
            q.push("slow")
        eventually(lambda: len(set(at_work)) == 8)
        gate.set()
        eventually(lambda: q.stats().done == QUICK + 16)


@pytest.mark.parametrize(
    ("mean", "waiting", "hands"), [(0.0, 5, 5), (0.001, 5, 5), (0.00001, 100, 1), (0.00001, 1000, 6)]
)
def test_quick_messages_are_worth_few_hands(mean: float, waiting: int, hands: int) -> None:
    job = Job("nothing", lambda _: None, is_async=False)
    lane = desks.Lane("q", job, desks.Limit(None))
    lane.mean = mean
    lane.waiting.extend([cast("desks.Held", None)] * waiting)
    assert min(lane.hands(), waiting) == hands


@timed
def test_what_was_taken_along_and_not_begun_is_given_back_by_a_worker_that_stops(
    mq: rowmq.Client, gate: threading.Event
) -> None:
    q = mq.queue("q")
    slow = threading.Event()
    after: list[object] = []

    @q.handler
    def handle(message: ClaimedMessage) -> None:
        if slow.is_set():
            after.append(message.payload)
        if message.payload == "slow":
            slow.set()
            gate.wait()

    q.push_many([*range(QUICK), "slow", *range(QUICK)])
    worker = mq.worker(concurrency=1)
    worker.start()
    assert slow.wait(60)
    threading.Timer(0.1, gate.set).start()
    worker.stop()
    assert after == []
    stats = q.stats()
    assert stats.leased == 0
    assert stats.done + stats.ready == 2 * QUICK + 1
    assert {message.attempt for message in q.claim(limit=2 * QUICK)} <= {1}


def test_a_worker_does_not_run_far_ahead_of_its_settlements(
    mq: rowmq.Client, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settler, "AHEAD", 100)
    settle = mq.store.settle
    seen: list[ClaimedMessage] = []

    def slowly(settlements: list[Settlement], **said: object) -> list[Settled]:
        gate.wait()
        return list(settle(settlements, **said))  # type: ignore[arg-type]

    monkeypatch.setattr(mq.store, "settle", slowly)
    q = mq.queue("q")
    q.handler(seen.append)
    q.push_many(range(2 * QUICK))
    with working(mq, batch=50, buffer=50):
        eventually(lambda: len(seen) > 100)
        eventually(lambda: q.stats().leased == len(seen))
        assert len(seen) <= 100 + 2 * 50
        gate.set()
        eventually(lambda: q.stats().done == 2 * QUICK)
