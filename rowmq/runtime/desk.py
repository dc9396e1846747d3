"""Where claimed messages wait for a free hand, and what is known of those at work."""

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta

from rowmq.core.delivery import Delivery
from rowmq.core.outcome import ACK, Outcome
from rowmq.core.store import Store
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.registry import Job

LOOKAHEAD = 0.2
"""Seconds of work that are claimed ahead: enough to be busy during a claim, little enough to be fair."""
WEIGHT = 0.1
"""How much the last run counts in the mean."""
MOMENT = 0.002
"""Seconds of work that a thread takes along at once: quick messages share a lock, a look and a wake-up."""
MOST = 50
"""Messages that are taken along at most."""
SHARES = 4
"""Into how many parts what waits for a thread is divided at least, so that others find something too."""
WORTH = 10
"""A part so small of a moment's work is not worth another thread."""
PATIENCE = 0.02
"""Seconds after which others may have what a thread has taken along and not begun."""


class Held(ClaimedMessage):
    """A claimed message on its way through a worker. Moments are of the monotonic clock."""

    started: float = 0.0
    """When its handler began, 0 before that."""
    finished: bool = False
    """Whether its outcome is decided: from then on nothing else may decide it."""
    outcome: Outcome = ACK
    """What becomes of it, once that is decided."""
    cancel: Callable[[], object] | None = None
    """What stops its handler, where that is possible."""
    in_doubt: bool = False
    """Whether its lease is over for all we know: nobody has said so, and it may yet be extended."""
    told: bool = False
    """Whether its handler has heard of that, and so may have given up before its end."""
    _lost: bool = False

    def __init__(
        self, delivery: Delivery, store: Store, lane: "Lane", lease: timedelta, expires: float
    ) -> None:
        # Not through super(): a worker makes thousands of these in a second.
        self.delivery, self._store, self._lease = delivery, store, lease
        self.lane, self.lease, self.expires = lane, lease, expires

    @property
    def lost(self) -> bool:
        """Whether the message has gone on without this worker, for all that is known."""
        self.told = self.told or self.in_doubt
        return self._lost or self.in_doubt

    @lost.setter
    def lost(self, lost: bool) -> None:
        self._lost = lost


class Limit:
    """How many of one job may be at work at once, and how many are."""

    def __init__(self, most: int | None) -> None:
        self.most = most or sys.maxsize
        self.running = 0


class Lane:
    """The messages of one queue that one job handles. A task in several queues has one limit."""

    def __init__(self, queue: str, job: Job, limit: Limit) -> None:
        self.queue = queue
        self.job = job
        self.limit = limit
        self.waiting: deque[Held] = deque()
        self.mean = 0.0
        """The usual length of a run, in seconds."""
        self.moved = 0.0
        """When a hand last took something."""

    def hands(self) -> int:
        """How many threads what waits is worth: they would only take turns over messages that are quick."""
        if not self.mean or self.mean > MOMENT / MOST:
            return sys.maxsize
        return 1 + int(len(self.waiting) * self.mean / MOMENT)


class Handful:
    """Messages of one lane that a thread has taken along, which it gives out as it comes to them.

    Those that it has not begun may be taken from it meanwhile, by whoever holds the desk's lock.
    """

    def __init__(self, lane: Lane, messages: Iterable[Held]) -> None:
        self.lane = lane
        self.messages = deque(messages)
        self.taken = time.monotonic()
        self.begun = 0

    def __iter__(self) -> Iterator[Held]:
        with suppress(IndexError):  # the last one was taken just now
            while self.messages:
                held = self.messages.popleft()
                held.started = time.monotonic()
                self.begun += 1
                yield held

    def mean(self) -> float:
        """The usual length of its runs, in seconds."""
        return (time.monotonic() - self.taken) / max(self.begun, 1) or 1e-6


class Desk:
    """Hands waiting messages to free hands: threads for plain functions, an event loop for async ones.

    At most ``concurrency`` are at work at once, and of each job at most as many as it allows.
    """

    def __init__(self, concurrency: int, buffer: int, on_async: Callable[[], object]) -> None:
        self._concurrency, self._buffer = concurrency, buffer
        self._on_async = on_async
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._lanes: list[Lane] = []
        self._running = 0
        self._waiting: dict[str, int] = {}
        self._closed = False
        self._low = buffer // 2
        self._taken: set[Handful] = set()
        """What threads have taken along, if it was more than one message."""
        self._watched = False
        """Whether one of the idle threads looks after that."""
        self.room = threading.Event()
        """Set whenever a queue may have room for more."""

    def add_lane(self, lane: Lane) -> None:
        """Serve one more job."""
        with self._lock:
            self._lanes.append(lane)
            self._waiting.setdefault(lane.queue, 0)

    def wanted(self, queue: str, most: int) -> int:
        """How many messages of a queue to claim now, so that at most so many wait: 0 while enough do."""
        with self._lock:
            along = sum(len(each.messages) for each in self._taken if each.lane.queue == queue)
            waiting = self._waiting[queue] + along
            target = self._target(queue, most)
            return target - waiting if waiting <= target // 2 else 0

    def _target(self, queue: str, most: int) -> int:
        """Something for each idle hand, and what the others will do in the next moment."""
        idle = self._concurrency - self._running
        means = [lane.mean for lane in self._lanes if lane.queue == queue and lane.mean]
        ahead = int(self._concurrency * LOOKAHEAD / min(means)) if means else 0
        return max(0, min(self._buffer, idle + min(ahead, most)))

    def put(self, queue: str, given: Sequence[Held]) -> bool:
        """Let messages wait for a hand; False, and nothing is taken, once the desk is closed."""
        with self._lock:
            if self._closed:
                return False
            lanes = {each.lane for each in given}
            for lane in lanes:
                lane.waiting.extend(given if len(lanes) == 1 else (it for it in given if it.lane is lane))
            self._waiting[queue] += len(given)
            self._changed.notify(min(len(given), sum(lane.hands() for lane in lanes)))
        if any(lane.job.is_async for lane in lanes):
            self._on_async()
        return True

    def take(self, done: Handful | None = None) -> Handful | None:
        """For a thread: give back what it has done and wait for the next; None when the desk is closed."""
        with self._lock:
            if done is not None:
                self._give_back(done.lane, done.mean(), done.begun)
                self._taken.discard(done)
            while not self._closed:
                lane = self._next(is_async=False)
                found = self._handful(lane) if lane else self._overdue()
                if found is not None:
                    return found
                self._sleep()
        return None

    def take_async(self, done: Held | None = None) -> Held | None:
        """For the event loop: one message, without waiting."""
        with self._lock:
            if done is not None:
                self._give_back(done.lane, time.monotonic() - done.started or 1e-6, 1)
            lane = None if self._closed else self._next(is_async=True)
            if lane is None:
                return None
            (held,) = self._begin(lane, 1)
            held.started = time.monotonic()
            return held

    def close(self) -> list[Held]:
        """Hand nothing out any more; what still waits is returned."""
        with self._lock:
            self._closed = True
            left = [each for lane in self._lanes for each in lane.waiting]
            left += [each for handful in self._taken for each in _emptied(handful)]
            for lane in self._lanes:
                lane.waiting.clear()
            self._waiting = dict.fromkeys(self._waiting, 0)
            self._changed.notify_all()
            return left

    def wait_idle(self, timeout: float | None) -> int:
        """Wait until nothing is at work, or the timeout; how many still are."""
        with self._lock:
            self._changed.wait_for(lambda: not self._running, timeout)
            return self._running

    def discard(self, lost: Iterable[Held]) -> None:
        """Take out waiting messages that went on without us."""
        with self._lock:
            for each in lost:
                if each in each.lane.waiting:
                    each.lane.waiting.remove(each)
                    self._waiting[each.lane.queue] -= 1
                for handful in self._taken:
                    with suppress(ValueError):
                        handful.messages.remove(each)

    def decide(self, held: Held) -> bool:
        """Whether the caller is the first to decide what becomes of a message.

        Only a timeout decides while a handler runs, so without one there is nothing to lock.
        """
        if held.lane.job.timeout is None:
            first, held.finished = not held.finished, True
            return first
        with self._lock:
            first, held.finished = not held.finished, True
            return first

    def _next(self, *, is_async: bool) -> Lane | None:
        """The lane whose turn it is, if a hand of that kind may begin."""
        if self._running >= self._concurrency:
            return None
        last = self._running == self._concurrency - 1
        for lane in self._lanes:
            if not lane.waiting or lane.limit.running >= lane.limit.most:
                continue
            if lane.job.is_async == is_async:
                if is_async or self._is_worth_another(lane):
                    return lane
            elif last:  # it is the other kind's turn, and there is room for one
                self._call(lane)
                return None
        return None

    def _is_worth_another(self, lane: Lane) -> bool:
        """Whether one more thread should take from a lane: also if those at it have not for a while."""
        return lane.limit.running < lane.hands() or lane.moved < time.monotonic() - PATIENCE

    def _call(self, lane: Lane) -> None:
        """Wake a hand of the kind that a lane needs."""
        if lane.job.is_async:
            self._on_async()
        else:
            self._changed.notify()

    def _handful(self, lane: Lane) -> Handful:
        """What a thread does in a moment, but no more than a small share of what waits."""
        quick = int(MOMENT / lane.mean) if lane.mean else 1
        share = max(quick // WORTH, len(lane.waiting) // (SHARES * self._concurrency))
        count = max(1, min(quick, share, MOST, len(lane.waiting)))
        handful = Handful(lane, self._begin(lane, count))
        lane.moved = handful.taken
        if len(handful.messages) > 1:
            self._taken.add(handful)
        if (self._has_unbegun() and not self._watched) or (lane.waiting and self._is_worth_another(lane)):
            self._changed.notify()
        return handful

    def _has_unbegun(self) -> bool:
        """Whether something that one more thread might take waits, maybe for one that is busy."""
        return bool(self._taken) or any(
            lane.waiting and not lane.job.is_async and lane.limit.running < lane.limit.most
            for lane in self._lanes
        )

    def _begin(self, lane: Lane, count: int) -> list[Held]:
        given = [lane.waiting.popleft() for _ in range(count)]
        lane.limit.running += 1
        self._running += 1
        self._waiting[lane.queue] -= count
        if len(self._lanes) > 1:  # the next hand starts with the next lane
            self._lanes.remove(lane)
            self._lanes.append(lane)
        return given

    def _overdue(self) -> Handful | None:
        """What a busy thread should have begun by now: one that was quick may take long this time."""
        since = time.monotonic() - PATIENCE
        for handful in self._taken if self._running < self._concurrency else ():
            lane = handful.lane
            if handful.messages and handful.taken < since and lane.limit.running < lane.limit.most:
                lane.waiting.extendleft(reversed(left := _emptied(handful)))
                self._waiting[lane.queue] += len(left)
                return self._handful(lane)
        return None

    def _sleep(self) -> None:
        """Wait for a change. One of those who wait also looks after what others leave waiting."""
        watches = self._has_unbegun() and not self._watched
        self._watched = self._watched or watches
        self._changed.wait(PATIENCE if watches else None)
        if watches:
            self._watched = False

    def _give_back(self, lane: Lane, mean: float, count: int) -> None:
        lane.limit.running -= 1
        self._running -= 1
        lane.mean += (min(1.0, WEIGHT * count) if lane.mean else 1.0) * (mean - lane.mean)
        if self._waiting[lane.queue] <= self._low and not self.room.is_set():
            self.room.set()
        if self._closed or len(self._lanes) > 1:
            self._changed.notify_all()
            self._wake_loop()

    def _wake_loop(self) -> None:
        """A hand that is free now may be one that an async job has waited for."""
        if any(lane.job.is_async and lane.waiting for lane in self._lanes):
            self._on_async()


def _emptied(handful: Handful) -> list[Held]:
    """What a thread had taken along and has not begun; it may begin the first of them just now."""
    taken: list[Held] = []
    with suppress(IndexError):
        while handful.messages:
            taken.append(handful.messages.pop())
    return taken[::-1]
